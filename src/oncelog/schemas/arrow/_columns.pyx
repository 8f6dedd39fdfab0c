# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, freethreading_compatible=True
"""Decodes Avro into columns, without an object for each value.

Called by :mod:`oncelog.schemas.arrow.decoder`, which reads row by row in Python where this module is missing. A step of
the layout becomes an object with one method, a column plain memory that grows.

Safety: every byte read lies before an end that is checked first, capacities are checked before a write, and what is left
out nests as deeply as ``MAX_DEPTH`` allows. Tests compare both ways on random, cut and changed bytes.
"""

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.ref cimport PyObject
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from oncelog.schemas.arrow.layout import MAX_COLUMN_BYTES, MAX_DEPTH, ReadOp
from oncelog.schemas.schema_errors import SchemaError

cdef extern from "Python.h":
    object PyUnicode_DecodeUTF8(const char* text, Py_ssize_t size, const char* errors)

cdef enum:
    BOOL = 0
    INT32 = 1
    INT64 = 2
    FLOAT32 = 3
    FLOAT64 = 4
    BYTES = 5
    DECIMAL = 6
    LIST = 7
    MAP = 8
    STRUCT = 9

cdef enum:
    FIRST_CELLS = 64
    HEAD = 5
    DECIMAL_WIDTH = 16

cdef int64_t MAX_BYTES = MAX_COLUMN_BYTES
cdef int DEEPEST = MAX_DEPTH
cdef list WIDTHS = [1, 4, 8, 4, 8, 0, DECIMAL_WIDTH, 0, 0, 0]


cdef struct Source:
    const uint8_t* p
    const uint8_t* end
    int depth


# --- reading


cdef int ended() except -1:
    raise SchemaError("they end too early")


cdef inline int read_whole(Source* s, int bits, int64_t* out) except -1:
    cdef uint64_t value = 0
    cdef uint64_t byte
    cdef int shift = 0
    while shift < 70:
        if s.p >= s.end:
            ended()
        byte = s.p[0]
        s.p += 1
        if shift == 63 and byte > 1:
            break
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if bits < 64 and value >> bits:
                break
            out[0] = <int64_t> ((value >> 1) ^ (0 - (value & 1)))
            return 0
        shift += 7
    raise SchemaError(f"a number has more than {bits} bits")


cdef inline int need(Source* s, int64_t count) except -1:
    if count < 0:
        raise SchemaError(f"a length is {count}")
    if count > s.end - s.p:
        ended()
    return 0


cdef inline int read_count(Source* s, int64_t* count, int64_t* size) except -1:
    """The items of the next block, and its bytes if they are told, else -1."""
    read_whole(s, 64, count)
    size[0] = -1
    if count[0] < 0:
        if count[0] == INT64_MIN:
            raise SchemaError("an array has a negative number of items")
        count[0] = -count[0]
        read_whole(s, 64, size)
        if size[0] < 0:
            raise SchemaError(f"a length is {size[0]}")
    return 0


cdef inline int check_items(Source* s, int64_t count) except -1:
    if count > s.end - s.p:
        raise SchemaError(f"{count} items cannot be in {s.end - s.p} bytes")
    return 0


cdef inline int check_text(const uint8_t* text, int64_t size) except -1:
    cdef int64_t i = 0
    cdef uint64_t eight
    while i + 8 <= size:
        memcpy(&eight, text + i, 8)
        if eight & 0x8080808080808080ULL:
            break
        i += 8
    while i < size and text[i] < 0x80:
        i += 1
    if i < size:
        try:
            PyUnicode_DecodeUTF8(<const char*> text, size, NULL)
        except UnicodeDecodeError:
            raise SchemaError("a text is not UTF-8") from None
    return 0


# --- columns


