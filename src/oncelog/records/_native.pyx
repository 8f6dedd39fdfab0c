# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, freethreading_compatible=True
"""The record codec compiled: the twin of ``_pure.py`` and ``_pure_scan.py``, and the two ways between record areas and
Arrow's buffers; with the most frequent requests: the twin of ``protocol.produce_scan`` and ``protocol.fetch_fast``.

Called through :mod:`oncelog.records.native` (the twin's functions and classes) and by :mod:`oncelog.records.arrow`
(``ColumnsDecoder``, ``RowEncoder``, ``murmur2_rows``). Works on objects with a buffer only and links to nothing but
Python.

One file, although a long one: the parts share inlined functions, which C does not inline from one module to another.

Safety: every byte read lies between a buffer's start and an end pointer that is checked first; a value that decides
about memory is read once. Capacities are checked before a write. The results of both twins are compared on random,
changed and hostile bytes in tests.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AsString, PyByteArray_FromStringAndSize
from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from cpython.mem cimport PyMem_Free
from libc.stdint cimport INT32_MAX, INT64_MAX, INT64_MIN, int16_t, int32_t, int64_t, int8_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from oncelog.records.big_endian cimport (
    load_16, load_32, load_64, room_after, store_16, store_32, store_64, write_uvarint,
)

from oncelog.records import _pure, _pure_scan
from oncelog.records.crc import compiled_crc32c
from oncelog.records.record_errors import CorruptBatch
from oncelog.records.record import Record

cdef extern from "Python.h":
    ctypedef struct PyTypeObject
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    object PyMemoryView_FromMemory(char* start, Py_ssize_t size, int flags)
    object PyMemoryView_FromObject(object buffer)
    PyObject* PyTuple_GetItem(object holder, Py_ssize_t index) except NULL
    PyObject* PyType_GenericAlloc(PyTypeObject* kind, Py_ssize_t items) except NULL
    int PyTuple_SetItem(PyObject* target, Py_ssize_t index, PyObject* item) except -1
    void PyObject_GC_UnTrack(void* item)
    const int PyBUF_READ

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define oncelog_prefetch(place) __builtin_prefetch(place)
    #else
    #define oncelog_prefetch(place) ((void) (place))
    #endif
    """
    void oncelog_prefetch(const void* place) noexcept nogil

cdef enum:
    ROWS_AHEAD = 16  # that many rows' bytes are on their way from memory
    LINE_BYTES = 64
    MAX_AHEAD_BYTES = 256  # the processor goes on by itself in what is longer

cdef enum:
    HEADER_SIZE = 61
    LOG_OVERHEAD = 12
    CRC_AT = 17
    CRC_COVERS_FROM = 21

cdef enum:
    PAST_END = 1
    VARINT_TOO_LONG = 2
    TRUNCATED = 3
    NEGATIVE_HEADERS = 4
    TOO_MANY_HEADERS = 5
    NEGATIVE_HEADER_KEY = 6
    LENGTH_MISMATCH = 7
    BAD_OFFSET = 8
    NO_ROOM = 9

cdef list REASONS = [
    "",
    _pure.PAST_END,
    _pure.VARINT_TOO_LONG,
    _pure.TRUNCATED,
    _pure.NEGATIVE_HEADERS,
    _pure.TOO_MANY_HEADERS,
    _pure.NEGATIVE_HEADER_KEY,
    _pure.LENGTH_MISMATCH,
    _pure.BAD_OFFSET,
    "the output has no room for it",
]
cdef int NO_KEY = _pure.NO_KEY
cdef Py_ssize_t MAX_RECORD_ERRORS = _pure.MAX_RECORD_ERRORS
cdef int64_t MANY_RECORDS = 20_000  # some 0.2 ms
cdef int BAD_TIMESTAMP = _pure.BAD_TIMESTAMP
cdef object new_tuple = tuple.__new__


cdef object malformed(int64_t index, int reason):
    return CorruptBatch(f"record {index} of the batch is malformed: {REASONS[reason]}")


cdef object remaining(int64_t count):
    return CorruptBatch(f"{count} bytes remain after the last record")


# --- reading records


cdef struct Parsed:
    int64_t timestamp_delta
    int32_t offset_delta
    const uint8_t* key
    int32_t key_length
    const uint8_t* value
    int32_t value_length
    int32_t header_count
    const uint8_t* headers
    const uint8_t* end


cdef struct ParsedHeader:
    const uint8_t* key
    int32_t key_length
    const uint8_t* value
    int32_t value_length


cdef inline int read_varint(const uint8_t** cursor, const uint8_t* end, int32_t* out) noexcept nogil:
    cdef const uint8_t* p = cursor[0]
    cdef uint32_t value = 0
    cdef uint32_t byte
    cdef int shift = 0
    while shift < 35:
        if p >= end:
            return TRUNCATED
        byte = p[0]
        p += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            out[0] = <int32_t> ((value >> 1) ^ (0 - (value & 1)))
            cursor[0] = p
            return 0
        shift += 7
    return VARINT_TOO_LONG


cdef inline int read_varlong(const uint8_t** cursor, const uint8_t* end, int64_t* out) noexcept nogil:
    cdef const uint8_t* p = cursor[0]
    cdef uint64_t value = 0
    cdef uint64_t byte
    cdef int shift = 0
    while shift < 70:
        if p >= end:
            return TRUNCATED
        byte = p[0]
        p += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            out[0] = <int64_t> ((value >> 1) ^ (0 - (value & 1)))
            cursor[0] = p
            return 0
        shift += 7
    return VARINT_TOO_LONG


cdef inline int read_field(
    const uint8_t** cursor, const uint8_t* end, const uint8_t** start, int32_t* length
) noexcept nogil:
    """A nullable byte field; any negative length is null. Leaves the cursor after it."""
    cdef int reason = read_varint(cursor, end, length)
    if reason:
        return reason
    if length[0] > end - cursor[0]:
        return TRUNCATED
    start[0] = cursor[0]
    if length[0] < 0:
        length[0] = -1
    else:
        cursor[0] += length[0]
    return 0


cdef inline int read_header(const uint8_t** cursor, const uint8_t* end, ParsedHeader* header) noexcept nogil:
    cdef int reason = read_varint(cursor, end, &header.key_length)
    if reason:
        return reason
    if header.key_length < 0:
        return NEGATIVE_HEADER_KEY
    if header.key_length > end - cursor[0]:
        return TRUNCATED
    header.key = cursor[0]
    cursor[0] += header.key_length
    return read_field(cursor, end, &header.value, &header.value_length)


cdef inline int read_start(const uint8_t** cursor, const uint8_t* end, Parsed* record) noexcept nogil:
    """A record up to its key, which ``cursor`` is left at; ``record.end`` is where it must end."""
    cdef int32_t length
    cdef int reason = read_varint(cursor, end, &length)
    if reason:
        return reason
    if length < 0 or length > end - cursor[0]:
        return PAST_END
    if length == 0:
        return TRUNCATED
    record.end = cursor[0] + length
    cursor[0] += 1
    reason = read_varlong(cursor, record.end, &record.timestamp_delta)
    if reason:
        return reason
    return read_varint(cursor, record.end, &record.offset_delta)


cdef inline int read_record(const uint8_t** cursor, const uint8_t* end, Parsed* record) noexcept nogil:
    """Everything of a record up to its headers, which ``cursor`` is left at; ``record.end`` is where they must end."""
    cdef int reason = read_start(cursor, end, record)
    if reason:
        return reason
    end = record.end
    reason = read_field(cursor, end, &record.key, &record.key_length)
    if reason:
        return reason
    reason = read_field(cursor, end, &record.value, &record.value_length)
    if reason:
        return reason
    reason = read_varint(cursor, end, &record.header_count)
    if reason:
        return reason
    if record.header_count < 0:
        return NEGATIVE_HEADERS
    if record.header_count > end - cursor[0]:
        return TOO_MANY_HEADERS
    record.headers = cursor[0]
    return 0


cdef inline int skip_headers(const uint8_t** cursor, Parsed* record) noexcept nogil:
    cdef ParsedHeader header
    cdef int32_t i
    cdef int reason
    for i in range(record.header_count):
        reason = read_header(cursor, record.end, &header)
        if reason:
            return reason
    if cursor[0] != record.end:
        return LENGTH_MISMATCH
    return 0


cdef inline int64_t add(int64_t a, int64_t b) noexcept nogil:
    """Java's ``long`` addition: it wraps."""
    return <int64_t> (<uint64_t> a + <uint64_t> b)


cdef inline int64_t subtract(int64_t a, int64_t b) noexcept nogil:
    """Java's ``long`` subtraction: it wraps."""
    return <int64_t> (<uint64_t> a - <uint64_t> b)


ctypedef struct Walked:
    int64_t index
    int64_t timestamp
    int64_t largest
    int sequential


cdef int walk_on(
    const uint8_t** cursor,
    const uint8_t* end,
    int64_t count,
    int64_t base_timestamp,
    bint require_keys,
    int64_t low,
    int64_t high,
    Walked* walked,
) noexcept nogil:
    """Go on to the next record that is refused, which ``walked.index`` is behind then, or to the end.

    Answers why it is refused (``-NO_KEY``, ``-BAD_TIMESTAMP``), why it is malformed (above 0), or 0 at the end.
    """
    cdef Parsed record
    cdef int reason
    while walked.index < count:
        reason = read_record(cursor, end, &record)
        if not reason:
            reason = skip_headers(cursor, &record)
        if reason:
            return reason
        walked.timestamp = add(base_timestamp, record.timestamp_delta)
        if record.offset_delta != walked.index:
            walked.sequential = 0
        if walked.timestamp > walked.largest:
            walked.largest = walked.timestamp
        walked.index += 1
        if require_keys and record.key_length < 0:
            return -NO_KEY
        if walked.timestamp != -1 and (walked.timestamp < low or walked.timestamp > high):
            return -BAD_TIMESTAMP
    return 0


