"""The codec against Apache Kafka's own message classes, byte for byte and field for field.

Random messages are encoded here, read by Kafka, written by Kafka again in every version of the message, and printed by
Kafka as JSON. The bytes, Kafka's refusals and the JSON must be what this codec writes, refuses and holds.
"""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from oncelog.protocol.codec_errors import UnencodableValue, UnsupportedField
from oncelog.protocol.wire import Message
from tests.unit.protocol.message_values import MESSAGES, RandomSource, make_message, message_class, versions
from tools.codec.schema import MessageDef, StructDef

pytestmark = pytest.mark.kafka

ORACLE = Path(__file__).parent / "MessageOracle.java"
MESSAGES_A_VERSION = 16


class Case(NamedTuple):
    name: str
    read_version: int
    write_version: int
    message: Message
    encoded: bytes


class Answer(NamedTuple):
    outcome: str
    json: dict[str, Any]


def java_class(definition: MessageDef) -> str:
    match definition.kind:
        case "coordinator-key" | "coordinator-value":
            starts = {"TransactionLog": "transaction", "ShareSnapshot": "share", "ShareUpdate": "share"}
            found = (coordinator for start, coordinator in starts.items() if definition.name.startswith(start))
            coordinator = next(found, "group")
            return f"org.apache.kafka.coordinator.{coordinator}.generated.{definition.name}"
        case "metadata":
            return f"org.apache.kafka.common.metadata.{definition.name}"
        case "data":
            return f"org.apache.kafka.common.message.{definition.name}"
        case _:
            return f"org.apache.kafka.common.message.{definition.name}Data"


def cases() -> list[Case]:
    made = []
    for name, definition in MESSAGES.items():
        for read_version in versions(definition):
            for number in range(MESSAGES_A_VERSION):
                message = make_message(name, read_version, RandomSource(f"{name} {read_version} {number}"))
                encoded = message.encode(read_version)
                targets = versions(definition) if number < 2 else [read_version]
                made += [Case(name, read_version, version, message, encoded) for version in targets]
    return made


@pytest.fixture(scope="module")
def answers(kafka_jars: Path) -> dict[str, list[tuple[Case, Answer]]]:
    asked = cases()
    questions = "".join(
        f"{java_class(MESSAGES[case.name])} {case.read_version} {case.write_version} .{case.encoded.hex()}\n"
        for case in asked
    )
    command = ["java", "-cp", f"{kafka_jars}/*", str(ORACLE)]
    ran = subprocess.run(command, input=questions, capture_output=True, encoding="utf-8", timeout=240, check=False)
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert len(lines) == len(asked)
    by_message: dict[str, list[tuple[Case, Answer]]] = {name: [] for name in MESSAGES}
    for case, line in zip(asked, lines, strict=True):
        outcome, _, text = line.partition("\t")
        by_message[case.name].append((case, Answer(outcome, json.loads(text))))
    return by_message


Answers = dict[str, list[tuple[Case, Answer]]]
every_message = pytest.mark.parametrize("name", MESSAGES)


@every_message
def test_kafka_writes_the_same_bytes_in_the_same_version(name: str, answers: Answers) -> None:
    same = [(case, answer) for case, answer in answers[name] if case.read_version == case.write_version]
    assert len(same) == MESSAGES_A_VERSION * len(versions(MESSAGES[name]))
    for case, answer in same:
        assert answer.outcome == "." + case.encoded.hex(), case


@every_message
def test_kafka_reads_the_fields_that_we_wrote(name: str, answers: Answers) -> None:
    definition = MESSAGES[name]
    for case, answer in answers[name]:
        assert answer.json == as_kafka_json(case.message, definition.root, case.read_version), case


@every_message
def test_kafka_and_we_drop_or_refuse_the_same_fields_that_a_version_lacks(name: str, answers: Answers) -> None:
    kind = message_class(name)
    for case, answer in answers[name]:
        decoded = kind.decode(case.encoded, case.read_version)
        ours = write_outcome(decoded, case.write_version)
        both_refused = {ours, answer.outcome} <= {"unsupported", "null"}  # which reason comes first is of no interest
        assert ours == answer.outcome or both_refused, case


def write_outcome(message: Message, version: int) -> str:
    try:
        return "." + message.encode(version).hex()
    except UnsupportedField:
        return "unsupported"
    except UnencodableValue as error:
        return "null" if "is null" in error.reason else error.reason


def as_kafka_json(value: Any, struct: StructDef, version: int) -> dict[str, Any]:
    """The struct as Kafka's ``JsonConverter`` prints it: only present fields, and tagged ones only if they differ
    from the default.
    """
    empty = type(value)()
    result: dict[str, Any] = {}
    for item in struct.fields:
        held = getattr(value, item.attribute)
        if version not in item.versions or (version in item.tagged and held == getattr(empty, item.attribute)):
            continue
        key = item.name[0].lower() + item.name[1:]
        if item.type == "records" and held is not None:
            result[key + "SizeInBytes"] = len(held)
            continue

        def convert(element: Any, type_: str = item.type, inner: StructDef | None = item.struct) -> Any:
            if inner is not None:
                return as_kafka_json(element, inner, version)
            match type_:
                case "uuid":
                    return base64.urlsafe_b64encode(element).decode().rstrip("=")
                case "bytes":
                    return base64.b64encode(element).decode()
            return element

        if held is None:
            result[key] = None
        else:
            result[key] = [convert(element) for element in held] if item.is_array else convert(held)
    return result
