"""``python -m tools.kafka_new VERSION [--skip-conformance]``: compare a release of Apache Kafka with what we have.

Downloads the release, compares its messages, error codes, advertised APIs, features and broker settings with ours, and
runs ``oncelog conformance`` on a node of it. Prints each difference on a line; exits 1 if there are any.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import oncelog
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.errors import Error
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.api_versions_response import ApiVersionsResponse
from oncelog.protocol.generated.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from oncelog.settings.kafka_properties import broker_properties
from tests.support.apache_kafka import ApacheKafka, java_command, kafka_jars
from tools.codec.schema import MessageDef, StructDef, load_messages
from tools.kafka_new.definitions import field_words, released_messages

BROKER = 4
"""The type of a broker among resources with settings."""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", help="such as 4.5.0")
    parser.add_argument("--skip-conformance", action="store_true", help="compare only")
    options = parser.parse_args(arguments)
    found = 0
    for heading, differences in _comparisons(options.version, not options.skip_conformance):
        print(f"\n{heading}: {'equal' if not differences else ''}", flush=True)
        for line in differences:
            print(f"  {line}", flush=True)
        found += len(differences)
    print(f"\n{found} differences between Apache Kafka {options.version} and oncelog {oncelog.__version__}")
    return bool(found)


def _comparisons(version: str, with_conformance: bool) -> Iterator[tuple[str, list[str]]]:
    yield "messages and internal records", compare_messages(released_messages(kafka_jars(version)), load_messages())
    yield "error codes", compare_named(_their_errors(version), {error.name: str(int(error)) for error in Error})
    with ApacheKafka(version=version) as kafka, oncelog.Broker() as ours:
        theirs = _advertised(kafka.bootstrap_servers)
        mine = _advertised(ours.bootstrap_servers)
        yield "advertised APIs", compare_named(_apis(theirs), _apis(mine))
        yield "features", compare_named(_features(theirs), _features(mine))
        known = dict.fromkeys(broker_properties(), "")
        yield "broker settings", compare_named(dict.fromkeys(_settings(kafka.bootstrap_servers), ""), known)
        if with_conformance:
            yield "conformance", _conformance(kafka.bootstrap_servers)


def compare_messages(theirs: dict[str, MessageDef], ours: list[MessageDef]) -> list[str]:
    """Fields and versions of theirs that our tables lack or have otherwise, and messages without a table."""
    lines = [f"{name}: no table" for name in sorted(theirs.keys() - {message.name for message in ours})]
    for message in sorted(ours, key=lambda message: message.name):
        if message.name not in theirs:
            continue
        newer = theirs[message.name]
        if newer.versions != message.versions:
            lines.append(f"{message.name}: versions {newer.versions}, ours {message.versions}")
        fields, known = set(_fields(newer.root)), set(_fields(message.root))
        lines += [f"{message.name}: theirs has the field {field}" for field in sorted(fields - known)]
        lines += [f"{message.name}: only ours has the field {field}" for field in sorted(known - fields)]
    return lines


def _fields(struct: StructDef, path: str = "") -> Iterator[str]:
    for field in struct.fields:
        yield path + " ".join(field_words(field))
        if field.struct is not None and field.struct is not struct:
            yield from _fields(field.struct, f"{path}{field.name}.")


def compare_named(theirs: dict[str, str], ours: dict[str, str]) -> list[str]:
    """What only one of both has, and what has another value."""
    lines = [f"{name} {theirs[name]}: missing".replace(" :", ":") for name in sorted(theirs.keys() - ours.keys())]
    lines += [f"{name} {ours[name]}: only ours".replace(" :", ":") for name in sorted(ours.keys() - theirs.keys())]
    both = sorted(theirs.keys() & ours.keys())
    return lines + [f"{name}: {theirs[name]}, ours {ours[name]}" for name in both if theirs[name] != ours[name]]


def _their_errors(version: str) -> dict[str, str]:
    source = Path(__file__).with_name("Errors.java")
    command = [*java_command(version), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    pairs = (line.split() for line in done.stdout.splitlines())
    return {name: code for code, name in pairs}


def _advertised(servers: str) -> ApiVersionsResponse:
    with RawConnection(servers) as connection:
        request = ApiVersionsRequest(client_software_name="kafka-new", client_software_version="1")
        answer: ApiVersionsResponse = connection.ask(request, 3)
        return answer


def _apis(answer: ApiVersionsResponse) -> dict[str, str]:
    names = {int(key): key.name for key in ApiKey}
    return {
        names.get(api.api_key, f"API {api.api_key}"): f"{api.min_version}-{api.max_version}" for api in answer.api_keys
    }


def _features(answer: ApiVersionsResponse) -> dict[str, str]:
    return {feature.name: f"{feature.min_version}-{feature.max_version}" for feature in answer.supported_features}


def _settings(servers: str) -> set[str]:
    with RawConnection(servers) as connection:
        resource = DescribeConfigsResource(BROKER, "1", None)
        (answer,) = connection.ask(DescribeConfigsRequest(resources=[resource]), 4).results
        return {config.name for config in answer.configs}


def _conformance(servers: str) -> list[str]:
    command = [sys.executable, "-m", "oncelog", "conformance", "-b", servers]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    lines = [line for line in done.stdout.splitlines() if "failed" in line.lower()]
    return [] if done.returncode == 0 else lines or [done.stderr.strip() or f"exit status {done.returncode}"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