def walk(area, int64_t count, int64_t base_timestamp, bint require_keys, int64_t low, int64_t high):
    """See ``_pure.walk``."""
    cdef Py_buffer view
    cdef const uint8_t* cursor
    cdef const uint8_t* end
    cdef Walked walked
    cdef int reason = 0
    cdef list refused = []
    walked.index = 0
    walked.timestamp = 0
    walked.largest = -1
    walked.sequential = 1
    PyObject_GetBuffer(area, &view, PyBUF_SIMPLE)
    try:
        cursor = <const uint8_t*> view.buf
        end = cursor + view.len
        while len(refused) < MAX_RECORD_ERRORS:
            if count - walked.index >= MANY_RECORDS and not refused:
                with nogil:  # else nobody is served while so many are looked at, whichever thread does it
                    reason = walk_on(&cursor, end, count, base_timestamp, require_keys, low, high, &walked)
            else:
                reason = walk_on(&cursor, end, count, base_timestamp, require_keys, low, high, &walked)
            if reason > 0:
                raise malformed(walked.index, reason)
            if reason == 0:
                if cursor != end:
                    raise remaining(end - cursor)
                break
            refused.append((walked.index - 1, -reason, walked.timestamp))
    finally:
        PyBuffer_Release(&view)
    return walked.largest, bool(walked.sequential), refused


cdef int seek_on(
    const uint8_t** cursor,
    const uint8_t* end,
    int64_t count,
    int64_t base_timestamp,
    int64_t timestamp,
    int64_t first_delta,
    Walked* walked,
) noexcept nogil:
    """Go on to the record that is sought, whose delta is in ``walked.largest`` then, or to the end.

    Answers -1 if it is found, why a record is malformed (above 0), or 0 at the end.
    """
    cdef Parsed record
    cdef int reason
    while walked.index < count:
        reason = read_start(cursor, end, &record)
        if reason:
            return reason
        cursor[0] = record.end
        walked.timestamp = add(base_timestamp, record.timestamp_delta)
        walked.largest = record.offset_delta
        if walked.timestamp >= timestamp and record.offset_delta >= first_delta:
            return -1
        walked.index += 1
    return 0


def seek(area, int64_t count, int64_t base_timestamp, int64_t timestamp, int64_t first_delta):
    """See ``_pure.seek``."""
    cdef Py_buffer view
    cdef const uint8_t* cursor
    cdef const uint8_t* end
    cdef Walked walked
    cdef int reason
    walked.index = 0
    PyObject_GetBuffer(area, &view, PyBUF_SIMPLE)
    try:
        cursor = <const uint8_t*> view.buf
        end = cursor + view.len
        reason = seek_on(&cursor, end, count, base_timestamp, timestamp, first_delta, &walked)
    finally:
        PyBuffer_Release(&view)
    if reason > 0:
        raise malformed(walked.index, reason)
    return (walked.largest, walked.timestamp) if reason else None


cdef object as_bytes(const uint8_t* start, int32_t length):
    if length < 0:
        return None
    return PyBytes_FromStringAndSize(<const char*> start, length)


cdef tuple build_headers(const uint8_t** cursor, Parsed* record, int* reason):
    cdef ParsedHeader header
    cdef int32_t i
    cdef list headers = []
    for i in range(record.header_count):
        reason[0] = read_header(cursor, record.end, &header)
        if reason[0]:
            return ()
        key = PyBytes_FromStringAndSize(<const char*> header.key, header.key_length).decode("utf-8", "replace")
        headers.append((key, as_bytes(header.value, header.value_length)))
    return tuple(headers)


def decode(
    area,
    int64_t count,
    int64_t base_offset,
    last_offset_delta,
    int64_t base_timestamp,
    int64_t base_sequence,
    append_time,
):
    """See ``_pure.decode``."""
    cdef Py_buffer view
    cdef const uint8_t* cursor
    cdef const uint8_t* end
    cdef Parsed record
    cdef int64_t index = 0
    cdef int64_t previous = -1
    cdef bint checked = last_offset_delta is not None
    cdef int64_t highest = last_offset_delta if checked else 0
    cdef bint dated = append_time is not None
    cdef int64_t date = append_time if dated else 0
    cdef int64_t sequence
    cdef int reason
    cdef list records = []
    cdef tuple headers
    PyObject_GetBuffer(area, &view, PyBUF_SIMPLE)
    try:
        cursor = <const uint8_t*> view.buf
        end = cursor + view.len
        while index < count:
            reason = read_record(&cursor, end, &record)
            headers = ()
            if not reason and record.header_count:
                headers = build_headers(&cursor, &record, &reason)
            if not reason:
                if cursor != record.end:
                    reason = LENGTH_MISMATCH
                elif checked and not previous < record.offset_delta <= highest:
                    reason = BAD_OFFSET
            if reason:
                raise malformed(index, reason)
            previous = record.offset_delta
            sequence = (base_sequence + record.offset_delta) & 0x7FFFFFFF if base_sequence >= 0 else -1
            fields = (
                add(base_offset, record.offset_delta),
                date if dated else add(base_timestamp, record.timestamp_delta),
                as_bytes(record.key, record.key_length),
                as_bytes(record.value, record.value_length),
                headers,
                sequence,
            )
            records.append(new_tuple(Record, fields))
            index += 1
        if cursor != end:
            raise remaining(end - cursor)
    finally:
        PyBuffer_Release(&view)
    return records


# --- what a consumer hands out


cdef inline int put(PyObject* target, Py_ssize_t index, object item) except -1:
    Py_INCREF(item)
    return PyTuple_SetItem(target, index, <PyObject*> item)


cdef class Reading:
    """Goes through the records of one batch that a consumer hands out; shared by the two functions below."""

    cdef Py_buffer view
    cdef bint held
    cdef const uint8_t* cursor
    cdef const uint8_t* end
    cdef Parsed record
    cdef int64_t index, count, previous, highest, base_offset, base_timestamp, date, first_offset
    cdef bint dated
    cdef int64_t offset, timestamp
    cdef tuple headers

    def __cinit__(self):
        self.held = False

    def __init__(
        self, area, int64_t count, int64_t base_offset, int64_t highest, int64_t base_timestamp, append_time, first_offset
    ):
        PyObject_GetBuffer(area, &self.view, PyBUF_SIMPLE)
        self.held = True
        self.cursor = <const uint8_t*> self.view.buf
        self.end = self.cursor + self.view.len
        self.index = 0
        self.count = count
        self.previous = -1
        self.highest = highest
        self.base_offset = base_offset
        self.base_timestamp = base_timestamp
        self.dated = append_time is not None
        self.date = append_time if self.dated else 0
        self.first_offset = first_offset

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.view)

    cdef bint step(self) except -1:
        """Read the next record from ``first_offset`` on; False at the end."""
        cdef int reason
        while self.index < self.count:
            reason = read_record(&self.cursor, self.end, &self.record)
            self.headers = ()
            if not reason and self.record.header_count:
                self.headers = build_headers(&self.cursor, &self.record, &reason)
            if not reason:
                if self.cursor != self.record.end:
                    reason = LENGTH_MISMATCH
                elif not self.previous < self.record.offset_delta <= self.highest:
                    reason = BAD_OFFSET
            if reason:
                raise malformed(self.index, reason)
            self.previous = self.record.offset_delta
            self.index += 1
            self.offset = add(self.base_offset, self.record.offset_delta)
            if self.offset >= self.first_offset:
                self.timestamp = self.date if self.dated else add(self.base_timestamp, self.record.timestamp_delta)
                return True
        if self.cursor != self.end:
            raise remaining(self.end - self.cursor)
        return False


def consumer_records(
    area,
    int64_t count,
    int64_t base_offset,
    int64_t last_offset_delta,
    int64_t base_timestamp,
    append_time,
    int64_t first_offset,
    record_class,
    topic,
    partition,
    timestamp_type,
):
    """See ``_pure.consumer_records``."""
    cdef Reading reading = Reading(
        area, count, base_offset, last_offset_delta, base_timestamp, append_time, first_offset
    )
    cdef list records = []
    cdef PyObject* made
    cdef object timestamp = None
    cdef int64_t last_timestamp = 0
    if not issubclass(record_class, tuple) or record_class.__basicsize__ != tuple.__basicsize__:
        raise TypeError("records are made of a named tuple without a dictionary")
    while reading.step():
        if timestamp is None or reading.timestamp != last_timestamp:
            timestamp = last_timestamp = reading.timestamp
        made = PyType_GenericAlloc(<PyTypeObject*> <PyObject*> record_class, 11)
        PyObject_GC_UnTrack(made)  # it holds nothing that could lead back to it
        try:
            put(made, 0, topic)
            put(made, 1, partition)
            put(made, 2, reading.offset)
            put(made, 3, timestamp)
            put(made, 4, timestamp_type)
            put(made, 5, as_bytes(reading.record.key, reading.record.key_length))
            put(made, 6, as_bytes(reading.record.value, reading.record.value_length))
            put(made, 7, None)
            put(made, 8, reading.record.key_length)
            put(made, 9, reading.record.value_length)
            put(made, 10, reading.headers)
            records.append(<object> made)
        finally:
            Py_DECREF(<object> made)
    return records