cdef class Cells:
    """The cells of one column and of those inside it."""

    cdef int kind
    cdef int width
    cdef list children
    cdef uint8_t* valid
    cdef int32_t* offsets
    cdef uint8_t* data
    cdef Py_ssize_t length, capacity, size, room

    def __cinit__(self, column, list children):
        self.kind = column.kind
        self.width = WIDTHS[self.kind]
        self.children = children
        self.grow()
        if self.offsets != NULL:
            self.offsets[0] = 0

    def __dealloc__(self):
        PyMem_Free(self.valid)
        PyMem_Free(self.offsets)
        PyMem_Free(self.data)

    cdef int grow(self) except -1:
        cdef Py_ssize_t more = max(<Py_ssize_t> FIRST_CELLS, self.capacity * 2)
        cdef void* moved = PyMem_Realloc(self.valid, more)
        if moved == NULL:
            raise MemoryError
        self.valid = <uint8_t*> moved
        if self.kind == BYTES or self.kind == LIST or self.kind == MAP:
            moved = PyMem_Realloc(self.offsets, (more + 1) * sizeof(int32_t))
            if moved == NULL:
                raise MemoryError
            self.offsets = <int32_t*> moved
        if self.width:
            moved = PyMem_Realloc(self.data, more * self.width)
            if moved == NULL:
                raise MemoryError
            self.data = <uint8_t*> moved
        self.capacity = more
        return 0

    cdef inline int open(self, uint8_t valid) except -1:
        """Room for one more cell."""
        if self.length == self.capacity:
            self.grow()
        self.valid[self.length] = valid
        return 0

    cdef int null(self) except -1:
        cdef Cells child
        self.open(0)
        if self.width:
            memset(self.data + self.length * self.width, 0, self.width)
        elif self.kind == STRUCT:
            for child in self.children:
                child.null()
        else:
            self.offsets[self.length + 1] = self.offsets[self.length]
        self.length += 1
        return 0

    cdef inline int put(self, const void* value) except -1:
        """A value of the column's width, which is constant where this is inlined."""
        self.open(1)
        memcpy(self.data + self.length * self.width, value, self.width)
        self.length += 1
        return 0

    cdef inline int put_int32(self, int32_t value) except -1:
        self.open(1)
        (<int32_t*> self.data)[self.length] = value
        self.length += 1
        return 0

    cdef inline int put_int64(self, int64_t value) except -1:
        self.open(1)
        (<int64_t*> self.data)[self.length] = value
        self.length += 1
        return 0

    cdef inline int put_float(self, double value) except -1:
        self.open(1)
        if self.kind == FLOAT32:
            (<float*> self.data)[self.length] = <float> value
        else:
            (<double*> self.data)[self.length] = value
        self.length += 1
        return 0

    cdef int put_bytes(self, const uint8_t* value, int64_t count) except -1:
        cdef Py_ssize_t more
        cdef void* moved
        if self.size + count > MAX_BYTES:
            raise SchemaError("a column has no room for it: read fewer records at a time")
        self.open(1)
        if self.size + count > self.room:
            more = max(self.size + count, self.room * 2, <Py_ssize_t> 256)
            moved = PyMem_Realloc(self.data, more)
            if moved == NULL:
                raise MemoryError
            self.data = <uint8_t*> moved
            self.room = more
        memcpy(self.data + self.size, value, count)
        self.size += count
        self.offsets[self.length + 1] = <int32_t> self.size
        self.length += 1
        return 0

    cdef int put_items(self) except -1:
        cdef Py_ssize_t items = (<Cells> self.children[0]).length
        if items > MAX_BYTES:
            raise SchemaError("a column has no room for it: read fewer records at a time")
        self.open(1)
        self.offsets[self.length + 1] = <int32_t> items
        self.length += 1
        return 0

    cdef inline int put_valid(self) except -1:
        self.open(1)
        self.length += 1
        return 0

    cdef int cut(self, Py_ssize_t length) except -1:
        """Forget all cells but the first ones."""
        cdef Cells child
        self.length = length
        if self.kind == BYTES:
            self.size = self.offsets[length]
        elif self.kind == STRUCT:
            for child in self.children:
                child.cut(length)
        elif self.kind == LIST or self.kind == MAP:
            for child in self.children:
                child.cut(self.offsets[length])
        return 0

    cdef tuple buffers(self):
        cdef Py_ssize_t size = self.length * self.width if self.width else self.size
        valid = PyBytes_FromStringAndSize(<const char*> self.valid, self.length)
        offsets = None
        if self.offsets != NULL:
            offsets = PyBytes_FromStringAndSize(<const char*> self.offsets, (self.length + 1) * sizeof(int32_t))
        return valid, offsets, PyBytes_FromStringAndSize(<const char*> self.data, size) if self.data != NULL else b""


