"""``python -m tools.kafka_new VERSION [--skip-conformance]``: compare a release of Apache Kafka with what we have.

Downloads the release, compares its messages, error codes, settings, metadata version, advertised APIs and features with
ours, and runs ``oncelog conformance`` on a node of it. Prints each difference on a line, and how much is left out on
purpose (:mod:`tools.kafka_new.left_out`). Exit status 1 if there are differences, 2 if the release cannot be compared.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

import oncelog
from oncelog.apps.conformance.raw.wire import RawConnection
from oncelog.apps.promote.kraft import METADATA_VERSIONS, NEWEST
from oncelog.errors import Error, OncelogError
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.generated.api_versions_request import ApiVersionsRequest
from oncelog.protocol.generated.api_versions_response import ApiVersionsResponse
from oncelog.settings.kafka_properties import KafkaProperty, broker_properties, group_properties, topic_properties
from oncelog.spark.maven import DownloadFailed
from tests.support.apache_kafka import ApacheKafka, KafkaFailed, java_command, kafka_jars
from tools.codec.schema import MessageDef, StructDef, load_messages
from tools.kafka_new import left_out
from tools.kafka_new.definitions import field_words, released_messages, version_text

OLDEST = (4, 3)
"""The oldest release whose classes ``Release.java`` can load."""
SETTINGS = {"broker": broker_properties, "topic": topic_properties, "group": group_properties}
Value = TypeVar("Value")


class Comparison(NamedTuple):
    """One part of the comparison, with its differences.

    :ivar left_out: how many names are left out on purpose, by reason.
    """

    heading: str
    differences: list[str]
    left_out: Counter[str]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", help="such as 4.5.0")
    parser.add_argument("--skip-conformance", action="store_true", help="compare only")
    options = parser.parse_args(arguments)
    refusal = refusal_of(options.version)
    if refusal is not None:
        print(refusal, file=sys.stderr)
        return 2
    found = 0
    try:
        for heading, differences, left in _comparisons(options.version, not options.skip_conformance):
            print(f"\n{heading}: {len(differences) or 'no'} differences")
            for line in differences:
                print(f"  {line}")
            for reason, count in left.items():
                print(f"  ({count} left out: {reason})")
            sys.stdout.flush()
            found += len(differences)
    except OncelogError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"\n{found} differences between Apache Kafka {options.version} and oncelog {oncelog.__version__}")
    return bool(found)


def refusal_of(version: str) -> str | None:
    """The reason why this text is not a release that can be compared; None if it is."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        return f"'{version}' is not a release of Apache Kafka: name all three numbers, such as VERSION=4.5.0"
    if tuple(map(int, version.split(".")[:2])) < OLDEST:
        return (
            f"Apache Kafka {version} is too old to be compared: name {'.'.join(map(str, OLDEST))}.0 or a later release"
        )
    return None


def _comparisons(version: str, with_conformance: bool) -> Iterator[Comparison]:
    ours = load_messages()
    messages = released_messages(_jars(version))
    messages, left = without_left_out(messages, left_out.MESSAGES, {message.name for message in ours})
    yield Comparison("messages and internal records", compare_messages(messages, ours), left)
    defined = _defined(version)
    errors = {error.name: str(int(error)) for error in Error}
    yield Comparison("error codes", compare_named(defined["error"], errors), Counter())
    for kind, properties in SETTINGS.items():
        known = {name: _as_defined(one) for name, one in properties().items()}
        yield Comparison(f"settings of a {kind}", compare_named(defined[kind], known), Counter())
    levels = {"metadata.version": str(METADATA_VERSIONS[NEWEST])}
    yield Comparison("what `promote` writes", compare_named(defined["metadata"], levels), Counter())
    with ApacheKafka(version=version) as kafka, oncelog.Broker() as broker:
        theirs, mine = _advertised(kafka.bootstrap_servers), _advertised(broker.bootstrap_servers)
        for heading, of, reasons in (
            ("advertised APIs", _apis, left_out.APIS),
            ("features", _features, left_out.FEATURES),
        ):
            known = of(mine)
            names, left = without_left_out(of(theirs), reasons, known)
            yield Comparison(heading, compare_named(names, known), left)
        if with_conformance:
            yield Comparison("conformance", _conformance(kafka.bootstrap_servers), Counter())


def _jars(version: str) -> Path:
    """The release's jars, downloaded if they are not there."""
    try:
        return kafka_jars(version)
    except DownloadFailed as error:
        raise DownloadFailed(
            f"Apache Kafka {version} could not be downloaded: is it released, and is there a network?"
        ) from error


def without_left_out(
    theirs: Mapping[str, Value], reasons: Mapping[str, Iterable[str]], ours: Iterable[str]
) -> tuple[dict[str, Value], Counter[str]]:
    """The items of Kafka that are compared, and the number of items left out for each reason. Items that oncelog has
    are always compared."""
    known, kept, left = set(ours), {}, Counter[str]()
    for name, value in theirs.items():
        reason = None if name in known else left_out.reason_for(name, reasons)
        if reason is None:
            kept[name] = value
        else:
            left[reason] += 1
    return kept, left


def compare_messages(theirs: dict[str, MessageDef], ours: list[MessageDef]) -> list[str]:
    """Fields and versions of Kafka's that our tables lack or define differently, and messages without a table."""
    lines = [f"{name}: no table" for name in sorted(theirs.keys() - {message.name for message in ours})]
    for message in sorted(ours, key=lambda message: message.name):
        if message.name not in theirs:
            continue
        newer = theirs[message.name]
        if newer.versions != message.versions:
            lines.append(
                f"{message.name}: versions {version_text(newer.versions)}, ours {version_text(message.versions)}"
            )
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
    """The differences between two sets of named values: names that only one of them has, and names with different
    values."""
    lines = [f"{name} {theirs[name]}: missing".replace(" :", ":") for name in sorted(theirs.keys() - ours.keys())]
    lines += [f"{name} {ours[name]}: only ours".replace(" :", ":") for name in sorted(ours.keys() - theirs.keys())]
    both = sorted(theirs.keys() & ours.keys())
    return lines + [f"{name}: {theirs[name]}, ours {ours[name]}" for name in both if theirs[name] != ours[name]]


def _defined(version: str) -> dict[str, dict[str, str]]:
    """The entries that the release's classes define: kind, name and value."""
    source = Path(__file__).with_name("Release.java")
    done = subprocess.run(
        [*java_command(version), str(source)], capture_output=True, text=True, check=False, timeout=300
    )
    if done.returncode != 0:
        raise KafkaFailed(f"{source.name} does not run with the classes of Apache Kafka {version}:\n{done.stderr}")
    found: dict[str, dict[str, str]] = {}
    for line in done.stdout.splitlines():
        kind, name, value = line.split("\t")
        found.setdefault(kind, {})[name] = value
    return found


def _as_defined(known: KafkaProperty) -> str:
    """A property in oncelog's tables, in the form that ``Release.java`` prints."""
    default = "required" if known.required else "null" if known.default is None else known.default
    return f"{known.kind.name.lower()} {default}{' internal' if known.internal else ''}"


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


def _conformance(servers: str) -> list[str]:
    command = [sys.executable, "-m", "oncelog", "conformance", "-b", servers]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    lines = [line for line in done.stdout.splitlines() if "failed" in line.lower()]
    return [] if done.returncode == 0 else lines or [done.stderr.strip() or f"exit status {done.returncode}"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