def columns(
    area,
    int64_t count,
    int64_t base_offset,
    int64_t last_offset_delta,
    int64_t base_timestamp,
    append_time,
    int64_t first_offset,
):
    """See ``_pure.columns``."""
    cdef Reading reading = Reading(
        area, count, base_offset, last_offset_delta, base_timestamp, append_time, first_offset
    )
    cdef list offsets = []
    cdef list timestamps = []
    cdef list keys = []
    cdef list values = []
    cdef list headers = []
    cdef object timestamp = None
    cdef int64_t last_timestamp = 0
    while reading.step():
        if timestamp is None or reading.timestamp != last_timestamp:
            timestamp = last_timestamp = reading.timestamp
        offsets.append(reading.offset)
        timestamps.append(timestamp)
        keys.append(as_bytes(reading.record.key, reading.record.key_length))
        values.append(as_bytes(reading.record.value, reading.record.value_length))
        headers.append(reading.headers)
    return offsets, timestamps, keys, values, headers


# --- writing records


cdef inline int varint_size(int64_t value) noexcept nogil:
    cdef uint64_t rest = ((<uint64_t> value) << 1) ^ (<uint64_t> (value >> 63))
    cdef int size = 1
    while rest > 0x7F:
        rest >>= 7
        size += 1
    return size


cdef inline uint8_t* write_varint(uint8_t* out, int64_t value) noexcept nogil:
    cdef uint64_t rest = ((<uint64_t> value) << 1) ^ (<uint64_t> (value >> 63))
    while rest > 0x7F:
        out[0] = <uint8_t> (rest & 0x7F | 0x80)
        out += 1
        rest >>= 7
    out[0] = <uint8_t> rest
    return out + 1


cdef inline int64_t field_size(int64_t length) noexcept nogil:
    """Bytes of a field of ``length`` bytes (-1 for null) with its length before it."""
    return varint_size(length) + (length if length > 0 else 0)


cdef inline uint8_t* write_field(uint8_t* out, const uint8_t* data, int64_t length) noexcept nogil:
    out = write_varint(out, length)
    if length > 0:
        memcpy(out, data, length)
        out += length
    return out


cdef class Output:
    """Bytes that grow at the end."""

    cdef uint8_t* start
    cdef int64_t size
    cdef int64_t capacity

    def __cinit__(self):
        self.start = NULL
        self.size = 0
        self.capacity = 0

    def __dealloc__(self):
        PyMem_Free(self.start)

    cdef uint8_t* reserve(self, int64_t more) except NULL:
        """The place for ``more`` bytes after the last one."""
        return room_after(&self.start, &self.capacity, self.size, more, 1024)

    cdef bytes to_bytes(self):
        return PyBytes_FromStringAndSize(<const char*> self.start, self.size)


cdef list exact_headers(headers):
    """Headers as pairs of exact types, so that none can change between measuring and writing."""
    cdef list exact = []
    for name, content in headers:
        if content is not None and type(content) is not bytes:
            content = bytes(memoryview(content))
        exact.append((name.encode(), content))
    return exact


cdef int64_t length_of(field) except -1:
    """In bytes: the elements of a view may be larger."""
    if field is None:
        return 0
    return len(<bytes> field) if type(field) is bytes else memoryview(field).nbytes


cdef int64_t max_bytes(key, value, headers) except -1:
    """Upper bound of a record's size."""
    cdef int64_t size = 21 + length_of(key) + length_of(value)
    for name, content in headers:
        size += 10 + 3 * len(name) + length_of(content)
    return size


cdef class RecordArea:
    """See ``_pure.RecordArea``."""

    cdef Output out
    cdef bint fixed_base
    cdef readonly int64_t base_timestamp
    cdef readonly int64_t max_timestamp
    cdef readonly int64_t count

    def __init__(self, base_timestamp=None):
        self.out = Output()
        self.fixed_base = base_timestamp is not None
        self.base_timestamp = base_timestamp if self.fixed_base else -1
        self.max_timestamp = -1
        self.count = 0

    @property
    def size_bytes(self):
        return self.out.size

    def append(self, int64_t timestamp, key, value, headers=()):
        """See ``_pure.RecordArea.append``."""
        return self.add(self.count, timestamp, key, value, headers)

    def append_within(self, int64_t limit, int64_t timestamp, bytes key, bytes value, headers=()):
        """See ``_pure.RecordArea.append_within``."""
        cdef int64_t most = 21
        if key is not None:
            most += len(key)
        if value is not None:
            most += len(value)
        if headers or self.out.size + most > limit:
            return -1
        return self.add(self.count, timestamp, key, value, ())

    def append_rows(self, int64_t limit, timestamps, list keys, list values not None, list headers, int64_t start):
        """See ``_pure.RecordArea.append_rows``."""
        cdef int64_t row = start
        cdef int64_t before
        cdef int64_t row_timestamp = 0
        cdef list each = timestamps if isinstance(timestamps, list) else None
        cdef object key = None
        cdef object more = ()
        if each is None:
            row_timestamp = timestamps
        while row < len(values):
            if each is not None:
                row_timestamp = each[row]
            if keys is not None:
                key = keys[row]
            if headers is not None:
                more = headers[row] or ()
            value = values[row]
            if self.count and self.out.size + max_bytes(key, value, more) > limit:
                break
            self.add(self.count, row_timestamp, key, value, more)
            row += 1
        return row

    def append_at(self, int64_t offset_delta, int64_t timestamp, key, value, headers=()):
        """See ``_pure.RecordArea.append_at``."""
        return self.add(offset_delta, timestamp, key, value, headers)

    def to_bytes(self):
        """See ``_pure.RecordArea.to_bytes``."""
        return self.out.to_bytes()

    cdef int64_t add(self, int64_t offset_delta, int64_t timestamp, key, value, headers) except -1:
        cdef int64_t base = self.base_timestamp if self.count or self.fixed_base else timestamp
        cdef int64_t timestamp_delta = subtract(timestamp, base)
        cdef int64_t key_length = -1
        cdef int64_t value_length = -1
        cdef const uint8_t* key_start = NULL
        cdef const uint8_t* value_start = NULL
        cdef int64_t body
        cdef uint8_t* place
        cdef uint8_t* p
        cdef list exact = None
        if offset_delta < 0 or offset_delta > 0x7FFFFFFF:
            raise OverflowError(f"offset delta {offset_delta} is negative or not a 32-bit integer")
        if key is not None:
            if type(key) is not bytes:
                key = bytes(memoryview(key))
            key_length = len(<bytes> key)
            key_start = <const uint8_t*> PyBytes_AsString(key)
        if value is not None:
            if type(value) is not bytes:
                value = bytes(memoryview(value))
            value_length = len(<bytes> value)
            value_start = <const uint8_t*> PyBytes_AsString(value)
        body = 1 + varint_size(timestamp_delta) + varint_size(offset_delta)
        body += field_size(key_length) + field_size(value_length)
        if headers:
            exact = exact_headers(headers)
            body += varint_size(len(exact))
            for name, content in exact:
                body += field_size(len(<bytes> name)) + field_size(-1 if content is None else len(<bytes> content))
        else:
            body += 1
        place = self.out.reserve(varint_size(body) + body)
        p = write_varint(place, body)
        p[0] = 0
        p = write_varint(p + 1, timestamp_delta)
        p = write_varint(p, offset_delta)
        p = write_field(p, key_start, key_length)
        p = write_field(p, value_start, value_length)
        if exact is None:
            p[0] = 0
            p += 1
        else:
            p = write_varint(p, len(exact))
            for name, content in exact:
                p = write_field(p, <const uint8_t*> PyBytes_AsString(name), len(<bytes> name))
                if content is None:
                    p = write_varint(p, -1)
                else:
                    p = write_field(p, <const uint8_t*> PyBytes_AsString(content), len(<bytes> content))
        self.out.size += p - place
        self.base_timestamp = base
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
        self.count += 1
        return self.out.size


def encode_pairs(
    pairs,
    int64_t timestamp_ms,
    int16_t attributes,
    int64_t producer_id,
    int16_t producer_epoch,
    int64_t base_offset,
    int32_t leader_epoch,
):
    """See ``_pure.encode_pairs``."""
    cdef tuple records = tuple(pairs)
    cdef int64_t count = len(records)
    cdef int64_t size_bytes = HEADER_SIZE
    cdef int64_t delta, body
    cdef bytes key, value
    cdef uint8_t* batch_start
    cdef uint8_t* p
    for delta in range(count):
        key, value = records[delta]
        body = pair_size(delta, key, value)
        size_bytes += varint_size(body) + body
    if size_bytes > INT32_MAX:
        raise ValueError(_pure.too_large(size_bytes))
    batch = PyByteArray_FromStringAndSize(NULL, size_bytes)
    batch_start = <uint8_t*> PyByteArray_AsString(batch)
    p = store_64(batch_start, base_offset)
    p = store_32(p, size_bytes - LOG_OVERHEAD)
    p = store_32(p, leader_epoch)
    p[0] = 2
    p = store_16(batch_start + CRC_COVERS_FROM, attributes)
    p = store_32(p, count - 1)
    p = store_64(p, timestamp_ms)
    p = store_64(p, timestamp_ms)
    p = store_64(p, producer_id)
    p = store_16(p, producer_epoch)
    p = store_32(p, -1)  # no sequence
    p = store_32(p, count)
    for delta in range(count):
        key, value = records[delta]
        p = write_varint(p, pair_size(delta, key, value))
        p[0] = 0
        p[1] = 0  # after the first timestamp
        p = write_varint(p + 2, delta)
        p = write_bytes(p, key)
        p = write_bytes(p, value)
        p[0] = 0
        p += 1
    covered = PyMemoryView_FromMemory(
        <char*> batch_start + CRC_COVERS_FROM, size_bytes - CRC_COVERS_FROM, PyBUF_READ
    )
    store_32(batch_start + CRC_AT, <uint32_t> compiled_crc32c(covered))
    return batch