# --- steps


cdef class Op:
    """What is done with the next bytes."""

    cdef Cells cells

    cdef int run(self, Source* s) except -1:
        return 0


cdef class Null(Op):
    cdef int run(self, Source* s) except -1:
        return self.cells.null()


cdef class Valid(Op):
    cdef int run(self, Source* s) except -1:
        return self.cells.put_valid()


cdef class Boolean(Op):
    cdef int run(self, Source* s) except -1:
        need(s, 1)
        if s.p[0] > 1:
            raise SchemaError(f"a boolean is the byte {s.p[0]}")
        self.cells.open(1)
        self.cells.data[self.cells.length] = s.p[0]
        self.cells.length += 1
        s.p += 1
        return 0


cdef class Int(Op):
    cdef int run(self, Source* s) except -1:
        cdef int64_t value
        read_whole(s, 32, &value)
        return self.cells.put_int32(<int32_t> value)


cdef class Long(Op):
    cdef int64_t factor, divisor
    cdef int bits

    cdef int run(self, Source* s) except -1:
        cdef int64_t value
        read_whole(s, self.bits, &value)
        if self.factor != 1:
            if value > INT64_MAX // self.factor or value < -(INT64_MAX // self.factor):
                return self.exactly(value)
            value *= self.factor
        if self.divisor != 1:
            return self.exactly(value)
        return self.cells.put_int64(value)

    cdef int exactly(self, int64_t value) except -1:
        scaled = int(value) * int(self.factor) // int(self.divisor)
        if not -(2**63) <= scaled < 2**63:
            raise SchemaError("a moment is out of range")
        return self.cells.put_int64(scaled)


cdef class WholeToFloat(Op):
    cdef int bits

    cdef int run(self, Source* s) except -1:
        cdef int64_t value
        read_whole(s, self.bits, &value)
        return self.cells.put_float(<double> value)


cdef class Float(Op):
    cdef int run(self, Source* s) except -1:
        cdef float value
        need(s, 4)
        memcpy(&value, s.p, 4)
        s.p += 4
        if self.cells.kind == FLOAT32:
            self.cells.put(&value)
            return 0
        return self.cells.put_float(value)


cdef class Double(Op):
    cdef int run(self, Source* s) except -1:
        cdef double value
        need(s, 8)
        memcpy(&value, s.p, 8)
        s.p += 8
        return self.cells.put_float(value)


cdef class Bytes(Op):
    cdef bint text

    cdef int run(self, Source* s) except -1:
        cdef int64_t count
        read_whole(s, 64, &count)
        need(s, count)
        if self.text:
            check_text(s.p, count)
        self.cells.put_bytes(s.p, count)
        s.p += count
        return 0


cdef class Fixed(Op):
    cdef int64_t count

    cdef int run(self, Source* s) except -1:
        need(s, self.count)
        self.cells.put_bytes(s.p, self.count)
        s.p += self.count
        return 0


cdef class Rest(Op):
    cdef bint text

    cdef int run(self, Source* s) except -1:
        if self.text:
            check_text(s.p, s.end - s.p)
        self.cells.put_bytes(s.p, s.end - s.p)
        s.p = s.end
        return 0


