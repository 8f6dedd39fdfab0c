"""Emits the reader of one layout: straight-line code, one ``Struct`` call for each run of fixed-size fields.

In a request, the reader of a struct with arrays counts their elements before it builds them, if it gets a limit.
"""

from __future__ import annotations

from tools.codec.layout import Layout, Slot
from tools.codec.names import (
    FORMATS,
    SIZES,
    annotation,
    default,
    element_type,
    local,
    struct_function,
)


class ReadEmitter:
    """Collects the lines of one reader, and the names of the functions that the lines use."""

    def __init__(self, message: str, layout: Layout, has_records: bool, *, counts: bool = False) -> None:
        """Begin a reader without lines.

        :param counts: whether the reader gets an ``ElementLimit``.
        """
        self.message = message
        self.layout = layout
        self.has_records = has_records
        self.counts = counts
        self.functions: set[str] = set()
        self.helpers: set[str] = {"READ_ERRORS", "malformed"}
        self._lines: list[str] = []
        self._indent = 2
        self._pending: list[tuple[str, str, str]] = []
        self._at = self._first_field()

    def emit(self) -> list[str]:
        """The whole function."""
        struct = self.layout.struct.name
        buffer = "memoryview" if self.has_records else "bytes"
        for slot in self.layout.inline:
            self._slot(slot)
        if self.layout.flexible:
            self._tags()
        self._flush()
        body = self._lines
        name, answer = f"_read_{self.layout.suffix}", f"tuple[{struct}, int]"
        limit = ""
        if self.counts:
            self.helpers.add("ElementLimit")
            limit = ", limit: ElementLimit | None = None"
        arguments = ", ".join(self._argument(slot) for slot in self.layout.slots)
        where = f'"{self.message}"' if struct == self.message else f'"{self.message}.{struct}"'
        if not body:
            return [
                f"def {name}(data: {buffer}, pos: int, size: int{limit}) -> {answer}:",
                f"    return {struct}({arguments}), pos",
            ]
        return [
            f"def {name}(data: {buffer}, pos: int, size: int{limit}) -> {answer}:",
            f'    at = "{self._first_field()}"',
            "    try:",
            *body,
            "    except READ_ERRORS as error:",
            f"        raise malformed({where}, at, pos, error) from None",
            f"    return {struct}({arguments}), pos",
        ]

    def _first_field(self) -> str:
        inline = self.layout.inline
        return inline[0].field.attribute if inline else "tagged fields"

    def _argument(self, slot: Slot) -> str:
        if slot.present:
            return local(slot.field)
        text = default(slot.field)
        if text == "[]":
            self.helpers.add("EMPTY")
            return "EMPTY"
        if text == "ZERO_UUID":
            self.helpers.add("ZERO_UUID")
        return text

    # Methods that emit single lines, and sequences of values of fixed size

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._indent + text)

    def _fixed(self, fmt: str, target: str, field_name: str) -> None:
        self._pending.append((fmt, target, field_name))

    def _mark(self, field_name: str) -> None:
        if self._at != field_name:
            self._line(f'at = "{field_name}"')
            self._at = field_name

    def _flush(self) -> None:
        if not self._pending:
            return
        formats = [fmt for fmt, _, _ in self._pending]
        targets = [target for _, target, _ in self._pending]
        self._mark(self._pending[0][2])
        self._pending = []
        if formats == ["B"]:
            self._line(f"{targets[0]} = data[pos]")
        else:
            name = struct_function("unpack", formats)
            self.functions.add(name)
            left = targets[0] + "," if len(targets) == 1 else ", ".join(targets)
            self._line(f"{left} = {name}(data, pos)")
        self._line(f"pos += {sum(SIZES[fmt] for fmt in formats)}")

    def _length(self, slot: Slot, count: str, wide: bool, is_string: bool) -> None:
        """Emit the reading of a length into the variable ``count``; in compact form ``count`` is the length plus
        one."""
        name = slot.field.attribute
        if slot.compact:
            self._fixed("B", count, name)
            self._flush()
            self._mark(name)
            tail = "string_length_tail" if is_string else "uvarint_tail"
            self.helpers.add(tail)
            self._line(f"if {count} > 127:")
            self._line(f"    {count}, pos = {tail}(data, pos, {count})")
        else:
            self._fixed("i" if wide else "h", count, name)
            self._flush()
            self._mark(name)

    # Fields

    def _slot(self, slot: Slot, declare: bool = True) -> None:
        item = slot.field
        target = local(item)
        if item.is_array:
            self._array(slot, target, declare)
        elif item.type in FORMATS:
            self._fixed(FORMATS[item.type], target, item.attribute)
        elif item.struct:
            self._struct(slot, target, declare)
        else:
            self._bytes(slot, target, declare)

    def _struct(self, slot: Slot, target: str, declare: bool) -> None:
        child = slot.child
        if child is None:
            raise ValueError(f"{slot.field.name} has no layout")
        call = self._call(child)
        if not slot.nullable:
            self._flush()
            self._mark(slot.field.attribute)
            self._line(f"{target}, pos = {call}")
            return
        if slot.tagged:
            self._line("present, pos = read_uvarint(data, pos)")
        else:
            self._fixed("b", "present", slot.field.attribute)
            self._flush()
        self._declare(target, annotation(slot.field), declare)
        self._line("if present:" if slot.tagged else "if present >= 0:")
        self._line(f"    {target}, pos = {call}")

    def _declare(self, target: str, type_: str, declare: bool, value: str = "None") -> None:
        self._line(f"{target}: {type_} = {value}" if declare else f"{target} = {value}")

    def _bytes(self, slot: Slot, target: str, declare: bool) -> None:
        """Emit the reading of a string, ``bytes`` or ``records``."""
        item = slot.field
        self._length(slot, "count", wide=item.type != "string", is_string=item.type == "string")
        null_check = "count" if slot.compact else "count >= 0"
        if slot.nullable:
            self._declare(target, annotation(item), declare)
            self._line(f"if {null_check}:")
            self._indent += 1
        else:
            self.helpers.add("null_value")
            self._line("if not count:" if slot.compact else "if count < 0:")
            self._line("    raise null_value(count)")
        length = "count - 1" if slot.compact else "count"
        self.helpers.add("overrun")
        self._line(f"end = pos + {length}")
        self._line("if end > size:")
        self._line(f"    raise overrun({length}, size - pos)")
        self._line(f"{target} = {self._content(item.type)}")
        self._line("pos = end")
        if slot.nullable:
            self._indent -= 1

    def _content(self, type_: str) -> str:
        """The expression for ``data[pos:end]`` as a value of the type. ``data`` is a memoryview if the message has
        records, otherwise bytes."""
        if type_ == "string":
            return 'str(data[pos:end], "utf-8")' if self.has_records else "data[pos:end].decode()"
        if type_ == "bytes" and self.has_records:
            return "bytes(data[pos:end])"
        return "data[pos:end]"

    def _array(self, slot: Slot, target: str, declare: bool) -> None:
        item = slot.field
        self._length(slot, "count", wide=True, is_string=False)
        list_type = f"list[{element_type(item)}]"
        if slot.nullable:
            self._declare(target, f"{list_type} | None", declare)
            self._line("if count:" if slot.compact else "if count >= 0:")
            self._indent += 1
        else:
            self.helpers.add("null_value")
            self._line("if not count:" if slot.compact else "if count < 0:")
            self._line("    raise null_value(count)")
        if slot.compact:
            self._line("count -= 1")
        declare_here = declare and not slot.nullable
        if item.type in FORMATS:
            self._scalar_array(target, item.type, list_type, declare_here)
        else:
            self._element_array(slot, target, list_type, declare_here)
        if slot.nullable:
            self._indent -= 1
        self._at = ""

    def _scalar_array(self, target: str, type_: str, list_type: str, declare: bool) -> None:
        fmt = FORMATS[type_]
        self.helpers.add("overrun")
        size = SIZES[fmt]
        self._line(f"end = pos + count * {size}" if size > 1 else "end = pos + count")
        self._line("if end > size:")
        self._line(f"    raise overrun(count * {size}, size - pos)")
        self._count()
        if type_ == "uuid":
            value = "[bytes(data[start : start + 16]) for start in range(pos, end, 16)]"
        elif fmt == "i":
            self.helpers |= {"unpack_from", "UNPACK_INT32S"}
            value = 'list(UNPACK_INT32S[count](data, pos) if count < 8 else unpack_from(f">{count}i", data, pos))'
        else:
            self.helpers.add("unpack_from")
            value = f'list(unpack_from(f">{{count}}{fmt}", data, pos))'
        self._declare(target, list_type, declare, value)
        self._line("pos = end")

    def _element_array(self, slot: Slot, target: str, list_type: str, declare: bool) -> None:
        item = slot.field
        self.helpers.add("overrun")
        self._line("if count > size - pos:")
        self._line("    raise overrun(count, size - pos)")
        self._count()
        self._declare(target, list_type, declare, "[]")
        self._line("for _ in range(count):")
        self._indent += 1
        element = f"{target}_item"
        if slot.child:
            self._line(f"{element}, pos = {self._call(slot.child)}")
        else:
            inner = Slot(item, present=True, nullable=False, tagged=False, compact=slot.compact, child=None)
            self._at = item.attribute
            self._bytes(inner, element, declare=False)
        self._line(f"{target}.append({element})")
        self._indent -= 1

    def _call(self, child: Layout) -> str:
        limit = ", limit" if self.counts and child.has_arrays else ""
        return f"_read_{child.suffix}(data, pos, size{limit})"

    def _count(self) -> None:
        if self.counts:
            self._line("if limit is not None:")
            self._line("    limit.take(count)")

    # Tagged fields

    def _tags(self) -> None:
        tagged = self.layout.tagged
        self._fixed("B", "tags", "tagged fields")
        self._flush()
        for slot in tagged:
            self._declare(local(slot.field), annotation(slot.field), True, self._new_default(slot))
        self._line("if tags:")
        self._indent += 1
        self._mark("tagged fields")
        if not tagged:
            self.helpers.add("skip_tags")
            self._line("pos = skip_tags(data, pos, size, tags)")
        else:
            self._tag_loop(tagged)
        self._indent -= 1

    def _new_default(self, slot: Slot) -> str:
        text = default(slot.field)
        if text == "ZERO_UUID":
            self.helpers.add("ZERO_UUID")
        return text

    def _tag_loop(self, tagged: list[Slot]) -> None:
        self.helpers |= {"many_tags", "read_uvarint", "overrun", "tag_size"}
        self._line("if tags > 127:")
        self._line("    tags, pos = many_tags(data, pos, tags)")
        self._line("for _ in range(tags):")
        self._indent += 1
        self._line('at = "tagged fields"')
        self._line("tag, pos = read_uvarint(data, pos)")
        self._line("length, pos = read_uvarint(data, pos)")
        self._line("tag_end = pos + length")
        self._line("if tag_end > size:")
        self._line("    raise overrun(length, size - pos)")
        for index, slot in enumerate(tagged):
            self._line(f"{'elif' if index else 'if'} tag == {slot.field.tag}:")
            self._indent += 1
            self._at = ""
            self._slot(slot, declare=False)
            self._flush()
            self._indent -= 1
        self._line("else:")
        self._line("    pos = tag_end")
        self._line("if pos != tag_end:")
        self._line("    raise tag_size(length, length + pos - tag_end)")
        self._indent -= 1


def needs_view(layout: Layout) -> bool:
    return any(slot.field.type == "records" for slot in layout.slots) or any(
        slot.child is not None and needs_view(slot.child) for slot in layout.slots
    )
