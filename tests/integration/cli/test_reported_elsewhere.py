"""Pipes, keyboards and machines with which other command-line clients failed, as public reports have them. Each test
names its report."""

from __future__ import annotations

import codecs
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

import oncelog
from tests.integration.cli.conftest import ONCELOG, SECONDS, Outcome, Served, call, run


class Raw(NamedTuple):
    """How a command ended, with the bytes that it wrote."""

    code: int
    out: bytes
    err: str


def raw(*words: str, env: Mapping[str, str] | None = None) -> Raw:
    ended = subprocess.run(
        [str(ONCELOG), *words], capture_output=True, timeout=SECONDS, check=False, env={**os.environ, **(env or {})}
    )
    return Raw(ended.returncode, ended.stdout, ended.stderr.decode(errors="replace"))


@pytest.fixture
def topic(served: Served, unique_name: str) -> str:
    served.run("topics", "create", unique_name).done()
    return unique_name


def stored(served: Served, topic: str) -> list[tuple[Any, ...]]:
    """What confluent-kafka reads."""
    settings = {"bootstrap.servers": served.bootstrap_servers, "group.id": "x", "enable.partition.eof": True}
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[tuple[Any, ...]] = []
    try:
        while True:
            message = consumer.poll(60)
            assert message is not None
            if message.error():
                return found
            found.append((message.key(), message.value(), message.headers()))
    finally:
        consumer.close()


def write(served: Served, topic: str, *records: tuple[bytes | None, bytes | None]) -> None:
    producer = Producer({"bootstrap.servers": served.bootstrap_servers})
    for key, value in records:
        producer.produce(topic, value, key)
    assert producer.flush(60) == 0


# --- Headers, separators, binary records


def test_headers_may_repeat_and_keep_every_character(served: Served, topic: str) -> None:
    """edenhill/kcat#365: ``-H`` takes a name twice, an empty value, and spaces."""
    options = ("-H", "a=1", "-H", "a=2", "-H", "empty=", "-H", "spaces= x ", "-H", "sums=1+1=2", "-H", "ü=日本")
    served.run("produce", "-t", topic, *options, stdin="v\n").done()
    headers = [("a", b"1"), ("a", b"2"), ("empty", b""), ("spaces", b" x "), ("sums", b"1+1=2"), ("ü", "日本".encode())]
    assert stored(served, topic) == [(None, b"v", headers)]


def test_a_header_without_a_value_is_refused_and_the_error_says_how_to_write_null(served: Served, topic: str) -> None:
    """edenhill/kcat#365: there, ``-H nullheader`` is a null."""
    refused = served.run("produce", "-t", topic, "-H", "nullheader", stdin="v\n").sentence()
    assert "--null-marker" in refused
    served.run("produce", "-t", topic, "--null-marker", "NULL", "-H", "nullheader=NULL", stdin="v\n").done()
    assert stored(served, topic) == [(None, b"v", [("nullheader", None)])]


BINARY = [(b"k\n\x00", b"\x08\x96\x01\n\r\n"), (None, b""), (b"", None), (b"k", bytes(range(256)))]


def test_binary_records_are_framed_by_their_length(served: Served, topic: str) -> None:
    """edenhill/kcat#57 and #142: ``%R`` is the value's length in four bytes, -1 for null, so that a program can tell
    records apart whatever they hold."""
    write(served, topic, *BINARY)
    read = raw("consume", "-b", served.bootstrap_servers, "-t", topic, "-o", "beginning", "-e", "-f", "%R%s")
    expected = b"".join(struct.pack(">i", -1 if value is None else len(value)) + (value or b"") for _, value in BINARY)
    assert read.out == expected


def test_binary_values_are_written_unchanged(served: Served, topic: str) -> None:
    """edenhill/kcat#344 and #368: a byte too many at the end, and carriage returns."""
    write(served, topic, (None, b"a\nb\r\n\x00"))
    command = ("consume", "-b", served.bootstrap_servers, "-t", topic, "-o", "beginning", "-e", "-f", "%s")
    assert raw(*command).out == b"a\nb\r\n\x00"