cdef class Enum(Op):
    cdef tuple symbols

    cdef int run(self, Source* s) except -1:
        cdef int64_t index
        read_whole(s, 32, &index)
        if index < 0 or index >= len(self.symbols):
            raise SchemaError(f"an enum has no symbol {index}")
        symbol = self.symbols[index]
        if symbol is None:
            raise SchemaError(f"symbol {index} of an enum is none of the reader's, which has no default")
        return self.cells.put_bytes(<const uint8_t*> PyBytes_AsString(symbol), len(symbol))


cdef class Decimal(Op):
    cdef int64_t count
    cdef int precision
    cdef object limit

    cdef int run(self, Source* s) except -1:
        cdef int64_t count = self.count
        cdef uint64_t low
        cdef int64_t value
        cdef int64_t halves[2]
        cdef int i
        if count < 0:
            read_whole(s, 64, &count)
        need(s, count)
        if 0 < count <= 8 and self.precision >= 19:
            low = 0
            for i in range(count):
                low = (low << 8) | s.p[i]
            value = <int64_t> (low << (64 - 8 * count)) >> (64 - 8 * count)
            halves[0] = value
            halves[1] = -1 if value < 0 else 0
            s.p += count
            return self.cells.put(halves)
        whole = int.from_bytes(PyBytes_FromStringAndSize(<const char*> s.p, count), "big", signed=True)
        s.p += count
        if not -self.limit < whole < self.limit:
            raise SchemaError(f"a decimal number has more than {self.precision} digits")
        made = whole.to_bytes(DECIMAL_WIDTH, "little", signed=True)
        return self.cells.put(PyBytes_AsString(made))


cdef class Fail(Op):
    cdef str text

    cdef int run(self, Source* s) except -1:
        raise SchemaError(self.text)


cdef class Several(Op):
    """Steps that have others; these are kept alive by ``kept``."""

    cdef list kept
    cdef PyObject** inner
    cdef Py_ssize_t count

    def __dealloc__(self):
        PyMem_Free(self.inner)

    cdef int hold(self, list ops) except -1:
        self.kept = ops
        self.count = len(ops)
        self.inner = <PyObject**> PyMem_Malloc(max(self.count, 1) * sizeof(PyObject*))
        if self.inner == NULL:
            raise MemoryError
        for i in range(self.count):
            self.inner[i] = <PyObject*> ops[i]
        return 0


cdef class Record(Several):
    cdef int run(self, Source* s) except -1:
        cdef Py_ssize_t i
        for i in range(self.count):
            (<Op> self.inner[i]).run(s)
        return self.cells.put_valid()


cdef class Union(Several):
    cdef int run(self, Source* s) except -1:
        cdef int64_t branch
        read_whole(s, 64, &branch)
        if branch < 0 or branch >= self.count:
            raise SchemaError(f"a union has no branch {branch}")
        return (<Op> self.inner[branch]).run(s)


cdef class Items(Several):
    cdef int run(self, Source* s) except -1:
        cdef int64_t count, size, i
        while True:
            read_count(s, &count, &size)
            if count == 0:
                return self.cells.put_items()
            check_items(s, count)
            for i in range(count):
                (<Op> self.inner[0]).run(s)


cdef class Entries(Several):
    cdef Cells keys

    cdef int run(self, Source* s) except -1:
        cdef int64_t count, size, i, length
        while True:
            read_count(s, &count, &size)
            if count == 0:
                return self.cells.put_items()
            check_items(s, count)
            for i in range(count):
                read_whole(s, 64, &length)
                need(s, length)
                check_text(s.p, length)
                self.keys.put_bytes(s.p, length)
                s.p += length
                (<Op> self.inner[0]).run(s)