def assign_offsets(run, int64_t base_offset, int32_t leader_epoch):
    """See ``_pure.assign_offsets``."""
    cdef Py_buffer view
    cdef uint8_t* batch
    cdef int64_t timestamp
    cdef int64_t offset = base_offset
    cdef int64_t size_bytes = 0
    cdef int64_t latest = -1
    cdef list next_offsets = []
    for part in run:
        PyObject_GetBuffer(part, &view, PyBUF_WRITABLE)
        try:
            if view.len < HEADER_SIZE:
                raise ValueError(_pure.too_short(view.len))
            batch = <uint8_t*> view.buf
            store_64(batch, offset)
            store_32(batch + 12, leader_epoch)
            offset += <int64_t> <int32_t> load_32(batch + 23) + 1
            timestamp = load_64(batch + 35)
            if timestamp > latest:
                latest = timestamp
            size_bytes += view.len
        finally:
            PyBuffer_Release(&view)
        next_offsets.append(offset)
    return next_offsets, size_bytes, latest


cdef inline int64_t pair_size(int64_t delta, bytes key, bytes value) noexcept:
    """Bytes of a record after its length."""
    cdef int64_t key_length = -1 if key is None else len(key)
    cdef int64_t value_length = -1 if value is None else len(value)
    return 3 + varint_size(delta) + field_size(key_length) + field_size(value_length)


cdef inline uint8_t* write_bytes(uint8_t* out, bytes field) noexcept:
    if field is None:
        return write_varint(out, -1)
    return write_field(out, <const uint8_t*> PyBytes_AsString(field), len(field))


# --- murmur2


cdef uint32_t hash_bytes(const uint8_t* data, int64_t length) noexcept nogil:
    cdef uint32_t m = 0x5BD1E995
    cdef uint32_t h = 0x9747B28CU ^ <uint32_t> length
    cdef uint32_t k
    cdef int64_t left = length
    while left >= 4:
        k = data[0] | <uint32_t> data[1] << 8 | <uint32_t> data[2] << 16 | <uint32_t> data[3] << 24
        k *= m
        k ^= k >> 24
        k *= m
        h *= m
        h ^= k
        data += 4
        left -= 4
    if left >= 3:
        h ^= <uint32_t> data[2] << 16
    if left >= 2:
        h ^= <uint32_t> data[1] << 8
    if left >= 1:
        h ^= data[0]
        h *= m
    h ^= h >> 13
    h *= m
    h ^= h >> 15
    return h


def murmur2(data):
    """See ``_pure.murmur2``."""
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        return hash_bytes(<const uint8_t*> view.buf, view.len)
    finally:
        PyBuffer_Release(&view)


# --- Arrow columns


cdef class Column:
    """A binary or string array of Arrow to read from: offsets (32 or 64 bits), data, optional validity bitmap.

    ``first`` and ``rows`` select a slice, as an Arrow array with an offset does.
    """

    cdef Py_buffer offsets
    cdef Py_buffer data
    cdef Py_buffer validity
    cdef bint has_offsets, has_data, has_validity, wide
    cdef int64_t first
    cdef readonly int64_t rows

    def __cinit__(self):
        self.has_offsets = self.has_data = self.has_validity = False

    def __init__(self, offsets, data, validity, bint wide, int64_t first, int64_t rows):
        if self.has_offsets:
            raise ValueError("a column is set once")
        if first < 0 or rows < 0 or first > INT64_MAX // 16 - rows:
            raise ValueError("a column's slice is out of range")
        self.wide = wide
        self.first = first
        self.rows = rows
        PyObject_GetBuffer(offsets, &self.offsets, PyBUF_SIMPLE)
        self.has_offsets = True
        if rows and self.offsets.len < (first + rows + 1) * (8 if wide else 4):
            raise ValueError("a column's offsets are shorter than its rows")
        if data is not None:
            PyObject_GetBuffer(data, &self.data, PyBUF_SIMPLE)
            self.has_data = True
        if validity is not None:
            PyObject_GetBuffer(validity, &self.validity, PyBUF_SIMPLE)
            self.has_validity = True
            if self.validity.len < (first + rows + 7) // 8:
                raise ValueError("a column's validity is shorter than its rows")

    def __dealloc__(self):
        if self.has_offsets:
            PyBuffer_Release(&self.offsets)
        if self.has_data:
            PyBuffer_Release(&self.data)
        if self.has_validity:
            PyBuffer_Release(&self.validity)

    cdef inline void offsets_at(self, int64_t at, int64_t* begin, int64_t* end) noexcept:
        """Where the row at this place of the offsets begins and ends, as they say."""
        if self.wide:
            begin[0] = (<const int64_t*> self.offsets.buf)[at]
            end[0] = (<const int64_t*> self.offsets.buf)[at + 1]
        else:
            begin[0] = (<const int32_t*> self.offsets.buf)[at]
            end[0] = (<const int32_t*> self.offsets.buf)[at + 1]

    cdef int span(self, int64_t row, int64_t* start, int64_t* length) except -1:
        """Start and length of a row (length -1 for null). For a list column, of its items."""
        cdef int64_t at = self.first + row
        cdef int64_t begin, end
        if row < 0 or row >= self.rows:
            raise ValueError(f"row {row} is not among the column's {self.rows}")
        if self.has_validity and not (<const uint8_t*> self.validity.buf)[at >> 3] >> (at & 7) & 1:
            start[0] = 0
            length[0] = -1
            return 0
        self.offsets_at(at, &begin, &end)
        if begin < 0 or end < begin:
            raise ValueError(f"the offsets of row {row} are out of order")
        start[0] = begin
        length[0] = end - begin
        return 0

    cdef int get(self, int64_t row, const uint8_t** start, int64_t* length) except -1:
        """The bytes of a row; length -1 for null."""
        cdef int64_t begin
        self.span(row, &begin, length)
        if length[0] > 0x7FFFFFFF:
            raise ValueError(f"row {row} has {length[0]} bytes, more than a record may hold")
        if length[0] > 0:
            if not self.has_data or begin + length[0] > self.data.len:
                raise ValueError(f"row {row} lies outside its column's data")
            start[0] = <const uint8_t*> self.data.buf + begin
        return 0

    cdef void begin_to_load(self, int64_t row) noexcept:
        """Have the bytes of a row brought from memory, where it is a row; changes nothing."""
        cdef int64_t at = self.first + row
        cdef int64_t begin, end
        if row < 0 or row >= self.rows or not self.has_data:
            return
        self.offsets_at(at, &begin, &end)
        if begin < 0 or end <= begin or end > self.data.len:
            return
        end = min(end, begin + MAX_AHEAD_BYTES)
        while begin < end:
            oncelog_prefetch(<const uint8_t*> self.data.buf + begin)
            begin += LINE_BYTES


def murmur2_rows(Column column, out):
    """Write the hash of every row, without its sign bit, as int32 into ``out``; null counts as empty."""
    cdef Py_buffer view
    cdef const uint8_t* start = NULL
    cdef int64_t length
    cdef int64_t row
    PyObject_GetBuffer(out, &view, PyBUF_WRITABLE)
    try:
        if view.len < column.rows * 4:
            raise ValueError("the output is shorter than the column")
        for row in range(column.rows):
            column.get(row, &start, &length)
            (<int32_t*> view.buf)[row] = hash_bytes(start, max(length, 0)) & 0x7FFFFFFF
    finally:
        PyBuffer_Release(&view)


