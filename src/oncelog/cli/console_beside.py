"""The console of ``oncelog serve --console``: a separate process, so that using it costs the broker no time.

It ends with the broker, however that ends: its standard input is a pipe that only the broker holds open.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from oncelog.broker.requests.session import SecurityProtocol
from oncelog.errors import ConfigError
from oncelog.server.listener_settings import Address, Listener

END_SECONDS = 5
_MECHANISMS = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")


def check_console(console: str, listeners: Sequence[Listener], settings: Mapping[str, str]) -> None:
    """Refuse, before the broker starts, a console that could not reach it.

    :raises ConfigError: no address, or every listener encrypts.
    :raises OncelogError: packages are missing.
    """
    from oncelog.cli.console import need_packages

    need_packages()
    Address.parse(console)
    _client_properties(listeners, settings)


@contextmanager
def console_beside(
    console: str, listeners: Sequence[Listener], settings: Mapping[str, str], options: Sequence[str]
) -> Iterator[None]:
    """Run a console with these ``options`` too during the block; it prints its own address."""
    command = [sys.executable, "-m", "oncelog", "console", "--listen", console, "--with-parent"]
    for name, value in _client_properties(listeners, settings).items():
        command += ["--set", f"{name}={value}"]
    process = subprocess.Popen([*command, *options], stdin=subprocess.PIPE)
    try:
        yield
    finally:
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _client_properties(listeners: Sequence[Listener], settings: Mapping[str, str]) -> dict[str, str]:
    """How a client on this machine connects to the broker: through a plain listener if there is one, else with a
    login."""
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
        "--console needs a listener that does not encrypt; start oncelog console separately, with a properties file "
        "that names the certificates to trust"
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