def test_binary_records_are_piped_into_another_topic(served: Served, topic: str, unique_name: str) -> None:
    """edenhill/kcat#142: keys, values, headers and nulls survive a pipe."""
    write(served, topic, *BINARY)
    to = f"{unique_name}-copy"
    served.run("topics", "create", to).done()
    script = '"$0" consume -b "$1" -t "$2" -o beginning -e -J | "$0" produce -b "$1" -t "$3" --json-lines'
    copied = subprocess.run(
        ["bash", "-o", "pipefail", "-c", script, ONCELOG, served.bootstrap_servers, topic, to],
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert copied.returncode == 0, copied.stderr
    assert stored(served, to) == [(key, value, None) for key, value in BINARY]


@pytest.mark.parametrize("separator", ["::", "\\x01", "|", " ", "\\t\\t", "→"])
def test_a_key_separator_may_have_several_characters(served: Served, topic: str, separator: str) -> None:
    """edenhill/kcat#140 and #260: only the first byte counted."""
    between = separator.replace("\\x01", "\x01").replace("\\t", "\t")
    served.run("produce", "-t", topic, "-K", separator, stdin=f"k{between}v{between}w\n").done()
    assert stored(served, topic) == [(b"k", f"v{between}w".encode(), None)]
    read = run("consume", "-b", served.bootstrap_servers, "-t", topic, "-o", "beginning", "-e", "-K", separator).done()
    assert read.out.startswith("k") and read.out.endswith("\n")


# --- Pipes that end early

LISTING: dict[str, tuple[str, ...]] = {
    "topics": ("topics", "list"), "described": ("topics", "describe", "{topic}"), "groups": ("groups", "list"),
    "cluster": ("cluster", "--partitions"), "configs": ("configs", "describe", "topic", "{topic}"),
    "in json": ("topics", "describe", "{topic}", "--json"), "transactions": ("transactions", "list"),
    "records": ("consume", "-t", "{topic}", "-o", "beginning", "-e"),
    "records in json": ("consume", "-t", "{topic}", "-o", "beginning", "-e", "-J"),
    "outcomes": ("consume", "-t", "{topic}", "-e", "--show-transactions"), "help": ("consume", "--help"),
}  # fmt: skip


@pytest.mark.parametrize("words", LISTING.values(), ids=LISTING)
def test_a_reader_that_closes_the_output_pipe_causes_no_error(
    served: Served, topic: str, words: tuple[str, ...]
) -> None:
    """hoffa/kitten#15 and westurner/pyline#15: ``| head`` printed a traceback with BrokenPipeError."""
    write(served, topic, *[(None, b"x" * 1000)] * 200)
    named = [word.format(topic=topic) for word in words]
    at = () if words[-1] == "--help" else ("-b", served.bootstrap_servers)
    script = '"$0" "$@" | true; echo "${PIPESTATUS[0]}"'
    ended = subprocess.run(
        ["bash", "-c", script, ONCELOG, *named, *at], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert not re.search("Traceback|[Bb]roken|Error", ended.stderr), ended.stderr
    assert ended.stdout.strip() in ("0", str(128 + signal.SIGPIPE))


# --- Encodings

ASCII = {"LC_ALL": "C", "LANG": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
ENCODINGS = {
    "C": {"LC_ALL": "C", "LANG": "C"}, "POSIX": {"LC_ALL": "POSIX"}, "ASCII": ASCII,
    "PYTHONIOENCODING": {"PYTHONIOENCODING": "ascii"}, "GBK": {"PYTHONIOENCODING": "gbk"},
    "Latin 1": {"PYTHONIOENCODING": "latin-1"}, "no locale that exists": {"LC_ALL": "xx_XX.UTF-8"},
}  # fmt: skip


@pytest.mark.parametrize("env", ENCODINGS.values(), ids=ENCODINGS)
def test_letters_of_every_alphabet_are_printed_in_any_locale(served: Served, topic: str, env: dict[str, str]) -> None:
    """StackStorm/st2#4127, wordfence/wordfence-cli#232, MoonshotAI/kimi-cli#2657, HKUDS/CLI-Anything#418:
    UnicodeEncodeError. What is not a record's own bytes may be escaped, but is printed."""
    write(served, topic, ("größe".encode(), "日本 ü ✓ 😀".encode()))
    group = "gruppe-ü-日本"
    servers = served.bootstrap_servers
    with oncelog.Consumer(topic, bootstrap_servers=servers, group_id=group, auto_offset_reset="earliest") as consumer:
        consumer.getone()
        consumer.commit()
    read = raw("consume", "-b", servers, "-t", topic, "-o", "beginning", "-e", "-K", "=", env=env)
    assert (read.code, read.out.decode(), read.err) == (0, "größe=日本 ü ✓ 😀\n", "1 record\n")
    listed = raw("groups", "list", "-b", servers, env=env)
    assert (listed.code, "Traceback" in listed.err) == (0, False), listed.err
    assert b"gruppe-" in listed.out
    in_json = raw("groups", "list", "-b", servers, "--json", env=env)
    assert in_json.code == 0, in_json.err
    text = in_json.out.decode(env.get("PYTHONIOENCODING", "utf-8").replace("ascii", "utf-8"))
    assert group in [one["group"] for one in json.loads(text)], text
    refused = raw("groups", "describe", "fehlt-ß-日本", "-b", servers, env=env)
    assert (refused.code, "Traceback" in refused.err, "unexpected" in refused.err) == (1, False, False), refused.err


@pytest.mark.parametrize("env", [ASCII, {"LC_ALL": "C"}], ids=["ASCII", "C"])
def test_names_on_the_command_line_are_utf_8_in_any_locale(served: Served, topic: str, env: dict[str, str]) -> None:
    """MycroftAI/mycroft-core#1438: a terminal sends UTF-8, whatever the locale says."""
    words = ("produce", "-b", served.bootstrap_servers, "-t", topic, "-H", "größe=日本")
    run(*words, stdin="ü\n", env=env).done()
    assert stored(served, topic) == [(None, "ü".encode(), [("größe", "日本".encode())])]


BOM = codecs.BOM_UTF8


def test_files_that_begin_with_a_byte_order_mark_are_read(served: Served, topic: str, tmp_path: Path) -> None:
    """lsfusion/platform#1710, microsoft/playwright#39420 and chef/chef#7054: Windows' editors and shells write a mark
    before the first setting, which then has another name."""
    config = tmp_path / "client.properties"
    config.write_bytes(BOM + f"bootstrap.servers={served.bootstrap_servers}\r\nclient.id=x\r\n".encode())
    assert topic in call("topics", "list", "--config", config).done().out
    lines = BOM + '{"value": "ü", "headers": {"a": "b"}}\r\n{"value": "w"}\r\n'.encode()
    served.run("produce", "-t", topic, "--json-lines", stdin=lines).done()
    assert [value for _, value, _ in stored(served, topic)] == ["ü".encode(), b"w"]


def test_windows_line_ends_do_not_become_part_of_a_record(served: Served, topic: str) -> None:
    """A file of Windows is written as Kafka's console producer writes it: a line ends before the carriage return."""
    served.run("produce", "-t", topic, "-K", ":", stdin=b"k:v\r\nl:\r\n:w\r\n").done()
    assert stored(served, topic) == [(b"k", b"v", None), (b"l", b"", None), (b"", b"w", None)]


# --- Machines

BARE: dict[str, str | None] = {"HOME": None, "USER": None, "LOGNAME": None, "XDG_CACHE_HOME": None, "TMPDIR": None}


def bare(command: list[str], env: dict[str, str | None]) -> Outcome:
    given = {name: value for name, value in {**os.environ, **env}.items() if value is not None}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False, env=given, cwd="/")
    return Outcome(ended.returncode, ended.stdout, ended.stderr)


HOMES: dict[str, dict[str, str | None]] = {
    "none": BARE, "does not exist": {**BARE, "HOME": "/nonexistent"}, "not writable": {**BARE, "HOME": "/proc"},
}  # fmt: skip


@pytest.mark.parametrize("env", HOMES.values(), ids=HOMES)
def test_no_command_needs_a_home_folder(served: Served, topic: str, env: dict[str, str | None]) -> None:
    """OpenShift-Fleet/rehor#52: HOME is missing, or nobody may write there."""
    words = [str(ONCELOG), "topics", "list", "-b", served.bootstrap_servers]
    listed = bare(words, env)
    assert (listed.code, listed.err) == (0, "")
    assert topic in listed.out


def test_a_user_without_a_user_name_can_run_broker_and_clients(tmp_path: Path) -> None:
    """ecederstrand/exchangelib#451, jupyter-server/enterprise_gateway#705, fedora-infra/koschei#282: ``KeyError:
    getpwuid(): uid not found`` under the random user of a container."""
    code = (
        "import getpass, os, pwd, sys\n"
        "def unknown(uid):\n"
        "    raise KeyError(f'getpwuid(): uid not found: {uid}')\n"
        "pwd.getpwuid = unknown\n"
        "import oncelog, oncelog.cli.main\n"
        "with oncelog.Broker(sys.argv[1], schema_registry=True) as broker:\n"
        "    with oncelog.Producer(bootstrap_servers=broker.bootstrap_servers) as producer:\n"
        "        print(producer.send_and_wait('t', b'x').offset, flush=True)\n"
        "    oncelog.cli.main.main(['consume', '-t', 't', '-b', broker.bootstrap_servers, '-o', 'beginning', '-e'])"
    )
    ended = bare([sys.executable, "-c", code, str(tmp_path)], BARE)
    assert (ended.code, ended.out, ended.err) == (0, "0\nx\n", "1 record\n"), ended.err


FOLDERS = {"with letters": "日本 ü ' $x", "long": "/".join(["x" * 100] * 3)}


@pytest.mark.parametrize("name", FOLDERS.values(), ids=FOLDERS)
def test_data_and_temporary_files_may_be_in_any_folder(tmp_path: Path, name: str) -> None:
    """A TMPDIR that is longer than the path of a socket may be, or has letters that a shell or protoc may mistake."""
    folder = tmp_path / name
    folder.mkdir(parents=True)
    code = (
        "import sys, oncelog\n"
        "for data in (None, sys.argv[1]):\n"
        "    with oncelog.Broker(data, schema_registry=True, metrics='127.0.0.1:0', faults=True) as broker:\n"
        "        with oncelog.Producer(bootstrap_servers=broker.bootstrap_servers) as producer:\n"
        "            print(producer.send_and_wait('t', b'x').offset)\n"
        "        from oncelog.schemas import Schema, SchemaRegistry\n"
        "        proto = Schema('syntax = \"proto3\"; message M {int32 a=1;}', 'PROTOBUF')\n"
        "        print(SchemaRegistry(broker.schema_registry_url, timeout_s=200).register('s', proto))\n"
    )
    ended = bare([sys.executable, "-c", code, str(folder / "data")], {"TMPDIR": str(folder)})
    assert (ended.code, ended.out) == (0, "0\n1\n" * 2), ended.err


PID_1: dict[str, tuple[str, ...]] = {
    "serve": ("serve", "--listen", "127.0.0.1:0"),
    "a command that waits": ("topics", "list", "-b", "127.0.0.1:1"),
    "console": ("console", "--listen", "127.0.0.1:0", "-b", "127.0.0.1:1"),
    "produce": ("produce", "-t", "t", "-b", "127.0.0.1:1"),
    "proxy": ("proxy", "--to", "127.0.0.1:1"),
}


def _may_make_namespaces() -> bool:
    return subprocess.run(["unshare", "-pf", "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not _may_make_namespaces(), reason="needs the right to make process namespaces")
@pytest.mark.parametrize("words", PID_1.values(), ids=PID_1)
def test_a_command_that_is_the_first_process_of_a_container_ends_at_sigterm(words: tuple[str, ...]) -> None:
    """frozenpandaman/s3s#196, mrmn2/PdfDing#165, confluentinc/cp-docker-images#527: the kernel gives process 1 no
    default action for SIGTERM, so ``docker stop`` waits for ten seconds and kills."""
    inner = f'exec "{ONCELOG}" "$@"'
    process = subprocess.Popen(
        ["unshare", "--pid", "--fork", "--kill-child", "bash", "-c", inner, "x", *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        first = _only_child(process.pid)
        os.kill(first, signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert "Traceback" not in err
    assert process.returncode in (0, 128 + signal.SIGTERM, -signal.SIGTERM), (process.returncode, out, err)


def _only_child(pid: int) -> int:
    """The command, once it handles SIGTERM."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        caught = _caught(int(found[0])) if found else 0
        if caught >> (signal.SIGTERM - 1) & 1 and "oncelog" in Path(f"/proc/{found[0]}/cmdline").read_text():
            return int(found[0])
        time.sleep(0.05)
    raise AssertionError("it never handles SIGTERM")


def _caught(pid: int) -> int:
    """The signals with handlers, as bits."""
    (line,) = (one for one in Path(f"/proc/{pid}/status").read_text().splitlines() if one.startswith("SigCgt"))
    return int(line.split()[1], 16)


def test_a_folder_whose_path_is_too_long_is_refused_and_the_error_names_the_length(tmp_path: Path) -> None:
    """SQLite takes paths of at most 512 bytes, Kafka of 4,096."""
    folder = tmp_path / "/".join(["x" * 100] * 6)
    with pytest.raises(oncelog.OncelogError, match=r"has a path of \d+ bytes, and SQLite opens .* a shorter path"):
        oncelog.Broker(folder).start()