cdef class RowEncoder:
    """Record areas out of the rows of Arrow columns.

    ``key`` may be None. ``timestamps`` are int64 ms, one for each row. ``headers`` is None or a column of lists and
    the columns of their items' keys and values. ``order`` lists the rows (int64) in the order they are to be written
    in.
    """

    cdef Column key, value, header_lists, header_keys, header_values
    cdef Py_buffer timestamps, order
    cdef bint has_timestamps, has_order
    cdef Output out

    def __cinit__(self):
        self.has_timestamps = self.has_order = False

    def __init__(self, Column key, Column value not None, timestamps, order, headers=None):
        if self.has_timestamps:
            raise ValueError("an encoder is set once")
        self.key = key
        self.value = value
        if headers is not None:
            self.header_lists, self.header_keys, self.header_values = headers
            if self.header_lists is None or self.header_keys is None or self.header_values is None:
                raise ValueError("headers need three columns")
        PyObject_GetBuffer(timestamps, &self.timestamps, PyBUF_SIMPLE)
        self.has_timestamps = True
        PyObject_GetBuffer(order, &self.order, PyBUF_SIMPLE)
        self.has_order = True
        if self.timestamps.len < value.rows * 8:
            raise ValueError("there are fewer timestamps than rows")
        self.out = Output()

    def __dealloc__(self):
        if self.has_timestamps:
            PyBuffer_Release(&self.timestamps)
        if self.has_order:
            PyBuffer_Release(&self.order)

    def encode(self, int64_t start, int64_t stop, int64_t limit_bytes):
        """Rows ``order[start:stop]``, as many as fit into ``limit_bytes`` but at least one.

        :return: (area, index after the last row taken, first timestamp, largest timestamp)
        """
        cdef int64_t at = start
        cdef int64_t base = 0
        cdef int64_t largest = -1
        cdef int64_t timestamp
        cdef int64_t row
        cdef const int64_t* order = <const int64_t*> self.order.buf
        if start < 0 or stop <= start or stop > self.order.len // 8:
            raise ValueError("the rows to encode are out of range")
        self.out.size = 0
        while at < stop:
            if at + ROWS_AHEAD < stop:  # rows of one destination lie scattered among the others'
                self.value.begin_to_load(order[at + ROWS_AHEAD])
                if self.key is not None:
                    self.key.begin_to_load(order[at + ROWS_AHEAD])
            row = order[at]
            if row < 0 or row >= self.value.rows:
                raise ValueError(f"row {row} is not among the {self.value.rows}")
            timestamp = (<const int64_t*> self.timestamps.buf)[row]
            if at == start:
                base = timestamp
            if not self.add(row, at - start, subtract(timestamp, base), limit_bytes, at == start):
                break
            if timestamp > largest:
                largest = timestamp
            at += 1
        return self.out.to_bytes(), at, base, largest

    cdef int add(
        self, int64_t row, int64_t offset_delta, int64_t timestamp_delta, int64_t limit_bytes, bint first
    ) except -1:
        """Write one record; 0 where it no longer fits."""
        cdef const uint8_t* key = NULL
        cdef const uint8_t* value = NULL
        cdef int64_t key_length = -1
        cdef int64_t value_length = -1
        cdef int64_t item = 0
        cdef int64_t items = 0
        cdef int64_t body
        cdef int64_t total
        cdef uint8_t* place
        cdef uint8_t* p
        if self.key is not None:
            self.key.get(row, &key, &key_length)
        self.value.get(row, &value, &value_length)
        if self.header_lists is not None:
            self.header_lists.span(row, &item, &items)
            items = max(items, 0)
        body = 1 + varint_size(timestamp_delta) + varint_size(offset_delta)
        body += field_size(key_length) + field_size(value_length) + varint_size(items)
        if items:
            body += self.headers_size(item, items)
        total = varint_size(body) + body
        if body > 0x7FFFFFFF:
            raise ValueError(f"row {row} needs {body} bytes, more than a record may hold")
        if not first and self.out.size + total > limit_bytes:
            return 0
        place = self.out.reserve(total)
        p = write_varint(place, body)
        p[0] = 0
        p = write_varint(p + 1, timestamp_delta)
        p = write_varint(p, offset_delta)
        p = write_field(p, key, key_length)
        p = write_field(p, value, value_length)
        p = write_varint(p, items)
        if items:
            p = self.write_headers(p, item, items)
        self.out.size += p - place
        return 1

    cdef int64_t headers_size(self, int64_t item, int64_t items) except -1:
        cdef const uint8_t* data = NULL
        cdef int64_t length
        cdef int64_t size = 0
        cdef int64_t i
        for i in range(item, item + items):
            self.header_keys.get(i, &data, &length)
            if length < 0:
                raise ValueError("a header needs a key")
            size += field_size(length)
            self.header_values.get(i, &data, &length)
            size += field_size(length)
        return size

    cdef uint8_t* write_headers(self, uint8_t* p, int64_t item, int64_t items) except NULL:
        cdef const uint8_t* data = NULL
        cdef int64_t length
        cdef int64_t i
        for i in range(item, item + items):
            self.header_keys.get(i, &data, &length)
            p = write_field(p, data, length)
            self.header_values.get(i, &data, &length)
            p = write_field(p, data, length)
        return p


