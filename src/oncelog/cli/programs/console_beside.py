"""The processes that ``oncelog serve`` starts for ``--console`` and ``--schema-registry``.

As separate processes they take no time from the broker's event loop. They end with the broker, even if it is killed:
their standard input is a pipe that only the broker holds open.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from oncelog.broker.core.requests.session import SecurityProtocol
from oncelog.broker.server.listener_settings import Address, Listener
from oncelog.errors import ConfigError

END_SECONDS = 5
_URL = re.compile(r"https?://[^\s\"]+")
_MECHANISMS = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")


def check_console(console: str, listeners: Sequence[Listener], settings: Mapping[str, str]) -> None:
    """Check, before the broker starts, that a console could reach it.

    :raises ConfigError: the address is not valid, or every listener encrypts.
    :raises OncelogError: packages are missing.
    """
    from oncelog.cli.programs.console import need_console_packages

    need_console_packages()
    Address.parse(console)
    _client_properties("console", listeners, settings)


def check_registry(registry: str, listeners: Sequence[Listener], settings: Mapping[str, str]) -> None:
    """Check, before the broker starts, that a schema registry could reach it, and that nobody else could reach the
    registry without a login.

    :raises ConfigError: other machines could reach the address, or every listener encrypts or asks for a login.
    :raises OncelogError: packages are missing.
    """
    from oncelog.schema_registry.formats.parsing import need_registry_packages

    need_registry_packages()
    address = Address.parse(registry)
    properties = _client_properties("schema-registry", listeners, settings)
    if not address.is_loopback or properties["security.protocol"] != SecurityProtocol.PLAINTEXT.value:
        raise ConfigError(
            "--schema-registry listens on this machine alone, and needs a listener that neither encrypts nor asks for "
            "a login; otherwise start oncelog schema-registry separately, with a properties file and --login kafka"
        )


@contextmanager
def beside(
    registry: str | None,
    console: str | None,
    listeners: Sequence[Listener],
    settings: Mapping[str, str],
    options: Sequence[str],
    console_options: Sequence[str],
) -> Iterator[None]:
    """A context in which ``oncelog schema-registry`` and ``oncelog console`` run, each if its address is given, with
    ``options``; they print their own addresses. The console uses that registry, whatever port the registry got."""
    with ExitStack() as running:
        asked = _words("console", console, listeners, settings, [*options, *console_options]) if console else None
        if registry is not None:
            words = _words("schema-registry", registry, listeners, settings, options)
            running.enter_context(_passing_on(words, asked))
        elif asked is not None:
            running.enter_context(_process(asked))
        yield


@contextmanager
def _passing_on(words: Sequence[str], console: Sequence[str] | None) -> Iterator[None]:
    """A context in which the registry runs, and the console, too, once the registry has printed its address or has
    failed to start."""

    def pass_on(process: subprocess.Popen[str]) -> None:
        wanted = console
        for line in process.stdout or ():
            sys.stdout.write(line)
            sys.stdout.flush()
            url = _URL.search(line)
            if wanted is not None and url is not None:
                running.enter_context(_process([*wanted, "--schema-registry", url.group()]))
                wanted = None
        if wanted is not None and process.stdin is not None and not process.stdin.closed:
            running.enter_context(_process(wanted))

    with (
        ExitStack() as running,
        ThreadPoolExecutor(1, "oncelog-registry-output") as reader,
        _process(words, stdout=subprocess.PIPE) as process,
    ):
        reader.submit(pass_on, process)
        yield


def _words(
    command: str, address: str, listeners: Sequence[Listener], settings: Mapping[str, str], options: Sequence[str]
) -> list[str]:
    words = [sys.executable, "-m", "oncelog", command, "--listen", address, "--with-parent"]
    for name, value in _client_properties(command, listeners, settings).items():
        words += ["--set", f"{name}={value}"]
    return [*words, *options]


@contextmanager
def _process(words: Sequence[str], stdout: int | None = None) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=stdout, text=True)
    try:
        yield process
    finally:
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _client_properties(command: str, listeners: Sequence[Listener], settings: Mapping[str, str]) -> dict[str, str]:
    """The settings with which a client on this machine connects to the broker: through a plain listener if there is
    one, otherwise with a login."""
    for wanted in (SecurityProtocol.PLAINTEXT, SecurityProtocol.SASL_PLAINTEXT):
        for listener in listeners:
            if listener.protocol is not wanted:
                continue
            host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(listener.address.host, listener.address.host)
            found = {"bootstrap.servers": str(Address(host, listener.address.port)), "security.protocol": wanted.value}
            if wanted is SecurityProtocol.SASL_PLAINTEXT:
                found["sasl.mechanism"] = _mechanism(listener, settings)
            return found
    raise ConfigError(
        f"--{command} needs a listener that does not encrypt; start oncelog {command} separately, with a properties "
        "file that names the certificates to trust"
    )


def _mechanism(listener: Listener, settings: Mapping[str, str]) -> str:
    own = f"listener.name.{listener.name.lower()}.sasl.enabled.mechanisms"
    enabled = [name.strip() for name in settings.get(own, settings.get("sasl.enabled.mechanisms", "")).split(",")]
    for name in _MECHANISMS:
        if name in enabled:
            return name
    raise ConfigError(
        f"--console logs visitors in with {', '.join(_MECHANISMS)}; sasl.enabled.mechanisms has none of them"
    )