cdef class Member(Several):
    cdef Py_ssize_t chosen

    cdef int run(self, Source* s) except -1:
        cdef Py_ssize_t i
        for i in range(len(self.cells.children)):
            if i == self.chosen:
                (<Op> self.inner[0]).run(s)
            else:
                (<Cells> self.cells.children[i]).null()
        return self.cells.put_valid()


cdef class Default(Several):
    cdef bytes written

    cdef int run(self, Source* s) except -1:
        cdef Source other
        other.p = <const uint8_t*> PyBytes_AsString(self.written)
        other.end = other.p + len(self.written)
        other.depth = 0
        return (<Op> self.inner[0]).run(&other)


cdef class SkipFixed(Op):
    cdef int64_t count

    cdef int run(self, Source* s) except -1:
        need(s, self.count)
        s.p += self.count
        return 0


cdef class SkipWhole(Op):
    cdef int run(self, Source* s) except -1:
        cdef int64_t value
        return read_whole(s, 64, &value)


cdef class SkipBytes(Op):
    cdef int run(self, Source* s) except -1:
        cdef int64_t count
        read_whole(s, 64, &count)
        need(s, count)
        s.p += count
        return 0


cdef class SkipRecord(Several):
    cdef int run(self, Source* s) except -1:
        cdef Py_ssize_t i
        s.depth += 1
        if s.depth > DEEPEST:
            raise SchemaError(f"it is nested more than {DEEPEST} levels deep")
        for i in range(self.count):
            (<Op> self.inner[i]).run(s)
        s.depth -= 1
        return 0


cdef class SkipItems(Several):
    cdef bint keyed

    cdef int run(self, Source* s) except -1:
        cdef int64_t count, size, i, length
        while True:
            read_count(s, &count, &size)
            if count == 0:
                return 0
            if size >= 0:
                need(s, size)
                s.p += size
                continue
            check_items(s, count)
            for i in range(count):
                if self.keyed:
                    read_whole(s, 64, &length)
                    need(s, length)
                    s.p += length
                (<Op> self.inner[0]).run(s)


# --- steps made of the layout's


cdef Op made(step, dict cells_of, dict known):
    """The step as an object; a type that contains itself finds its own step in ``known``."""
    found = known.get(id(step))
    if found is not None:
        return found
    cdef Op op = new_op(step, cells_of)
    known[id(step)] = op
    if step.column is not None:
        op.cells = cells_of[id(step.column)]
    if isinstance(op, Several):
        (<Several> op).hold([made(one, cells_of, known) for one in step.steps])
    return op


cdef Op new_op(step, dict cells_of):
    cdef Long long_op
    cdef WholeToFloat float_op
    cdef Bytes bytes_op
    cdef Rest rest_op
    cdef Decimal decimal_op
    operation, extra = step.operation, step.extra
    plain = PLAIN.get(operation)
    if plain is not None:
        return plain.__new__(plain)
    if operation == ReadOp.LONG:
        long_op = Long.__new__(Long)
        long_op.factor, long_op.divisor, long_op.bits = extra
        return long_op
    if operation == ReadOp.WHOLE_TO_FLOAT:
        float_op = WholeToFloat.__new__(WholeToFloat)
        float_op.bits = extra
        return float_op
    if operation == ReadOp.BYTES:
        bytes_op = Bytes.__new__(Bytes)
        bytes_op.text = extra
        return bytes_op
    if operation == ReadOp.REST:
        rest_op = Rest.__new__(Rest)
        rest_op.text = extra
        return rest_op
    if operation == ReadOp.DECIMAL:
        decimal_op = Decimal.__new__(Decimal)
        decimal_op.count, decimal_op.precision = extra
        decimal_op.limit = 10 ** extra[1]
        return decimal_op
    return other_op(step, cells_of)


