"""The layouts of a struct in the versions of its message, which the generator computes before it writes code.

Versions in which a struct and all structs in it have the same fields, encoded in the same way, share one layout, and so
one generated reader and writer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tools.codec.schema import Field, MessageDef, StructDef, snake_case


@dataclass
class Slot:
    """A field as one layout encodes it."""

    field: Field
    present: bool
    nullable: bool
    tagged: bool
    compact: bool
    child: Layout | None

    def signature(self) -> tuple[object, ...]:
        if not self.present:
            return (self.field.name,)
        child = self.child.signature if self.child else None
        return (self.field.name, self.nullable, self.tagged, self.compact, child)


@dataclass
class Layout:
    struct: StructDef
    flexible: bool
    slots: list[Slot]
    versions: list[int] = field(default_factory=list)
    signature: tuple[object, ...] = ()

    @property
    def suffix(self) -> str:
        return f"{snake_case(self.struct.name)}_v{self.versions[0]}"

    @property
    def version_text(self) -> str:
        low, high = self.versions[0], self.versions[-1]
        return str(low) if low == high else f"{low}-{high}"

    @property
    def inline(self) -> list[Slot]:
        return [slot for slot in self.slots if slot.present and not slot.tagged]

    @property
    def tagged(self) -> list[Slot]:
        slots = [slot for slot in self.slots if slot.present and slot.tagged]
        return sorted(slots, key=lambda slot: slot.field.tag or 0)

    @property
    def has_arrays(self) -> bool:
        """Whether the struct, or a struct in it, contains an array."""
        return any(slot.present and (slot.field.is_array or _holds_arrays(slot.child)) for slot in self.slots)


def _holds_arrays(layout: Layout | None) -> bool:
    return layout is not None and layout.has_arrays


class Layouts:
    """All layouts of a message, children before parents."""

    def __init__(self, message: MessageDef) -> None:
        self.message = message
        self.by_version: dict[int, Layout] = {}
        self._known: dict[tuple[str, tuple[object, ...]], Layout] = {}
        for version in range(message.versions.low, message.versions.high + 1):
            self.by_version[version] = self._layout(message.root, version)

    def __iter__(self) -> Iterator[Layout]:
        return iter(self._known.values())

    def _layout(self, struct: StructDef, version: int) -> Layout:
        flexible = version in self.message.flexible
        slots = [self._slot(item, version, flexible) for item in struct.fields]
        signature = (flexible, *(slot.signature() for slot in slots))
        layout = self._known.setdefault((struct.name, signature), Layout(struct, flexible, slots, [], signature))
        if version not in layout.versions:
            layout.versions.append(version)
        return layout

    def _slot(self, item: Field, version: int, flexible: bool) -> Slot:
        present = version in item.versions
        return Slot(
            field=item,
            present=present,
            nullable=version in item.nullable or item.type == "records",
            tagged=present and version in item.tagged,
            compact=flexible and not item.never_flexible,
            child=self._layout(item.struct, version) if item.struct and present else None,
        )