cdef class BytesOutput:
    """Offsets, data and validity of a binary column that is being filled, in buffers of the caller."""

    cdef Py_buffer offsets, data, validity
    cdef int acquired
    cdef bint wide
    cdef int64_t rows, capacity
    cdef readonly int64_t size

    def __cinit__(self):
        self.acquired = 0

    def __init__(self, offsets, data, validity, bint wide):
        if self.acquired:
            raise ValueError("an output is set once")
        PyObject_GetBuffer(offsets, &self.offsets, PyBUF_WRITABLE)
        self.acquired = 1
        PyObject_GetBuffer(data, &self.data, PyBUF_WRITABLE)
        self.acquired = 2
        PyObject_GetBuffer(validity, &self.validity, PyBUF_WRITABLE)
        self.acquired = 3
        self.wide = wide
        self.rows = 0
        self.size = 0
        self.capacity = min(self.offsets.len // (8 if wide else 4) - 1, self.validity.len * 8)
        if self.capacity < 0:
            raise ValueError("a column's offsets need room for at least one")
        self.close_row()

    def __dealloc__(self):
        if self.acquired > 0:
            PyBuffer_Release(&self.offsets)
        if self.acquired > 1:
            PyBuffer_Release(&self.data)
        if self.acquired > 2:
            PyBuffer_Release(&self.validity)

    cdef inline void close_row(self) noexcept nogil:
        if self.wide:
            (<int64_t*> self.offsets.buf)[self.rows] = self.size
        else:
            (<int32_t*> self.offsets.buf)[self.rows] = <int32_t> self.size

    cdef inline int put(self, const uint8_t* start, int32_t length) noexcept nogil:
        """Add a row; ``NO_ROOM`` where a buffer is full."""
        if self.rows >= self.capacity:
            return NO_ROOM
        if length >= 0:
            if length > self.data.len - self.size:
                return NO_ROOM
            memcpy(<uint8_t*> self.data.buf + self.size, start, length)
            self.size += length
            (<uint8_t*> self.validity.buf)[self.rows >> 3] |= <uint8_t> (1 << (self.rows & 7))
        self.rows += 1
        self.close_row()
        return 0


cdef class HeadersOutput:
    """The lists, keys and values of a headers column that is being filled; a record without headers is null."""

    cdef BytesOutput keys, values
    cdef Py_buffer offsets, validity
    cdef int acquired
    cdef int64_t rows, capacity

    def __cinit__(self):
        self.acquired = 0

    def __init__(self, offsets, validity, BytesOutput keys not None, BytesOutput values not None):
        if self.acquired:
            raise ValueError("an output is set once")
        PyObject_GetBuffer(offsets, &self.offsets, PyBUF_WRITABLE)
        self.acquired = 1
        PyObject_GetBuffer(validity, &self.validity, PyBUF_WRITABLE)
        self.acquired = 2
        self.keys = keys
        self.values = values
        self.rows = 0
        self.capacity = min(self.offsets.len // 4 - 1, self.validity.len * 8)
        if self.capacity < 0:
            raise ValueError("a column's offsets need room for at least one")
        (<int32_t*> self.offsets.buf)[0] = 0

    def __dealloc__(self):
        if self.acquired > 0:
            PyBuffer_Release(&self.offsets)
        if self.acquired > 1:
            PyBuffer_Release(&self.validity)

    @property
    def count(self):
        return self.keys.rows

    cdef int put(self, const uint8_t** cursor, Parsed* record) noexcept nogil:
        cdef ParsedHeader header
        cdef int32_t i
        cdef int reason
        if self.rows >= self.capacity:
            return NO_ROOM
        for i in range(record.header_count):
            reason = read_header(cursor, record.end, &header)
            if not reason:
                reason = self.keys.put(header.key, header.key_length)
            if not reason:
                reason = self.values.put(header.value, header.value_length)
            if reason:
                return reason
        if record.header_count:
            (<uint8_t*> self.validity.buf)[self.rows >> 3] |= <uint8_t> (1 << (self.rows & 7))
        self.rows += 1
        (<int32_t*> self.offsets.buf)[self.rows] = <int32_t> self.keys.rows
        return 0


cdef class ColumnsDecoder:
    """Fills Arrow buffers with the records of one record area after the other.

    ``offsets`` and ``timestamps`` are int64 buffers; timestamps become us, at the bounds of int64 where they would not
    fit. Records outside [``start_offset``, ``end_offset``) are checked but left out.
    """

    cdef BytesOutput keys, values
    cdef HeadersOutput headers
    cdef Py_buffer offsets, timestamps
    cdef int acquired
    cdef readonly int64_t rows
    cdef int64_t capacity, start_offset, end_offset

    def __cinit__(self):
        self.acquired = 0

    def __init__(
        self,
        BytesOutput keys not None,
        BytesOutput values not None,
        offsets,
        timestamps,
        HeadersOutput headers,
        int64_t start_offset,
        int64_t end_offset,
    ):
        if self.acquired:
            raise ValueError("a decoder is set once")
        PyObject_GetBuffer(offsets, &self.offsets, PyBUF_WRITABLE)
        self.acquired = 1
        PyObject_GetBuffer(timestamps, &self.timestamps, PyBUF_WRITABLE)
        self.acquired = 2
        self.keys = keys
        self.values = values
        self.headers = headers
        self.rows = 0
        self.capacity = min(self.offsets.len // 8, self.timestamps.len // 8)
        self.start_offset = start_offset
        self.end_offset = end_offset

    def __dealloc__(self):
        if self.acquired > 0:
            PyBuffer_Release(&self.offsets)
        if self.acquired > 1:
            PyBuffer_Release(&self.timestamps)

    def add(
        self,
        area,
        int64_t count,
        int64_t base_offset,
        int64_t last_offset_delta,
        int64_t base_timestamp,
        append_time,
    ):
        """Take in the records of an unpacked area, or raise ``CorruptBatch``; other threads may run meanwhile."""
        cdef Py_buffer view
        cdef bint dated = append_time is not None
        cdef int64_t date = append_time if dated else 0
        cdef int64_t index = 0
        cdef int64_t left = 0
        cdef int reason
        PyObject_GetBuffer(area, &view, PyBUF_SIMPLE)
        try:
            with nogil:
                reason = self.fill(
                    <const uint8_t*> view.buf,
                    <const uint8_t*> view.buf + view.len,
                    count,
                    base_offset,
                    last_offset_delta,
                    base_timestamp,
                    dated,
                    date,
                    &index,
                    &left,
                )
            if reason:
                raise malformed(index, reason)
            if left:
                raise remaining(left)
        finally:
            PyBuffer_Release(&view)

    cdef int fill(
        self,
        const uint8_t* cursor,
        const uint8_t* end,
        int64_t count,
        int64_t base_offset,
        int64_t last_offset_delta,
        int64_t base_timestamp,
        bint dated,
        int64_t date,
        int64_t* index,
        int64_t* left,
    ) noexcept nogil:
        cdef Parsed record
        cdef int64_t previous = -1
        cdef int64_t offset, timestamp
        cdef int reason
        while index[0] < count:
            reason = read_record(&cursor, end, &record)
            if reason:
                return reason
            if not previous < record.offset_delta <= last_offset_delta:
                return BAD_OFFSET
            previous = record.offset_delta
            offset = add(base_offset, record.offset_delta)
            if offset < self.start_offset or offset >= self.end_offset:
                reason = skip_headers(&cursor, &record)
                if reason:
                    return reason
                index[0] += 1
                continue
            if self.rows >= self.capacity:
                return NO_ROOM
            if self.headers is not None:
                reason = self.headers.put(&cursor, &record)
                if not reason and cursor != record.end:
                    reason = LENGTH_MISMATCH
            else:
                reason = skip_headers(&cursor, &record)
            if not reason:
                reason = self.keys.put(record.key, record.key_length)
            if not reason:
                reason = self.values.put(record.value, record.value_length)
            if reason:
                return reason
            timestamp = date if dated else add(base_timestamp, record.timestamp_delta)
            if timestamp > INT64_MAX // 1000:
                timestamp = INT64_MAX
            elif timestamp < -(INT64_MAX // 1000):
                timestamp = INT64_MIN
            else:
                timestamp *= 1000
            (<int64_t*> self.offsets.buf)[self.rows] = offset
            (<int64_t*> self.timestamps.buf)[self.rows] = timestamp
            self.rows += 1
            index[0] += 1
        left[0] = end - cursor
        return 0


# --- scanning a log


cdef enum:
    TRANSACTIONAL_BIT = 0x10
    CONTROL_BIT = 0x20
    BATCHES_KEPT = 5
    MARKER_SIZE = 78  # an end of a transaction as Kafka writes it; any other shape is read in Python

if BATCHES_KEPT != _pure_scan.BATCHES_KEPT:
    raise ImportError("the twins disagree about the number of batches that are kept")


cdef object header_fields(const uint8_t* p, object kind=tuple):
    """The fields of a header; ``kind``: a tuple, or a named one without a dictionary."""
    cdef PyObject* made = PyType_GenericAlloc(<PyTypeObject*> <PyObject*> kind, 13)
    PyObject_GC_UnTrack(made)  # it holds nothing that could lead back to it
    try:
        put(made, 0, load_64(p))
        put(made, 1, <int32_t> load_32(p + 8))
        put(made, 2, <int32_t> load_32(p + 12))
        put(made, 3, <int8_t> p[16])
        put(made, 4, load_32(p + 17))
        put(made, 5, load_16(p + 21))
        put(made, 6, <int32_t> load_32(p + 23))
        put(made, 7, load_64(p + 27))
        put(made, 8, load_64(p + 35))
        put(made, 9, load_64(p + 43))
        put(made, 10, load_16(p + 51))
        put(made, 11, <int32_t> load_32(p + 53))
        put(made, 12, <int32_t> load_32(p + 57))
        return <object> made
    finally:
        Py_DECREF(<object> made)


cdef struct Run:
    int64_t batches  # so far, 0: none has begun
    int16_t epoch
    int transactional
    const uint8_t* last[BATCHES_KEPT]  # from the second batch on, in a ring


cdef int end_run(Run* run, int16_t epoch, list into) except -1:
    """Tell the last batches of a run, but not its first, which was told when it came; none if a new epoch ends it."""
    cdef int64_t count = run.batches - 1
    cdef int64_t i
    if run.epoch == epoch:
        for i in range(max(count - BATCHES_KEPT, 0), count):
            into.append((header_fields(run.last[i % BATCHES_KEPT]), None))
    run.batches = 0
    return 0


cdef class Runs:
    """The runs of one piece of a log, in the order of their producers' first batches there."""

    cdef dict indexes
    cdef Output runs
    cdef int64_t last_producer_id
    cdef int64_t last_index

    def __cinit__(self):
        self.indexes = {}
        self.runs = Output()
        self.last_producer_id = -1
        self.last_index = 0

    cdef Run* of(self, int64_t producer_id) except NULL:
        """The producer's run, which has no batches where there was none; not kept across another call."""
        cdef Run* added
        if producer_id != self.last_producer_id:
            index = self.indexes.get(producer_id)
            if index is None:
                index = len(self.indexes)
                added = <Run*> self.runs.reserve(sizeof(Run))
                added.batches = 0
                added.epoch = 0
                self.runs.size += sizeof(Run)
                self.indexes[producer_id] = index
            self.last_index = index
            self.last_producer_id = producer_id
        return <Run*> self.runs.start + self.last_index

    cdef int end_all(self, list into) except -1:
        cdef int64_t i
        cdef Run* run
        for i in range(len(self.indexes)):
            run = <Run*> self.runs.start + i
            end_run(run, run.epoch, into)
        return 0


cdef int add_int32(Output column, int64_t value) except -1:
    if value > INT32_MAX:
        raise OverflowError("signed integer is greater than maximum")
    cdef int32_t narrow = <int32_t> value
    memcpy(column.reserve(sizeof(int32_t)), &narrow, sizeof(int32_t))
    column.size += sizeof(int32_t)
    return 0


cdef int add_int64(Output column, int64_t value) except -1:
    memcpy(column.reserve(sizeof(int64_t)), &value, sizeof(int64_t))
    column.size += sizeof(int64_t)
    return 0


cdef class BatchScanner:
    """See ``_pure_scan.BatchScanner``."""

    cdef int64_t base_offset, last_allowed, index_interval_bytes, indexed_timestamp
    cdef int32_t leader_epoch
    cdef object read_marker
    cdef Output offsets, positions, timestamps, time_offsets
    cdef readonly int64_t next_offset, max_timestamp, offset_of_max_timestamp, bytes_since_index_entry
    cdef readonly object refusal

    def __init__(
        self,
        int64_t base_offset,
        int64_t last_allowed,
        int64_t index_interval_bytes,
        int32_t leader_epoch,
        read_marker,
    ):
        self.base_offset = base_offset
        self.last_allowed = last_allowed
        self.index_interval_bytes = index_interval_bytes
        self.leader_epoch = leader_epoch
        self.read_marker = read_marker
        self.indexed_timestamp = -1
        self.offsets, self.positions, self.timestamps, self.time_offsets = Output(), Output(), Output(), Output()
        self.next_offset = base_offset
        self.max_timestamp = -1
        self.offset_of_max_timestamp = base_offset
        self.bytes_since_index_entry = 0
        self.refusal = None

    def index_columns(self):
        """See ``_pure_scan.BatchScanner.index_columns``."""
        return (
            self.offsets.to_bytes(),
            self.positions.to_bytes(),
            self.timestamps.to_bytes(),
            self.time_offsets.to_bytes(),
        )

    def scan(self, piece, int64_t position):
        """See ``_pure_scan.BatchScanner.scan``."""
        cdef Py_buffer view
        cdef const uint8_t* start
        cdef const uint8_t* p
        cdef const uint8_t* end
        cdef int64_t size
        cdef int32_t leader_epoch
        cdef Runs runs = Runs()
        cdef list producers = []
        cdef list leader_epochs = []
        self.refusal = None
        PyObject_GetBuffer(piece, &view, PyBUF_SIMPLE)
        try:
            start = p = <const uint8_t*> view.buf
            end = p + view.len
            while end - p >= HEADER_SIZE:
                size = <int64_t> <int32_t> load_32(p + 8) + LOG_OVERHEAD
                if not self.check(p, size, end - p):
                    break
                if load_64(p + 43) >= 0 and not self.note_producer(runs, p, size, producers):
                    break
                self.take_in(p, position + (p - start), size)
                leader_epoch = <int32_t> load_32(p + 12)
                if leader_epoch > self.leader_epoch:
                    self.leader_epoch = leader_epoch
                    leader_epochs.append((leader_epoch, load_64(p)))
                p += size
            runs.end_all(producers)
            return _pure_scan.Scanned(p - start, producers, leader_epochs)
        finally:
            PyBuffer_Release(&view)

    cdef bint check(self, const uint8_t* p, int64_t size, int64_t there) except -1:
        """Whether the batch at ``p`` is whole and may follow; ``refusal`` is set where no more bytes would help."""
        cdef int64_t offset = load_64(p)
        cdef int64_t delta = <int32_t> load_32(p + 23)
        if p[16] != 2:
            self.refusal = _pure_scan.not_version_2(offset, <int8_t> p[16])
            return False
        if size < HEADER_SIZE:
            self.refusal = _pure_scan.bad_length(offset, size - LOG_OVERHEAD)
            return False
        if size > there:
            return False
        covered = PyMemoryView_FromMemory(<char*> p + CRC_COVERS_FROM, size - CRC_COVERS_FROM, PyBUF_READ)
        if <uint32_t> compiled_crc32c(covered) != load_32(p + 17):
            self.refusal = _pure_scan.CRC_DIFFERS
            return False
        # The first two comparisons keep the third's sum inside of 64 bits.
        if offset < self.next_offset or offset > self.last_allowed or delta < 0 or delta > self.last_allowed - offset:
            self.refusal = _pure_scan.out_of_order(offset, self.next_offset)
            return False
        return True

    cdef bint note_producer(self, Runs runs, const uint8_t* p, int64_t size, list producers) except -1:
        """Take in the producer's side of a batch; False for a control batch that is not well formed."""
        cdef int attributes = load_16(p + 21)
        cdef int16_t epoch = load_16(p + 51)
        cdef int transactional = attributes & TRANSACTIONAL_BIT
        cdef Run* run
        if attributes & CONTROL_BIT:
            try:
                marker = self.marker(p, size)
            except CorruptBatch as refusal:
                self.refusal = str(refusal)
                return False
            if marker is not None:
                end_run(runs.of(load_64(p + 43)), epoch, producers)
                producers.append((header_fields(p), marker))
            return True
        run = runs.of(load_64(p + 43))
        if run.batches and run.epoch == epoch and run.transactional == transactional:
            run.last[(run.batches - 1) % BATCHES_KEPT] = p
            run.batches += 1
            return True
        end_run(run, epoch, producers)
        run.batches, run.epoch, run.transactional = 1, epoch, transactional
        producers.append((header_fields(p), None))
        return True

    cdef tuple marker(self, const uint8_t* p, int64_t size):
        """Whether the transaction is committed, and the coordinator's epoch; None: another kind of control batch."""
        cdef const uint8_t* r = p + HEADER_SIZE
        if (
            size == MARKER_SIZE and not p[22] & 7 and load_32(p + 57) == 1
            # Length, deltas and lengths of key and value, as varints; versions that are not negative; no headers.
            and r[0] == 32 and r[2] == 0 and r[3] == 0 and r[4] == 8 and r[5] < 0x80 and r[7] == 0 and r[8] < 2
            and r[9] == 12 and r[10] < 0x80 and r[16] == 0
        ):
            return r[8] == 1, <int32_t> load_32(r + 12)
        found = self.read_marker(PyBytes_FromStringAndSize(<const char*> p, size))
        return None if found is None else (found.commit, found.coordinator_epoch)

    cdef int take_in(self, const uint8_t* p, int64_t position, int64_t size) except -1:
        cdef int64_t last_offset = load_64(p) + <int32_t> load_32(p + 23)
        cdef int64_t max_timestamp = load_64(p + 35)
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.offset_of_max_timestamp = last_offset
        if self.bytes_since_index_entry > self.index_interval_bytes:
            add_int32(self.positions, position)
            add_int32(self.offsets, last_offset - self.base_offset)
            if self.max_timestamp > self.indexed_timestamp:
                self.indexed_timestamp = self.max_timestamp
                add_int64(self.timestamps, self.max_timestamp)
                add_int32(self.time_offsets, self.offset_of_max_timestamp - self.base_offset)
            self.bytes_since_index_entry = 0
        self.bytes_since_index_entry += size
        self.next_offset = last_offset + 1
        return 0


# --- produce requests

cdef enum:
    PREFIX_AT = 12  # behind size, API key, version and correlation id

cdef object plain_run = None
cdef object batch_header = None


def set_produce_types(plain_run_type, batch_header_type):
    """The named tuples that :func:`scan_produces` makes; they live in layers above this one."""
    global plain_run, batch_header
    for kind in (plain_run_type, batch_header_type):
        if not issubclass(kind, tuple) or kind.__basicsize__ != tuple.__basicsize__:
            raise TypeError(f"{kind.__name__} must be a named tuple without a dictionary")
    plain_run, batch_header = plain_run_type, batch_header_type


cdef inline object field_of(holder, Py_ssize_t index):
    """A field of a named tuple, faster than a look-up that any class could have changed."""
    return <object> PyTuple_GetItem(holder, index)


cdef bint records_are_plain(
    const uint8_t* cursor,
    const uint8_t* end,
    int64_t count,
    int64_t base_timestamp,
    int64_t max_timestamp,
    bint require_keys,
    int64_t low,
    int64_t high,
) noexcept nogil:
    """Whether ``walk`` would refuse nothing, and finds offsets 0, 1, 2, ... and the timestamp of the header."""
    cdef Parsed record
    cdef int64_t index, timestamp
    cdef int64_t largest = -1
    for index in range(count):
        if read_record(&cursor, end, &record) or skip_headers(&cursor, &record) or record.offset_delta != index:
            return False
        timestamp = add(base_timestamp, record.timestamp_delta)
        if timestamp > largest:
            largest = timestamp
        if require_keys and record.key_length < 0:
            return False
        if timestamp != -1 and (timestamp < low or timestamp > high):
            return False
    return cursor == end and largest == max_timestamp


cdef const uint8_t* plain_batch(
    const uint8_t* frame,
    const uint8_t* frame_end,
    const uint8_t* start,
    const uint8_t* prefix,
    int64_t prefix_size,
    bint flexible,
    int64_t* size,
) noexcept nogil:
    """The batch of a whole frame of the shape, and its size; NULL where the frame is of another shape."""
    cdef const uint8_t* at = frame + PREFIX_AT + prefix_size
    cdef uint64_t length
    cdef int shift = 0
    if frame_end - at < 8 or memcmp(frame + 4, start, 4) or memcmp(frame + PREFIX_AT, prefix, prefix_size):
        return NULL
    at += 4
    if not flexible:
        length = load_32(at)
        if <uint64_t> (frame_end - at - 4) != length:
            return NULL
        size[0] = <int64_t> length
        return at + 4
    length = 0
    while True:
        if at == frame_end or shift > 28:
            return NULL
        length |= <uint64_t> (at[0] & 0x7F) << shift
        shift += 7
        at += 1
        if (at - 1)[0] < 0x80:
            break
    if not length or <uint64_t> (frame_end - at) != length + 2:  # which bounds the length, too
        return NULL
    if (frame_end - 1)[0] or (frame_end - 2)[0] or (frame_end - 3)[0]:
        return NULL
    size[0] = <int64_t> length - 1
    return at


cdef bint header_is_plain(const uint8_t* batch, int64_t size) noexcept nogil:
    cdef int64_t count = <int32_t> load_32(batch + 57)
    cdef int16_t attributes = load_16(batch + 21)
    if load_64(batch) or <int64_t> <int32_t> load_32(batch + 8) + LOG_OVERHEAD != size or batch[16] != 2:
        return False
    if count <= 0 or <int64_t> <int32_t> load_32(batch + 23) + 1 != count:
        return False
    if load_64(batch + 43) < 0:
        return attributes == 0
    return (attributes == 0 or attributes == TRANSACTIONAL_BIT) and <int32_t> load_32(batch + 53) >= 0


def scan_produces(buffer, int64_t start, int64_t end, shape, limits, int64_t most=64):
    """See ``protocol.produce_scan.scan_in_python``."""
    cdef Py_buffer view
    cdef const uint8_t* base
    cdef const uint8_t* batch
    cdef int64_t frame_end, size = 0
    cdef bytes start_bytes = field_of(shape, 0)
    cdef bytes prefix_bytes = field_of(shape, 1)
    cdef bint flexible = field_of(shape, 2)
    cdef int64_t prefix_size = len(prefix_bytes)
    cdef const uint8_t* start_of_shape = <const uint8_t*> PyBytes_AsString(start_bytes)
    cdef const uint8_t* prefix = <const uint8_t*> PyBytes_AsString(prefix_bytes)
    cdef int64_t max_batch_bytes = field_of(limits, 0)
    cdef bint require_keys = field_of(limits, 1)
    cdef int64_t low = field_of(limits, 2)
    cdef int64_t high = field_of(limits, 3)
    cdef bint transactional = field_of(limits, 4)
    cdef int32_t index
    cdef int32_t first_index = 0
    cdef list correlation_ids = []
    cdef list batches = []
    cdef list headers = []
    cdef list ends = []
    cdef PyObject* run
    whole = PyMemoryView_FromObject(buffer)
    PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
    try:
        base = <const uint8_t*> view.buf
        if start < 0 or end > view.len:
            raise ValueError("the range lies outside of the buffer")
        while len(ends) < most and end - start >= PREFIX_AT + prefix_size + HEADER_SIZE:
            frame_end = start + 4 + <int64_t> <int32_t> load_32(base + start)
            if frame_end > end or frame_end < start + PREFIX_AT:
                break
            batch = plain_batch(
                base + start, base + frame_end, start_of_shape, prefix, prefix_size, flexible, &size
            )
            if batch == NULL or size < HEADER_SIZE or size > max_batch_bytes or not header_is_plain(batch, size):
                break
            if not transactional and load_16(batch + 21) & TRANSACTIONAL_BIT:
                break
            index = <int32_t> load_32(base + start + PREFIX_AT + prefix_size)
            if not ends:
                first_index = index
            elif index != first_index:
                break
            area = PyMemoryView_FromMemory(<char*> batch + CRC_COVERS_FROM, size - CRC_COVERS_FROM, PyBUF_READ)
            if <uint32_t> compiled_crc32c(area) != load_32(batch + 17):
                break
            if not records_are_plain(
                batch + HEADER_SIZE,
                batch + size,
                <int32_t> load_32(batch + 57),
                load_64(batch + 27),
                load_64(batch + 35),
                require_keys,
                low,
                high,
            ):
                break
            correlation_ids.append(<int32_t> load_32(base + start + 8))
            batches.append(whole[batch - base : batch - base + size])
            headers.append(header_fields(batch, batch_header))
            ends.append(frame_end)
            start = frame_end
    finally:
        PyBuffer_Release(&view)
    if not ends:
        return None
    run = PyType_GenericAlloc(<PyTypeObject*> <PyObject*> plain_run, 5)
    try:
        put(run, 0, first_index)
        put(run, 1, correlation_ids)
        put(run, 2, batches)
        put(run, 3, headers)
        put(run, 4, ends)
        return <object> run
    finally:
        Py_DECREF(<object> run)


# --- fetch requests and answers

cdef enum:
    POSITION_BYTES = 32
    PARTITION_BYTES = 38  # of an answer, up to the number of aborted transactions
    FIRST_WITH_TOPIC_IDS = 13
    FIRST_WITH_REPLICA_STATE = 15

cdef object fetch_asked = None
cdef object new_fetch_asked = None  # without its __init__, which takes longer than all of the rest
cdef object fetch_position = None
cdef object string_length = None


def set_fetch_types(fetch_asked_type, fetch_position_type, long_string_length):
    """What :func:`parse_fetch` makes, and the function that encodes the length of a string; they live in a layer above
    this one."""
    global fetch_asked, new_fetch_asked, fetch_position, string_length
    if not issubclass(fetch_position_type, tuple) or fetch_position_type.__basicsize__ != tuple.__basicsize__:
        raise TypeError(f"{fetch_position_type.__name__} must be a named tuple without a dictionary")
    fetch_asked, fetch_position, string_length = fetch_asked_type, fetch_position_type, long_string_length
    new_fetch_asked = fetch_asked_type.__new__


cdef object position_at(const uint8_t* p):
    cdef PyObject* made = PyType_GenericAlloc(<PyTypeObject*> <PyObject*> fetch_position, 6)
    PyObject_GC_UnTrack(made)  # it holds nothing that could lead back to it
    try:
        put(made, 0, <int32_t> load_32(p))
        put(made, 1, <int32_t> load_32(p + 4))
        put(made, 2, load_64(p + 8))
        put(made, 3, <int32_t> load_32(p + 16))
        put(made, 4, load_64(p + 20))
        put(made, 5, <int32_t> load_32(p + 28))
        return <object> made
    finally:
        Py_DECREF(<object> made)


cdef object text_of(const uint8_t* p, int size):
    """None for bytes that are not UTF-8."""
    try:
        return (<const char*> p)[:size].decode("utf-8")
    except UnicodeDecodeError:
        return None


def parse_fetch(bytes data, int64_t pos, int version):
    """See ``protocol.fetch_fast.parse_in_python``."""
    cdef const uint8_t* start = <const uint8_t*> PyBytes_AsString(data)
    cdef const uint8_t* end = start + len(data)
    cdef const uint8_t* p
    cdef const uint8_t* asked
    cdef int32_t replica_id = -1
    cdef int topic_count, count, length, number, index
    cdef list topics = []
    cdef list positions
    if pos < 0 or pos > end - start:
        return None
    p = start + pos
    if version < FIRST_WITH_REPLICA_STATE:
        if end - p < 4:
            return None
        replica_id = <int32_t> load_32(p)
        p += 4
    if end - p < 22:
        return None
    asked = p
    topic_count = p[21]
    if not 0 < topic_count < 128:
        return None
    p += 22
    for number in range(topic_count - 1):
        if version >= FIRST_WITH_TOPIC_IDS:
            if end - p < 17:
                return None
            name, topic_id = "", PyBytes_FromStringAndSize(<const char*> p, 16)
            p += 16
        else:
            length = p[0] if p < end else 0
            if not 0 < length < 128 or end - p <= length:
                return None
            name, topic_id = text_of(p + 1, length - 1), b""
            if name is None:
                return None
            p += length
        count = p[0]
        p += 1
        if not 0 < count < 128 or end - p <= (count - 1) * (POSITION_BYTES + 1):
            return None
        positions = []
        for index in range(count - 1):
            if p[POSITION_BYTES]:  # tagged fields
                return None
            positions.append(position_at(p))
            p += POSITION_BYTES + 1
        if p[0]:
            return None
        p += 1
        topics.append((name, topic_id, positions))
    if end - p < 3 or p[0] != 1:  # forgotten topics
        return None
    length = p[1]  # of the rack
    if not 0 < length < 128 or end - p < length + 2 or p[1 + length]:
        return None
    if length > 1 and text_of(p + 2, length - 1) is None:
        return None
    made = new_fetch_asked(fetch_asked)
    made.replica_id = replica_id
    made.max_wait_ms = <int32_t> load_32(asked)
    made.min_bytes = <int32_t> load_32(asked + 4)
    made.max_bytes = <int32_t> load_32(asked + 8)
    made.isolation_level = <int8_t> asked[12]
    made.session_id = <int32_t> load_32(asked + 13)
    made.session_epoch = <int32_t> load_32(asked + 17)
    made.topics = topics
    made.forgotten = ()
    return made


cdef inline int add_uvarint(Output out, uint64_t value) except -1:
    out.size = write_uvarint(out.reserve(10), value) - out.start
    return 0


cdef inline int add_raw(Output out, bytes content) except -1:
    cdef int64_t size = len(content)
    memcpy(out.reserve(size), PyBytes_AsString(content), size)
    out.size += size
    return 0


cdef inline bint is_same_topic(key, other) except -1:
    cdef object name = field_of(key, 0)
    cdef object other_name = field_of(other, 0)
    cdef object topic_id = field_of(key, 1)
    cdef object other_id = field_of(other, 1)
    return (name is other_name or name == other_name) and (topic_id is other_id or topic_id == other_id)


cdef int add_partition(Output out, part) except -1:
    """A partition of an answer up to the length of its records."""
    cdef int32_t index = field_of(field_of(part, 0), 2)
    cdef int16_t error = field_of(part, 1)
    cdef int64_t high_watermark = field_of(part, 2)
    cdef int64_t last_stable_offset = field_of(part, 3)
    cdef int64_t log_start_offset = field_of(part, 4)
    cdef object aborted = field_of(part, 5)
    cdef int64_t producer_id, first_offset
    cdef uint8_t* p = out.reserve(PARTITION_BYTES)
    p = store_64(store_64(store_64(store_16(store_32(p, index), error), high_watermark), last_stable_offset), log_start_offset)
    out.size = p - out.start
    if aborted is None:
        add_uvarint(out, 0)
    else:
        add_uvarint(out, len(aborted) + 1)
        for producer_id, first_offset in aborted:
            p = store_64(store_64(out.reserve(17), producer_id), first_offset)
            p[0] = 0
            out.size += 17
    store_32(out.reserve(4), -1)  # no preferred replica
    out.size += 4
    return 0


cdef int add_tags(Output out, divergence, leader) except -1:
    cdef int32_t epoch, leader_id
    cdef int64_t end_offset
    cdef uint8_t* p = out.reserve(27)
    p[0] = (divergence is not None) + (leader is not None)
    p += 1
    if divergence is not None:
        epoch, end_offset = divergence
        p[0], p[1] = 0, 13
        p = store_64(store_32(p + 2, epoch), end_offset)
        p[0] = 0
        p += 1
    if leader is not None:
        leader_id, epoch = leader
        p[0], p[1] = 1, 9
        p = store_32(store_32(p + 2, leader_id), epoch)
        p[0] = 0
        p += 1
    out.size = p - out.start
    return 0


def encode_fetch(answer, correlation_id):
    """See ``protocol.fetch_fast.encode_flexible_in_python``."""
    cdef int32_t number = correlation_id
    cdef int32_t throttle_time_ms = answer.throttle_time_ms
    cdef int16_t error = answer.error_code
    cdef int32_t session_id = answer.session_id
    cdef list partitions = list(answer.partitions)
    cdef Py_ssize_t count = len(partitions)
    cdef Py_ssize_t index, first, last
    cdef Py_ssize_t first_end = 0
    cdef Py_ssize_t begin = 0
    cdef int64_t topics = 0
    cdef int64_t length, total
    cdef Output out = Output()
    cdef list parts = []
    cdef uint8_t* p = out.reserve(19)
    for index in range(count):
        if not index or not is_same_topic(field_of(partitions[index], 0), field_of(partitions[index - 1], 0)):
            topics += 1
    p = store_32(store_32(p, 0), number)  # the size is stored at the end
    p[0] = 0
    p = store_32(store_16(store_32(p + 1, throttle_time_ms), error), session_id)
    out.size = p - out.start
    add_uvarint(out, topics + 1)
    total = 0
    first = 0
    while first < count:
        key = field_of(partitions[first], 0)
        last = first + 1
        while last < count and is_same_topic(field_of(partitions[last], 0), key):
            last += 1
        topic_id = field_of(key, 1)
        if topic_id:
            add_raw(out, topic_id)
        else:
            name = (<str> field_of(key, 0)).encode()
            length = len(<bytes> name) + 1
            if length < 128:
                add_uvarint(out, length)
            else:
                add_raw(out, string_length(length))
            add_raw(out, name)
        add_uvarint(out, last - first + 1)
        for index in range(first, last):
            part = partitions[index]
            add_partition(out, part)
            length = field_of(part, 7)
            add_uvarint(out, length + 1)
            if length:
                if parts:
                    parts.append(PyBytes_FromStringAndSize(<const char*> out.start + begin, out.size - begin))
                else:
                    first_end = out.size
                    parts.append(None)
                begin = out.size
                parts.extend(field_of(part, 6))
                total += length
            add_tags(out, field_of(part, 8), field_of(part, 9))
        out.reserve(1)[0] = 0
        out.size += 1
        first = last
    out.reserve(1)[0] = 0
    out.size += 1
    total += out.size - 4
    if total > INT32_MAX:
        raise OverflowError("an answer of more than 2 GB")
    store_32(out.start, total)
    if parts:
        parts[0] = PyBytes_FromStringAndSize(<const char*> out.start, first_end)
    parts.append(PyBytes_FromStringAndSize(<const char*> out.start + begin, out.size - begin))
    return parts
