"""Chooses the codec of messages, and builds the layout of each message in each version when it is first needed.

A layout reads and writes one struct in one version: the compiled ``StructLayout`` if the module exists, otherwise its
twin in Python. A property test compares both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oncelog.protocol import _pure_layout
from oncelog.protocol._pure_layout import KINDS, Slot
from oncelog.protocol.struct_fields import ZERO, ZERO_UUID, Field, Struct, parse_versions
from oncelog.runtime.compiled import import_compiled

compiled, _ = import_compiled("oncelog.protocol._layout")

if TYPE_CHECKING or compiled is None:
    StructLayout = _pure_layout.StructLayout
else:
    StructLayout = compiled.StructLayout

_ZEROS: dict[str, Any] = {
    "bool": False,
    "float64": 0.0,
    "string": "",
    "bytes": b"",
    "records": None,
    "uuid": ZERO_UUID,
}


def build_layout(
    message: type[Struct], version: int, is_flexible: bool, made_by: type[StructLayout] = StructLayout
) -> StructLayout:
    """The layout of a message in one of its versions.

    :param made_by: the compiled class or its twin.
    """
    return _Builder(message, version, is_flexible, made_by).build(message)


class _Builder:
    """Builds the layouts of the structs of one message in one version; a struct in several places is built once."""

    def __init__(self, message: type[Struct], version: int, is_flexible: bool, made_by: type[StructLayout]) -> None:
        self._message = message
        self._version = version
        self._is_flexible = is_flexible
        self._made_by = made_by
        self._built: dict[type[Struct], StructLayout] = {}

    def build(self, struct: type[Struct]) -> StructLayout:
        built = self._built.get(struct)
        if built is None:
            slots = [self._slot(item) for item in struct.FIELDS]
            root = self._message.__name__
            name = root if struct is self._message else f"{root}.{struct.__name__}"
            built = self._built[struct] = self._made_by(struct, name, self._version, self._is_flexible, slots)
        return built

    def _slot(self, item: Field) -> Slot:
        child = None if isinstance(item.type, str) else item.type
        is_present = self._version in parse_versions(item.versions)
        is_tagged = is_present and self._version in parse_versions(item.tagged)
        is_records = item.type == "records"
        make_default = _factory(item)
        zero = make_default() if make_default else _ZEROS.get(str(item.type), 0)
        return Slot(
            name=item.name,
            kind=KINDS["struct" if child else str(item.type)],
            is_array=item.is_array,
            is_present=is_present,
            is_nullable=is_records or self._version in parse_versions(item.nullable),
            is_compact=self._is_flexible and item.is_flexible,
            is_ignorable=item.is_ignorable,
            tag=item.tag if is_tagged else -1,
            default=zero if item.default is ZERO else item.default,
            make_default=make_default,
            child=self.build(child) if child and is_present else None,
        )


def _factory(item: Field) -> Any:
    """What makes a new default, if the default is an array or a struct; otherwise None."""
    if item.default is not ZERO:
        return None
    if item.is_array:
        return list
    return None if isinstance(item.type, str) else item.type