cdef Op other_op(step, dict cells_of):
    cdef Fixed fixed
    cdef SkipFixed skip
    cdef Enum enum_op
    cdef Fail fail
    cdef Entries entries
    cdef Member member
    cdef Default default
    cdef SkipItems items
    operation, extra = step.operation, step.extra
    if operation == ReadOp.FIXED:
        fixed = Fixed.__new__(Fixed)
        fixed.count = extra
        return fixed
    if operation == ReadOp.SKIP_FIXED:
        skip = SkipFixed.__new__(SkipFixed)
        skip.count = extra
        return skip
    if operation == ReadOp.ENUM:
        enum_op = Enum.__new__(Enum)
        enum_op.symbols = extra
        return enum_op
    if operation == ReadOp.FAIL:
        fail = Fail.__new__(Fail)
        fail.text = extra
        return fail
    if operation == ReadOp.MAP:
        entries = Entries.__new__(Entries)
        entries.keys = cells_of[id(step.column.children[0])]
        return entries
    if operation == ReadOp.MEMBER:
        member = Member.__new__(Member)
        member.chosen = extra
        return member
    if operation == ReadOp.DEFAULT:
        default = Default.__new__(Default)
        default.written = extra
        return default
    items = SkipItems.__new__(SkipItems)
    items.keyed = operation == ReadOp.SKIP_MAP
    return items


cdef dict PLAIN = {
    ReadOp.NULL: Null,
    ReadOp.BOOL: Boolean,
    ReadOp.INT: Int,
    ReadOp.FLOAT: Float,
    ReadOp.DOUBLE: Double,
    ReadOp.RECORD: Record,
    ReadOp.LIST: Items,
    ReadOp.UNION: Union,
    ReadOp.SKIP_WHOLE: SkipWhole,
    ReadOp.SKIP_BYTES: SkipBytes,
    ReadOp.SKIP_RECORD: SkipRecord,
    ReadOp.SKIP_UNION: Union,
}


cdef Cells cells_for(column, dict found):
    children = [cells_for(child, found) for child in column.children]
    found[id(column)] = cells = Cells.__new__(Cells, column, children)
    return cells


cdef class ColumnDecoder:
    """The values of one reader's schema, as they come; ``column`` is its layout's."""

    cdef Cells cells_
    cdef dict of
    cdef object column

    def __init__(self, column):
        self.column = column  # the ids are those of its parts
        self.of = {}
        self.cells_ = cells_for(column, self.of)

    def compiled(self, step):
        """What read_rows takes for values of one writer's schema."""
        return made(step, self.of, {})

    cdef int one(self, const uint8_t* begin, const uint8_t* end, Op op) except -1:
        cdef Py_ssize_t length = self.cells_.length
        cdef Source source
        source.p, source.end, source.depth = begin, end, 0
        try:
            op.run(&source)
            if source.p != source.end:
                raise SchemaError(f"{source.end - source.p} bytes are left over")
        except SchemaError:
            self.cells_.cut(length)
            raise
        return 0

    def read_rows(self, list rows, dict reads):
        """Add values, each read as ``reads`` says for its first five bytes; returns why some are null, by number."""
        cdef dict problems = {}
        cdef Py_ssize_t number, size
        cdef const uint8_t* begin
        cdef uint8_t last[HEAD]
        cdef Op op = None
        for number in range(len(rows)):
            row = rows[number]
            if row is None:
                self.cells_.null()
                continue
            begin = <const uint8_t*> PyBytes_AsString(row)
            size = len(row)
            if op is None or size < HEAD or memcmp(begin, last, HEAD) != 0:
                op = reads[row[:HEAD]]
                if size < HEAD:
                    raise ValueError(f"a row has {size} bytes, and its schema's id alone needs {HEAD}")
                memcpy(last, begin, HEAD)
            try:
                self.one(begin + HEAD, begin + size, op)
            except SchemaError as error:
                problems[number] = str(error)
                self.cells_.null()
        return problems

    def cells(self):
        """By the id of each column: whether each cell has a value, a byte for each; offsets; values."""
        return {key: (<Cells> cells).buffers() for key, cells in self.of.items()}
