"""Texts that users and clients write: properties, JAAS, mapping rules, credentials, expressions."""

from __future__ import annotations

from collections.abc import Iterator

from oncelog.broker.coordinator.regex import InvalidRegex, LinearRegex
from oncelog.broker.core.login.distinguished_name import MalformedCertificate, PrincipalMapper, subject_of
from oncelog.broker.core.login.jaas import parse_jaas
from oncelog.broker.metadata.first_users import parse_first_user
from oncelog.errors import ConfigError
from oncelog.settings.config import parse_broker
from oncelog.settings.properties_file import load_properties
from tests.hostile.fuzz.target import Target, one_at_a_time, printed

PASSWORD = "alice-secret"


def run_properties(data: bytes) -> None:
    """A properties file is read and its settings are accepted, or refused with the setting's name."""
    text = data.decode("utf-8", "replace")
    try:
        values = load_properties(text)
        assert all(isinstance(value, str) for value in values.values())
        parse_broker(values)
    except ConfigError as error:
        printed(error)


PROPERTIES = """# a broker
node.id=1
listeners = PLAINTEXT://localhost:9092, SASL_SSL://:9093
advertised.listeners:PLAINTEXT://localhost:9092
log.retention.ms  -1
log.segment.bytes=1073741824
log.cleaner.min.cleanable.ratio=0.5
auto.create.topics.enable=true
compression.type=producer
message.max.bytes=1048588
super.users=User:a;\\\n    User:b
sasl.enabled.mechanisms=SCRAM-SHA-256,PLAIN
listener.name.sasl_ssl.plain.sasl.jaas.config=org.X required \\\n user_a="b";
\\u006eame=\\u00e9
"""


def properties() -> Iterator[bytes]:
    yield PROPERTIES.encode()
    for line in PROPERTIES.split("\n"):
        yield line.encode()


def run_login_texts(data: bytes) -> None:
    """The first byte chooses the language. Errors of JAAS and credentials never show a password."""
    if not data:
        return
    text = data[1:].decode("utf-8", "replace")
    try:
        match data[0] % 4:
            case 0:
                module = parse_jaas("p", text)
                assert isinstance(module.users, dict)
            case 1:
                PrincipalMapper(text).name("CN=alice,OU=it,O=example")
            case 2:
                parse_first_user(text[:200], bytes)
            case _:
                assert isinstance(subject_of(data[1:]), str)
    except ConfigError as error:
        printed(error, PASSWORD if data[0] % 4 in (0, 2) else "")
    except MalformedCertificate:
        return


def login_texts() -> Iterator[bytes]:
    jaas = (
        f"org.apache.kafka.common.security.plain.PlainLoginModule required user_alice=\"{PASSWORD}\" serviceName='k';"
    )
    yield b"\0" + jaas.encode()
    for rules in ("DEFAULT", r"RULE:^CN=(.*?),OU=(\w+).*$/$1@$2/L, DEFAULT", r"RULE:.*/\$x/U"):
        yield b"\1" + rules.encode()
    yield f"\2SCRAM-SHA-256=[name=alice,password={PASSWORD},iterations=4096]".encode()
    yield b"\2SCRAM-SHA-512=[name='al ice',salt=YWJj,saltedpassword=YWJjZGVm,iterations=4096]"
    name = _der(0x30, _der(0x31, _der(0x30, _der(6, b"\x55\x04\x03") + _der(0x0C, b"alice"))))
    field = _der(2, b"\1")
    yield b"\3" + _der(0x30, _der(0x30, _der(0xA0, field) + field + field + field + field + name + field))


def _der(tag: int, content: bytes) -> bytes:
    return bytes([tag, len(content)]) + content


MAX_TEXT = 3000


def run_regex(data: bytes) -> None:
    """The expression, a newline, and a name: matched or refused."""
    expression, _, name = data[: 2 * MAX_TEXT].decode("utf-8", "replace").partition("\n")
    try:
        regex = LinearRegex(expression)
        assert regex.matches(name) == LinearRegex(expression).matches(name)
        regex.matches("a" * 50)
    except InvalidRegex as error:
        printed(error)


EXPRESSIONS = (
    r"orders",
    r"(a|b)*c+d?",
    r"[a-z0-9._-]{1,249}",
    r"^(?i:Orders)-\d+$",
    r"(?P<name>a.b)[^x]\Qa.b\E",
    r"((a{0,100}){0,100}){0,100}",
    r"(a+)+b",
    r"[[:alpha:]\w\-]|\x41\x{1F600}\012",
    r"\bfoo\B|(?s-m:.)\z",
    r"größe.*",
)


def expressions() -> Iterator[bytes]:
    for expression in EXPRESSIONS:
        for name in ("orders", "aab", "größe-1"):
            yield f"{expression}\n{name}".encode()


REGEX_TOKENS = (
    b"(?i)",
    b"(?P<a>",
    b"[[:",
    b":]]",
    b"\\Q",
    b"\\E",
    b"\\x{",
    b"{1000}",
    b"{,",
    b"*?",
    b"[^",
    b"\\",
    b"|",
)
PROPERTY_TOKENS = (b"\\u00", b"\\\n", b"=", b"-1", b"9" * 20, b"1e999", b"nan", b"true", b",", b"://")
TEXT_TOKENS = (b'"', b"'", b"\\", b"RULE:", b"/", b"$1", b"$99", b"required", b"=", b"\x30\x80", b"\x84\xff\xff")

TARGETS = [
    Target("properties", one_at_a_time(run_properties), properties, tokens=PROPERTY_TOKENS, short=500),
    Target("login_texts", one_at_a_time(run_login_texts), login_texts, tokens=TEXT_TOKENS, short=4000),
    Target("regex", one_at_a_time(run_regex), expressions, tokens=REGEX_TOKENS, short=1500),
]
