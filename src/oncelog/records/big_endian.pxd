# cython: language_level=3
"""Integers and varints as Kafka writes them, and room for them; inlined into each compiled module."""

from cpython.mem cimport PyMem_Realloc
from libc.stdint cimport int16_t, int64_t, uint8_t, uint32_t, uint64_t


cdef inline int16_t load_16(const uint8_t* p) noexcept nogil:
    return <int16_t> (p[0] << 8 | p[1])


cdef inline uint32_t load_32(const uint8_t* p) noexcept nogil:
    return <uint32_t> p[0] << 24 | <uint32_t> p[1] << 16 | <uint32_t> p[2] << 8 | p[3]


cdef inline int64_t load_64(const uint8_t* p) noexcept nogil:
    return <int64_t> (<uint64_t> load_32(p) << 32 | load_32(p + 4))


cdef inline uint8_t* store_16(uint8_t* out, int64_t value) noexcept nogil:
    out[0] = <uint8_t> (value >> 8)
    out[1] = <uint8_t> value
    return out + 2


cdef inline uint8_t* store_32(uint8_t* out, int64_t value) noexcept nogil:
    return store_16(store_16(out, value >> 16), value)


cdef inline uint8_t* store_64(uint8_t* out, int64_t value) noexcept nogil:
    return store_32(store_32(out, value >> 32), value)


cdef inline uint8_t* write_uvarint(uint8_t* out, uint64_t value) noexcept nogil:
    while value > 0x7F:
        out[0] = <uint8_t> (value | 0x80)
        out += 1
        value >>= 7
    out[0] = <uint8_t> value
    return out + 1


cdef inline uint8_t* room_after(uint8_t** start, int64_t* capacity, int64_t size, int64_t more, int64_t least) except NULL:
    """The place for ``more`` bytes after the first ``size`` ones, which may have moved: ``least`` bytes at first."""
    cdef int64_t needed = size + more
    cdef uint8_t* moved
    if needed > capacity[0]:
        needed = max(needed, 2 * capacity[0], least)
        moved = <uint8_t*> PyMem_Realloc(start[0], needed)
        if moved == NULL:
            raise MemoryError()
        start[0] = moved
        capacity[0] = needed
    return start[0] + size
