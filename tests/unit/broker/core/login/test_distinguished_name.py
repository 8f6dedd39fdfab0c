"""The subject of a certificate as Java writes it: expected values are those of ``X500Principal.getName``."""

from __future__ import annotations

import pytest

from oncelog.broker.core.login.distinguished_name import MalformedCertificate, PrincipalMapper, subject_of

SEQUENCE, SET, OID, INTEGER = 0x30, 0x31, 0x06, 0x02
UTF8, PRINTABLE, T61, IA5, GENERAL, UNIVERSAL, BMP = 0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1C, 0x1E
CN, COUNTRY, STATE, LOCALITY = (bytes([0x55, 4, last]) for last in (3, 6, 8, 7))
STREET, ORGANIZATION, UNIT, SERIAL_NUMBER = (bytes([0x55, 4, last]) for last in (9, 10, 11, 5))
DC, UID = (bytes([0x09, 0x92, 0x26, 0x89, 0x93, 0xF2, 0x2C, 0x64, 1, last]) for last in (25, 1))
EMAIL = bytes([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 9, 1])


def element(tag: int, *content: bytes) -> bytes:
    """In DER."""
    inner = b"".join(content)
    size = len(inner)
    if size < 0x80:
        return bytes([tag, size]) + inner
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + inner


def part(oid: bytes, value: str, tag: int = UTF8, encoding: str = "utf-8") -> bytes:
    return element(SEQUENCE, element(OID, oid), element(tag, value.encode(encoding)))


def certificate(*names: bytes, version: bool = True) -> bytes:
    """Of version 3, or of version 1, which does not say so; ``names`` are sets of parts."""
    first = [element(0xA0, element(INTEGER, b"\2"))] if version else []
    fields = [element(INTEGER, b"\1"), *[element(SEQUENCE)] * 3, element(SEQUENCE, *names), element(SEQUENCE)]
    return element(SEQUENCE, element(SEQUENCE, *first, *fields), element(SEQUENCE), b"\3\1\0")


def subject(*parts: bytes) -> str:
    return subject_of(certificate(*[element(SET, one) for one in parts]))


@pytest.mark.parametrize("version", [True, False])
def test_the_last_relative_distinguished_name_comes_first(version: bool) -> None:
    names = [element(SET, part(COUNTRY, "CH", PRINTABLE, "ascii")), element(SET, part(CN, "alice"))]
    assert subject_of(certificate(*names, version=version)) == "CN=alice,C=CH"


def test_the_nine_attribute_types_of_rfc_2253_are_written_as_keywords() -> None:
    values = (CN, LOCALITY, STATE, ORGANIZATION, UNIT, COUNTRY, STREET, DC, UID)
    reported = subject(*[part(oid, "x") for oid in reversed(values)])
    assert reported == "CN=x,L=x,ST=x,O=x,OU=x,C=x,STREET=x,DC=x,UID=x"


@pytest.mark.parametrize(
    ("one", "reported"),
    [
        (part(EMAIL, "a@b", IA5, "ascii"), "1.2.840.113549.1.9.1=#1603614062"),
        (part(SERIAL_NUMBER, "7", PRINTABLE, "ascii"), "2.5.4.5=#130137"),
        (element(SEQUENCE, element(OID, CN), element(INTEGER, b"\7")), "CN=#020107"),
        (part(CN, "a", UNIVERSAL, "utf-32-be"), "CN=#1c0400000061"),
    ],
)
def test_other_attribute_types_and_values_that_are_not_text_are_written_in_hex(one: bytes, reported: str) -> None:
    assert subject(one) == reported


@pytest.mark.parametrize("tag", [UTF8, PRINTABLE, T61, IA5, GENERAL, BMP])
@pytest.mark.parametrize(
    ("value", "reported"), [(b"Zo\xc3\xab", "Zoë"), (b"Zo\xeb", "Zo\ufffd"), (b"\0Z\0o", r"\00Z\00o")]
)
def test_text_of_every_type_is_read_as_utf_8(tag: int, value: bytes, reported: str) -> None:
    """Java reads even Latin-1 and UTF-16 so."""
    assert subject(element(SEQUENCE, element(OID, CN), element(tag, value))) == f"CN={reported}"


@pytest.mark.parametrize(
    ("value", "reported"),
    [
        ("a,b", r"a\,b"),
        ("a+b", r"a\+b"),
        ('say "x"', r"say \"x\""),
        ("a\\b", r"a\\b"),
        ("<a;b>", r"\<a\;b\>"),
        ("#a#", r"\#a\#"),
        (" a b ", r"\ a b\ "),
        ("  a", r"\ \ a"),
        ("\ra\r ", "\\\ra\\\r\\ "),
        ("a=b", r"a\=b"),
        ("a\tb", "a\tb"),
        (" ", r"\ "),
        ("  ", r"\ \ "),
        ("", ""),
    ],
)
def test_special_characters_are_escaped(value: str, reported: str) -> None:
    assert subject(part(CN, value)) == f"CN={reported}"


def test_attributes_of_one_relative_name_are_joined_by_a_plus_sign() -> None:
    reported = subject_of(certificate(element(SET, part(CN, "alice"), part(UID, "7"))))
    assert reported == "CN=alice+UID=7"


def test_an_empty_subject_is_an_empty_name() -> None:
    assert subject_of(certificate()) == ""


def test_a_long_distinguished_name_is_read_whole() -> None:
    """DER writes lengths from 128 on in several bytes."""
    assert subject(part(CN, "x" * 300)) == "CN=" + "x" * 300


def test_a_truncated_certificate_is_refused() -> None:
    whole = certificate(element(SET, part(CN, "alice")))
    for size in range(len(whole) - len(b"\3\1\0")):
        with pytest.raises(MalformedCertificate):
            subject_of(whole[:size])


@pytest.mark.parametrize(
    ("replacement", "name"),
    [("$1", "alice"), ("$1$1", "alicealice"), ("$12", "alice2"), ("$9", "$9"), (r"\$1", "$1"), (r"a\\b", "a\\b")],
)
def test_group_references_in_a_replacement_are_read_as_in_java(replacement: str, name: str) -> None:
    """``$12`` is group 1 and a 2 if there is one group, as in ``Matcher.replaceAll``."""
    assert PrincipalMapper(f"RULE:^CN=(.*)$/{replacement}/").name("CN=alice") == name
