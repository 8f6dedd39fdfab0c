"""Emits the writer of one layout. Fixed-size fields are packed together in runs, and all bytes are passed to one
function ``append``."""

from __future__ import annotations

from dataclasses import replace

from tools.codec.layout import Layout, Slot
from tools.codec.names import FORMATS, differs_from_default, local, may_be_null, struct_function


class WriteEmitter:
    """Collects the lines of one writer, and the names of the functions that the lines use."""

    def __init__(self, message: str, layout: Layout) -> None:
        self.message = message
        self.layout = layout
        self.functions: set[str] = set()
        self.helpers: set[str] = set()
        self._lines: list[str] = []
        self._indent = 1
        self._append = "w"
        self._pending: list[tuple[str, str]] = []

    def emit(self) -> list[str]:
        """The lines of the whole function."""
        for slot in self.layout.slots:
            if not slot.present and not slot.field.ignorable:
                self._refuse_value(slot)
        for slot in self.layout.inline:
            self._slot(slot)
        if self.layout.flexible:
            self._tags()
        self._flush()
        struct = self.layout.struct.name
        return [
            f"def _write_{self.layout.suffix}(w: Append, x: {struct}) -> None:",
            *(self._lines or ["    pass"]),
        ]

    def _where(self, slot: Slot) -> str:
        struct = self.layout.struct.name
        message = self.message if struct == self.message else f"{self.message}.{struct}"
        return f'"{message}", "{slot.field.attribute}", "{self.layout.version_text}"'

    def _refuse_value(self, slot: Slot) -> None:
        self.helpers.add("unsupported_field")
        condition = differs_from_default(slot.field, f"x.{slot.field.attribute}")
        if "ZERO_UUID" in condition:
            self.helpers.add("ZERO_UUID")
        self._line(f"if {condition}:")
        self._line(f"    raise unsupported_field({self._where(slot)})")

    # Methods that emit single lines, and sequences of values of fixed size

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._indent + text)

    def _out(self, expression: str) -> None:
        self._line(f"{self._append}({expression})")

    def _fixed(self, fmt: str, value: str) -> None:
        self._pending.append((fmt, value))

    def _pack(self, pending: list[tuple[str, str]]) -> str:
        formats = [fmt for fmt, _ in pending]
        if all(fmt == "x" for fmt in formats):
            return 'b"' + "\\0" * len(formats) + '"'
        name = struct_function("pack", formats)
        self.functions.add(name)
        return f"{name}({', '.join(value for fmt, value in pending if fmt != 'x')})"

    def _flush(self) -> None:
        if self._pending:
            pending, self._pending = self._pending, []
            self._out(self._pack(pending))

    def _compact_length(self, count: str, is_string: bool) -> None:
        """Emit the writing of ``count``, the length plus one, as a varint, together with the fixed-size fields before
        it."""
        long_form = "string_length" if is_string else "uvarint"
        self.helpers.add(long_form)
        pending, self._pending = self._pending, []
        if pending:
            short = self._pack([*pending, ("B", count)])
            self._out(f"{short} if {count} < 128 else {self._pack(pending)} + {long_form}({count})")
        else:
            self.helpers.add("VARINT")
            self._out(f"VARINT[{count}] if {count} < 128 else {long_form}({count})")

    # Fields

    def _slot(self, slot: Slot, is_set: bool = False) -> None:
        """Emit the writing of a field. With ``is_set``, the value of a nullable field is known not to be null."""
        item = slot.field
        value = f"x.{item.attribute}"
        if item.type in FORMATS and not item.is_array:
            self._scalar(slot, value)
            return
        target = local(item)
        self._line(f"{target} = {value}")
        if is_set:
            if item.struct and not item.is_array and slot.nullable:
                self._out('b"\\x01"')
            slot = replace(slot, nullable=False)
        else:
            self._refuse_null(slot, target)
        if item.is_array:
            self._array(slot, target)
        elif item.struct:
            self._struct(slot, target)
        else:
            self._bytes(slot, target)

    def _refuse_null(self, slot: Slot, target: str) -> None:
        if may_be_null(slot.field) and not slot.nullable:
            self.helpers.add("null_field")
            self._line(f"if {target} is None:")
            self._line(f"    raise null_field({self._where(slot)})")

    def _scalar(self, slot: Slot, value: str) -> None:
        if slot.field.type == "uuid":
            self.helpers.add("bad_uuid")
            target = local(slot.field)
            self._line(f"{target} = {value}")
            self._line(f"if len({target}) != 16:")
            self._line(f'    raise bad_uuid("{self.message}", "{slot.field.attribute}", {target})')
            value = target
        self._fixed(FORMATS[slot.field.type], value)

    def _struct(self, slot: Slot, target: str) -> None:
        if slot.child is None:
            raise ValueError(f"{slot.field.name} has no layout")
        self._flush()
        call = f"_write_{slot.child.suffix}({self._append}, {target})"
        if not slot.nullable:
            self._line(call)
            return
        null = 'b"\\0"' if slot.tagged else 'b"\\xff"'  # in a tagged field the marker is a varint, else an int8
        self._line(f"if {target} is None:")
        self._line(f"    {self._append}({null})")
        self._line("else:")
        self._line(f'    {self._append}(b"\\x01")')
        self._line(f"    {call}")

    def _bytes(self, slot: Slot, target: str) -> None:
        is_string = slot.field.type == "string"
        content = f"{target}_bytes" if is_string else target
        if slot.nullable:
            encoded = f"{target}.encode()" if is_string else target
            if slot.compact:
                self._flush()
                self._line(f"if {target} is None:")
                self._line(f'    {self._append}(b"\\0")')
                self._line("else:")
                self._indent += 1
                if is_string:
                    self._line(f"{content} = {encoded}")
                self._compact_content(content, is_string)
                self._indent -= 1
            else:
                self._line(f'{target}_bytes = b"" if {target} is None else {encoded}')
                self._fixed("h" if is_string else "i", f"-1 if {target} is None else len({target}_bytes)")
                self._flush()
                self._out(f"{target}_bytes")
            return
        if is_string:
            self._line(f"{content} = {target}.encode()")
        if slot.compact:
            self._compact_content(content, is_string)
        else:
            self._fixed("h" if is_string else "i", f"len({content})")
            self._flush()
            self._out(content)

    def _compact_content(self, content: str, is_string: bool) -> None:
        self._line(f"count = len({content}) + 1")
        self._compact_length("count", is_string)
        self._out(content)

    def _array(self, slot: Slot, target: str) -> None:
        if slot.nullable and slot.compact:
            self._flush()
            self._line(f"if {target} is None:")
            self._line(f'    {self._append}(b"\\0")')
            self._line("else:")
            self._indent += 1
        if slot.compact:
            self._line(f"count = len({target}) + 1")
            self._compact_length("count", is_string=False)
        else:
            length = f"-1 if {target} is None else len({target})" if slot.nullable else f"len({target})"
            self._fixed("i", length)
            self._flush()
            if slot.nullable:
                self._line(f"if {target} is not None:")
                self._indent += 1
        self._elements(slot, target)
        if slot.nullable:
            self._indent -= 1

    def _elements(self, slot: Slot, target: str) -> None:
        item = slot.field
        element = f"{target}_item"
        if item.type == "uuid":
            self.helpers.add("bad_uuid")
            self._line(f"for {element} in {target}:")
            self._line(f"    if len({element}) != 16:")
            self._line(f'        raise bad_uuid("{self.message}", "{item.attribute}", {element})')
            self._line(f"    {self._append}({element})")
        elif item.type == "int32":
            self.helpers |= {"pack", "PACK_INT32S"}
            short = f"PACK_INT32S[len({target})](*{target})"
            self._out(f'{short} if len({target}) < 8 else pack(f">{{len({target})}}i", *{target})')
        elif item.type in FORMATS:
            self.helpers.add("pack")
            self._out(f'pack(f">{{len({target})}}{FORMATS[item.type]}", *{target})')
        elif slot.child:
            self._line(f"for {element} in {target}:")
            self._line(f"    _write_{slot.child.suffix}({self._append}, {element})")
        else:
            self._line(f"for {element} in {target}:")
            self._indent += 1
            inner = Slot(item, present=True, nullable=False, tagged=False, compact=slot.compact, child=None)
            self._bytes(inner, element)
            self._indent -= 1

    # Tagged fields

    def _tags(self) -> None:
        tagged = self.layout.tagged
        if not tagged:
            self._fixed("x", "")
            return
        self._flush()
        self.helpers |= {"write_tags", "Buffer"}
        self._line("tagged: list[tuple[int, bytes]] = []")
        for slot in tagged:
            condition = differs_from_default(slot.field, f"x.{slot.field.attribute}")
            if "ZERO_UUID" in condition:
                self.helpers.add("ZERO_UUID")
            part = f"{slot.field.attribute}_part"
            self._line(f"if {condition}:")
            self._indent += 1
            self._line(f"{part}: list[Buffer] = []")
            self._append = f"{part}.append"
            self._slot(slot, is_set=slot.field.default_is_null)
            self._flush()
            self._append = "w"
            self._line(f'tagged.append(({slot.field.tag}, b"".join({part})))')
            self._indent -= 1
        self._line("if tagged:")
        self._line("    write_tags(w, tagged)")
        self._line("else:")
        self._line('    w(b"\\0")')
