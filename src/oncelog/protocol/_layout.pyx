# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, freethreading_compatible=True
"""Reads and writes structs according to their layouts, compiled: the twin of ``_pure_layout``, which says what holds
for both. Called through :mod:`oncelog.protocol.layouts`.

Safety: every byte read lies before ``Input.end``, which is checked first; room is reserved before a write. Fields are
set and read by the struct's member descriptors, which check its class. Both twins are compared on random and damaged
bytes in tests.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport INT64_MAX, int32_t, int64_t, int8_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from oncelog.records.big_endian cimport (
    load_16, load_32, load_64, room_after, store_16, store_32, store_64, write_uvarint,
)

from oncelog.protocol import _pure_layout
from oncelog.protocol._pure_layout import is_binary, too_long, unencodable
from oncelog.protocol.codec_errors import MalformedMessage, UnencodableValue, UnsupportedField

cdef extern from "Python.h":
    ctypedef struct PyTypeObject
    ctypedef int (*descrsetfunc)(PyObject*, PyObject*, PyObject*) except -1
    ctypedef PyObject* (*descrgetfunc)(PyObject*, PyObject*, PyObject*) except NULL
    const int Py_tp_descr_set
    const int Py_tp_descr_get
    void* PyType_GetSlot(PyTypeObject* kind, int slot) except NULL
    PyObject* PyType_GenericAlloc(PyTypeObject* kind, Py_ssize_t items) except NULL
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    object PyUnicode_DecodeUTF8(const char* start, Py_ssize_t size, const char* errors)
    PyObject* PyList_GetItem(object items, Py_ssize_t index) except NULL
    int PyList_SetItem(object items, Py_ssize_t index, PyObject* item) except -1
    object PyList_New(Py_ssize_t size)
    object PySequence_GetSlice(object items, Py_ssize_t start, Py_ssize_t end)
    object PyNumber_Index(object number)

# The numbers of ``_pure_layout.KINDS``.
cdef enum:
    BOOL = 0
    INT8 = 1
    INT16 = 2
    UINT16 = 3
    INT32 = 4
    UINT32 = 5
    INT64 = 6
    FLOAT64 = 7
    UUID = 8
    STRING = 9
    BYTES = 10
    RECORDS = 11
    STRUCT = 12

cdef enum:
    MAX_VARINT_BYTES = 5
    UUID_BYTES = 16

cdef int64_t MAX_TAGS = _pure_layout.MAX_TAGS
cdef int64_t MAX_STRING_BYTES = _pure_layout.MAX_STRING_BYTES
cdef int64_t SHORT_BYTES = _pure_layout.SHORT_BYTES


cdef class StructLayout
cdef class Writing


cdef struct Input:
    const uint8_t* start
    const uint8_t* p
    const uint8_t* end
    int64_t elements
    int64_t most


cdef class Slot:
    """One field, with the functions that set and read it in a struct."""

    cdef object struct
    cdef object name
    cdef int kind
    cdef bint is_array
    cdef bint is_present
    cdef bint is_nullable
    cdef bint is_compact
    cdef bint is_ignorable
    cdef int64_t tag
    cdef object default
    cdef object make_default
    cdef StructLayout child
    cdef object member
    cdef descrsetfunc put
    cdef descrgetfunc get

    def __init__(self, struct, slot):
        self.struct = struct
        self.name = slot.name
        self.kind = slot.kind
        self.is_array = slot.is_array
        self.is_present = slot.is_present
        self.is_nullable = slot.is_nullable
        self.is_compact = slot.is_compact
        self.is_ignorable = slot.is_ignorable
        self.tag = slot.tag
        self.default = slot.default
        self.make_default = slot.make_default
        self.child = slot.child
        self.member = vars(struct)[slot.name]
        kind = type(self.member)
        self.put = <descrsetfunc> PyType_GetSlot(<PyTypeObject*> <PyObject*> kind, Py_tp_descr_set)
        self.get = <descrgetfunc> PyType_GetSlot(<PyTypeObject*> <PyObject*> kind, Py_tp_descr_get)

    cdef inline int set_in(self, struct, value) except -1:
        return self.put(<PyObject*> self.member, <PyObject*> struct, <PyObject*> value)

    cdef inline object get_from(self, struct):
        cdef PyObject* value
        if type(struct) is not self.struct:
            return getattr(struct, self.name)
        value = self.get(<PyObject*> self.member, <PyObject*> struct, <PyObject*> self.struct)
        held = <object> value
        Py_DECREF(held)
        return held

    cdef bint differs(self, value) except -1:
        """See ``_pure_layout._differs``."""
        if self.default is None or value is None:
            return value is not self.default
        if self.is_array or self.kind == BYTES or self.kind == RECORDS:
            return len(value) > 0
        if self.kind == STRUCT and self.child is not None:
            return self.child.differs_from_default(value)
        return value != self.default


cdef class StructLayout:
    """See ``_pure_layout.StructLayout``."""

    cdef object struct
    cdef object name
    cdef int version
    cdef bint is_flexible
    cdef list slots
    cdef list tagged
    cdef Py_ssize_t count

    def __init__(self, struct, name, version, is_flexible, slots):
        self.struct = struct
        self.name = name
        self.version = version
        self.is_flexible = is_flexible
        self.slots = [Slot(struct, slot) for slot in slots]
        self.count = len(self.slots)
        self.tagged = sorted(
            [made for made, slot in zip(self.slots, slots) if slot.tag >= 0],
            key=lambda made: (<Slot> made).tag,
        )

    def read(self, data, Py_ssize_t pos, limit=None):
        """See ``_pure_layout.StructLayout.read``."""
        cdef Py_buffer view
        cdef Input source
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            source.start = <const uint8_t*> view.buf
            source.end = source.start + view.len
            source.p = source.start + min(pos, view.len)
            source.elements, source.most = 0, INT64_MAX
            if limit is not None:
                source.elements, source.most = limit.count, limit.most
            made = self.read_struct(&source, data)
            if limit is not None:
                limit.count = source.elements
            return made, source.p - source.start
        finally:
            PyBuffer_Release(&view)

    def write(self, struct):
        """See ``_pure_layout.StructLayout.write``."""
        cdef Writing writing = Writing()
        self.write_struct(writing, struct)
        return writing.finish()

    def write_around(self, struct, array):
        """See ``_pure_layout.StructLayout.write_around``."""
        cdef Writing before = Writing()
        cdef Writing after = Writing()
        cdef Py_ssize_t at = self.index(array)
        self.write_slots(before, struct, 0, at)
        before.add_length(len(getattr(struct, array)), (<Slot> self.slots[at]).is_compact, INT32)
        self.write_slots(after, struct, at + 1, self.count)
        if self.is_flexible:
            self.write_tags(after, struct)
        return before.finish(), after.finish()

    def write_elements(self, array, elements):
        """See ``_pure_layout.StructLayout.write_elements``."""
        cdef Writing writing = Writing()
        cdef Slot slot = <Slot> self.slots[self.index(array)]
        for element in elements:
            self.write_value(writing, slot, element)
        return writing.finish()

    cdef Py_ssize_t index(self, name) except -1:
        cdef Py_ssize_t at
        for at in range(self.count):
            if (<Slot> self.slots[at]).name == name:
                return at
        raise KeyError(name)

    cdef bint differs_from_default(self, struct) except -1:
        for slot in self.slots:
            if (<Slot> slot).differs((<Slot> slot).get_from(struct)):
                return True
        return False

    # --- reading

    cdef object read_struct(self, Input* source, data):
        cdef Slot slot
        cdef Py_ssize_t at
        cdef PyObject* allocated = PyType_GenericAlloc(<PyTypeObject*> <PyObject*> self.struct, 0)
        made = <object> allocated
        Py_DECREF(made)
        for at in range(self.count):
            slot = <Slot> PyList_GetItem(self.slots, at)
            if slot.is_present and slot.tag < 0:
                value = self.read_field(source, data, slot)
            elif slot.make_default is None:
                value = slot.default
            else:
                value = slot.make_default()
            slot.set_in(made, value)
        if self.is_flexible:
            if source.p < source.end and not source.p[0]:
                source.p += 1
            else:
                self.read_tags(source, data, made)
        return made

    cdef int read_tags(self, Input* source, data, made) except -1:
        cdef int64_t count, tag, length
        cdef const uint8_t* start
        cdef Slot found
        count = self.read_varint(source, "tagged fields")
        if count > MAX_TAGS:
            raise self.malformed(source, "tagged fields", f"{count} tagged fields, above {MAX_TAGS}")
        for _ in range(count):
            tag = self.read_varint(source, "tagged fields")
            length = self.read_varint(source, "tagged fields")
            self.check_left(source, length, "tagged fields")
            start = source.p
            found = None
            for slot in self.tagged:
                if (<Slot> slot).tag == tag:
                    found = <Slot> slot
                    break
            if found is None:
                source.p += length
                continue
            found.set_in(made, self.read_field(source, data, found))
            if source.p - start != length:
                raise self.malformed(
                    source, found.name, f"tagged field of {length} bytes read as {source.p - start}"
                )
        return 0

    cdef object read_field(self, Input* source, data, Slot slot):
        cdef int64_t count, at
        cdef object items
        if not slot.is_array:
            return self.read_value(source, data, slot, slot.is_nullable)
        if slot.is_compact:
            count = self.read_varint(source, slot.name) - 1
        else:
            count = self.read_int(source, INT32, slot)
        if count < 0:
            return self.null(source, slot, slot.is_nullable, count)
        self.check_left(source, count * least_bytes(slot.kind), slot.name)
        source.elements += count
        if source.elements > source.most:
            reason = f"{source.elements} elements, at most {source.most} are accepted: request less at once"
            raise self.malformed(source, slot.name, reason)
        items = PyList_New(count)
        for at in range(count):
            value = self.read_value(source, data, slot, False)
            Py_INCREF(value)
            PyList_SetItem(items, at, <PyObject*> value)
        return items

    cdef object read_value(self, Input* source, data, Slot slot, bint is_nullable):
        cdef int kind = slot.kind
        cdef int64_t length
        cdef const uint8_t* start
        if kind == BOOL:
            return self.read_int(source, BOOL, slot) != 0
        if kind == FLOAT64:
            return self.read_float(source, slot)
        if kind < FLOAT64:
            return self.read_int(source, kind, slot)
        if kind == UUID:
            self.check_bytes(source, UUID_BYTES, slot)
            source.p += UUID_BYTES
            return PyBytes_FromStringAndSize(<const char*> source.p - UUID_BYTES, UUID_BYTES)
        if kind == STRUCT:
            if is_nullable:
                if slot.tag >= 0:
                    if not self.read_varint(source, slot.name):
                        return None
                elif self.read_int(source, INT8, slot) < 0:
                    return None
            return slot.child.read_struct(source, data)
        if slot.is_compact:
            length = self.read_varint(source, slot.name) - 1
            if kind == STRING and length > MAX_STRING_BYTES:
                reason = f"string of {length} bytes, above {MAX_STRING_BYTES}"
                raise self.malformed(source, slot.name, reason)
        else:
            length = self.read_int(source, INT16 if kind == STRING else INT32, slot)
        if length < 0:
            return self.null(source, slot, is_nullable, length)
        self.check_left(source, length, slot.name)
        start = source.p
        if kind == STRING:
            try:
                value = PyUnicode_DecodeUTF8(<const char*> start, length, NULL)
            except UnicodeDecodeError:
                value = self.replaced_text(source, slot, length)
        elif kind == BYTES:
            value = PyBytes_FromStringAndSize(<const char*> start, length)
        else:
            value = PySequence_GetSlice(memoryview(data), start - source.start, start - source.start + length)
        source.p += length
        return value

    cdef object replaced_text(self, Input* source, Slot slot, Py_ssize_t length):
        try:
            return _pure_layout.text_of(PyBytes_FromStringAndSize(<const char*> source.p, length))
        except ValueError as error:
            raise self.malformed(source, slot.name, str(error)) from None

    cdef int64_t read_int(self, Input* source, int kind, Slot slot) except? -1:
        cdef int size = least_bytes(kind)
        cdef const uint8_t* p = source.p
        self.check_bytes(source, size, slot)
        source.p += size
        if kind == INT32:
            return <int32_t> load_32(p)
        if kind == INT64:
            return load_64(p)
        if kind == INT16:
            return load_16(p)
        if kind == INT8:
            return <int8_t> p[0]
        if kind == UINT16:
            return <uint16_t> load_16(p)
        if kind == UINT32:
            return load_32(p)
        return p[0]

    cdef object read_float(self, Input* source, Slot slot):
        cdef int64_t bits = self.read_int(source, INT64, slot)
        cdef double number
        memcpy(&number, &bits, 8)
        return number

    cdef int64_t read_varint(self, Input* source, name) except -1:
        cdef uint64_t value = 0
        cdef const uint8_t* p = source.p
        cdef int shift
        for shift in range(0, 7 * MAX_VARINT_BYTES, 7):
            if p >= source.end:
                raise self.malformed(source, name, "ends before the field does")
            value |= <uint64_t> (p[0] & 0x7F) << shift
            p += 1
            if (p - 1)[0] < 0x80:
                if value > 0xFFFFFFFF:
                    raise self.malformed(source, name, "varint above 32 bits")
                source.p = p
                return <int64_t> value
        raise self.malformed(source, name, "varint longer than five bytes")

    cdef inline int check_bytes(self, Input* source, int64_t size, Slot slot) except -1:
        if source.end - source.p < size:
            raise self.malformed(source, slot.name, "ends before the field does")
        return 0

    cdef inline int check_left(self, Input* source, int64_t length, name) except -1:
        if length > source.end - source.p:
            raise self.malformed(source, name, f"length {length} with {source.end - source.p} bytes left")
        return 0

    cdef object null(self, Input* source, Slot slot, bint is_nullable, int64_t length):
        if is_nullable:
            return None
        length = 0 if slot.is_compact else length
        raise self.malformed(source, slot.name, f"null (length {length}), which the field does not allow")

    cdef object malformed(self, Input* source, field, reason):
        return MalformedMessage(self.name, field, source.p - source.start, reason)

    # --- writing

    cdef int write_struct(self, Writing writing, struct) except -1:
        self.write_slots(writing, struct, 0, self.count)
        if self.is_flexible:
            self.write_tags(writing, struct)
        return 0

    cdef int write_slots(self, Writing writing, struct, Py_ssize_t begin, Py_ssize_t end) except -1:
        cdef Py_ssize_t at
        cdef Slot slot
        for at in range(begin, end):
            slot = <Slot> PyList_GetItem(self.slots, at)
            value = slot.get_from(struct)
            if not slot.is_present:
                if not slot.is_ignorable and slot.differs(value):
                    raise UnsupportedField(self.name, slot.name, str(self.version))
            elif slot.tag < 0:
                self.write_field(writing, slot, value)
        return 0

    cdef int write_tags(self, Writing writing, struct) except -1:
        cdef Slot slot
        cdef Writing field
        cdef list parts
        cdef list differing = None
        for item in self.tagged:
            if (<Slot> item).differs((<Slot> item).get_from(struct)):
                if differing is None:
                    differing = []
                differing.append(item)
        if differing is None:
            writing.add_varint(0)
            return 0
        writing.add_varint(len(differing))
        for item in differing:
            slot = <Slot> item
            field = Writing()
            self.write_field(field, slot, slot.get_from(struct))
            parts = field.finish()
            writing.add_varint(slot.tag)
            writing.add_varint(sum([len(part) for part in parts]))
            for part in parts:
                writing.add_content(part, len(part))
        return 0

    cdef int write_field(self, Writing writing, Slot slot, value) except -1:
        cdef Py_ssize_t at
        if value is None and (slot.kind >= STRING or slot.is_array):
            if not slot.is_nullable:
                reason = f"{slot.name} is null, which version {self.version} does not allow"
                raise UnencodableValue(self.name, reason)
            writing.add_null(slot)
        elif slot.is_array:
            writing.add_length(len(value), slot.is_compact, INT32)
            if type(value) is not list:
                value = list(value)
            for at in range(len(<list> value)):
                self.write_value(writing, slot, <object> PyList_GetItem(value, at))
        else:
            if slot.kind == STRUCT and slot.is_nullable:
                writing.add_int(1, INT8)
            self.write_value(writing, slot, value)
        return 0

    cdef int write_value(self, Writing writing, Slot slot, value) except -1:
        cdef int kind = slot.kind
        cdef Py_ssize_t length
        cdef const char* content
        if kind == STRUCT:
            slot.child.write_struct(writing, value)
        elif kind == BOOL:
            writing.add_int(1 if value else 0, INT8)
        elif kind < FLOAT64:
            writing.add_int(self.int_of(slot, value), kind)
        elif kind == STRING:
            if not isinstance(value, str):
                raise unencodable(self.name, slot.name, kind, value)
            try:
                content = PyUnicode_AsUTF8AndSize(value, &length)
            except UnicodeEncodeError as error:
                raise UnencodableValue(self.name, f"{slot.name}: {error}") from None
            if length > MAX_STRING_BYTES:
                raise too_long(self.name, slot.name, length)
            writing.add_length(length, slot.is_compact, INT16)
            writing.add_raw(content, length)
        elif kind == FLOAT64:
            writing.add_int(self.bits_of(slot, value), INT64)
        elif kind == UUID:
            length = self.size_of(slot, value)
            if length != UUID_BYTES:
                raise UnencodableValue(self.name, f"{slot.name} has {length} bytes, a UUID has 16")
            writing.add_content(value, length)
        else:
            length = self.size_of(slot, value)
            writing.add_length(length, slot.is_compact, INT32)
            writing.add_content(value, length)
        return 0

    cdef Py_ssize_t size_of(self, Slot slot, value) except -1:
        if type(value) is bytes:
            return len(<bytes> value)
        if not is_binary(value):
            raise unencodable(self.name, slot.name, slot.kind, value)
        return len(value)

    cdef int64_t int_of(self, Slot slot, value) except? -1:
        cdef int64_t number
        try:
            number = value if type(value) is int else PyNumber_Index(value)
        except (OverflowError, TypeError):
            raise unencodable(self.name, slot.name, slot.kind, value) from None
        if (
            slot.kind == INT32 and number != <int32_t> number
            or slot.kind == INT16 and not -0x8000 <= number <= 0x7FFF
            or slot.kind == INT8 and not -0x80 <= number <= 0x7F
            or slot.kind == UINT16 and not 0 <= number <= 0xFFFF
            or slot.kind == UINT32 and not 0 <= number <= 0xFFFFFFFF
        ):
            raise unencodable(self.name, slot.name, slot.kind, value)
        return number

    cdef int64_t bits_of(self, Slot slot, value) except? -1:
        cdef double number
        cdef int64_t bits
        try:
            number = value
        except (OverflowError, TypeError):
            raise unencodable(self.name, slot.name, slot.kind, value) from None
        memcpy(&bits, &number, 8)
        return bits


cdef int least_bytes(int kind) noexcept:
    """The least number of bytes of a value."""
    if kind == INT32 or kind == UINT32:
        return 4
    if kind == INT64 or kind == FLOAT64:
        return 8
    if kind == INT16 or kind == UINT16:
        return 2
    return UUID_BYTES if kind == UUID else 1


cdef class Writing:
    """See ``_pure_layout._Writing``."""

    cdef uint8_t* start
    cdef int64_t size
    cdef int64_t capacity
    cdef list parts

    def __cinit__(self):
        self.start = NULL
        self.size = self.capacity = 0
        self.parts = []

    def __dealloc__(self):
        PyMem_Free(self.start)

    cdef uint8_t* reserve(self, int64_t more) except NULL:
        """The place for ``more`` bytes after the last one."""
        return room_after(&self.start, &self.capacity, self.size, more, 256)

    cdef list finish(self):
        self.cut()
        return self.parts

    cdef int cut(self) except -1:
        if self.size:
            self.parts.append(PyBytes_FromStringAndSize(<const char*> self.start, self.size))
            self.size = 0
        return 0

    cdef int add_raw(self, const char* content, int64_t length) except -1:
        memcpy(self.reserve(length), content, length)
        self.size += length
        return 0

    cdef int add_content(self, content, int64_t length) except -1:
        cdef Py_buffer view
        if length > SHORT_BYTES:
            self.cut()
            self.parts.append(content)
            return 0
        PyObject_GetBuffer(content, &view, PyBUF_SIMPLE)
        try:
            self.add_raw(<const char*> view.buf, view.len)
        finally:
            PyBuffer_Release(&view)
        return 0

    cdef int add_int(self, int64_t value, int kind) except -1:
        cdef uint8_t* out = self.reserve(8)
        cdef int size = least_bytes(kind)
        self.size += size
        if size == 4:
            store_32(out, value)
        elif size == 8:
            store_64(out, value)
        elif size == 2:
            store_16(out, value)
        else:
            out[0] = <uint8_t> value
        return 0

    cdef int add_varint(self, uint64_t value) except -1:
        self.size = write_uvarint(self.reserve(10), value) - self.start
        return 0

    cdef int add_length(self, int64_t length, bint is_compact, int kind) except -1:
        return self.add_varint(length + 1) if is_compact else self.add_int(length, kind)

    cdef int add_null(self, Slot slot) except -1:
        if slot.kind == STRUCT and not slot.is_array:
            return self.add_int(0 if slot.tag >= 0 else -1, INT8)  # in a tagged field a varint, otherwise an int8
        return self.add_length(-1, slot.is_compact, INT16 if slot.kind == STRING and not slot.is_array else INT32)
