"""The codecs of record batches, with the framing of Kafka's Java classes.

Called by :mod:`oncelog.records.batch` and :mod:`oncelog.records.validation`. Output depends only on the arguments.
Decompression never takes much more memory than the caller's limit, whatever the bytes claim: lz4 and zstd
state how large a block may become, snappy how large it is, and gzip is decompressed step by step.

Sources: Kafka's ``Lz4BlockOutputStream``, ``Lz4BlockInputStream`` and ``SnappyCompression``; the frame formats of
lz4 and zstd (RFC 8878); KIP-57, KIP-110, KIP-390.
"""

from __future__ import annotations

import zlib
from collections.abc import Generator, Iterator
from enum import IntEnum
from struct import Struct
from typing import Final

import cramjam

from oncelog.records.crc import Buffer
from oncelog.records.record_errors import CorruptBatch, UnpacksTooLarge

DEFAULT_LIMIT_BYTES = 256 * 1024 * 1024
"""The maximum decompressed size of one batch if the caller passes no limit."""


class Compression(IntEnum):
    """A codec, by its number in a batch's attributes; names as in the setting ``compression.type``."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    @classmethod
    def from_name(cls, name: str) -> Compression:
        """The codec named ``name`` in settings; ``uncompressed`` is the topic setting's word for ``none``."""
        if name == "uncompressed":
            return cls.NONE
        try:
            return cls[name.upper()]
        except KeyError:
            raise ValueError(f"there is no codec {name!r}: name none, gzip, snappy, lz4 or zstd") from None


MAX_FOR_EACH_BYTE: Final = {
    Compression.NONE: 1,
    Compression.GZIP: 1032,
    Compression.SNAPPY: 22,
    Compression.LZ4: 255,
    Compression.ZSTD: 32 * 1024,
}
"""How many bytes one compressed byte can decompress to at most, for each codec. gzip: 258 bytes from two bits; snappy:
64 from three bytes; lz4: 255 from a byte of length; zstd: a block of 128 KiB from four bytes."""
_LOOKED_AT_BLOCKS = 32


def may_unpack_to_more(codec: Compression, data: memoryview, size_bytes: int) -> bool:
    """Whether ``data`` might decompress to more than ``size_bytes``, decided from a few of its bytes.

    Data that turns out to be corrupt counts as decompressing to nothing.
    """
    if len(data) * MAX_FOR_EACH_BYTE[codec] <= size_bytes:
        return False
    match codec:
        case Compression.SNAPPY:
            blocks: Iterator[int] = map(_snappy_length, _snappy_blocks(data))
        case Compression.LZ4:
            blocks = _lz4_blocks(data)
        case Compression.ZSTD:
            blocks = _zstd_blocks(data, DEFAULT_LIMIT_BYTES)
        case _:
            return True
    looked_at = bound = 0
    try:
        for max_bytes in blocks:
            bound += max_bytes
            looked_at += 1
            if bound > size_bytes or looked_at > _LOOKED_AT_BLOCKS:
                return True
    except (CorruptBatch, UnpacksTooLarge):
        return False
    return False


def compress(codec: Compression, data: Buffer, level: int | None = None) -> bytes:
    """``data`` compressed by ``codec``.

    ``level`` has the meaning of ``compression.{gzip,lz4,zstd}.level``; None, and Kafka's defaults (-1, 9 and 3),
    select Java's default behaviour, which is lz4's fast mode, not its level 9. snappy has no levels.
    """
    match codec:
        case Compression.NONE:
            return bytes(data)
        case Compression.GZIP:
            packer = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
            return packer.compress(data) + packer.flush()
        case Compression.SNAPPY:
            return _compress_xerial(memoryview(data))
        case Compression.LZ4:
            return _compress_lz4(memoryview(data), level)
        case Compression.ZSTD:
            return bytes(cramjam.zstd.compress(data, level=3 if level is None else level))


def decompress(codec: Compression, data: Buffer, max_size_bytes: int = DEFAULT_LIMIT_BYTES) -> bytes | memoryview:
    """The decompressed data.

    :raises CorruptBatch: the bytes are not in the format of ``codec``.
    :raises UnpacksTooLarge: they hold more than ``max_size_bytes``.
    """
    match codec:
        case Compression.NONE:
            return bytes(data)
        case Compression.GZIP:
            return _decompress_gzip(data, max_size_bytes)
        case Compression.SNAPPY:
            return _decompress_snappy(memoryview(data), max_size_bytes)
        case Compression.LZ4:
            frame, bound = _lz4_frame(memoryview(data))
            return _decompress_bounded(codec, frame, bound, max_size_bytes)
        case Compression.ZSTD:
            bound = sum(_zstd_blocks(memoryview(data), max_size_bytes))
            return _decompress_bounded(codec, data, bound, max_size_bytes)


def _too_large(codec: str, max_size_bytes: int) -> UnpacksTooLarge:
    return UnpacksTooLarge(f"{codec} data unpacks to more than the limit of {max_size_bytes} bytes")


# --- gzip


_GZIP_MEMBER_BYTES = 1024
"""How many bytes of a further member are first passed to zlib; each next attempt passes twice as many."""


def gzip_claims(data: memoryview) -> int:
    """The decompressed size in bytes that a gzip stream states in its last four bytes; for several members, that of the
    last one."""
    return int.from_bytes(data[-4:], "little")


def _decompress_gzip(data: Buffer, max_size_bytes: int) -> bytes:
    """Decompress a gzip stream, which may consist of several members (RFC 1952).

    Each member gets only a part of the input at first. zlib copies the input that it does not consume, so passing the
    whole rest for each of 50,000 members would copy it 50,000 times.
    """
    view, position, size = memoryview(data), 0, len(data)
    parts: list[bytes] = []
    room = max_size_bytes
    while True:
        unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
        given = _GZIP_MEMBER_BYTES if position else size
        while not unpacker.eof:
            if position == size:
                raise CorruptBatch("gzip data is corrupt: it ends before its end mark")
            piece = view[position : position + given]
            try:
                part = unpacker.decompress(piece, room + 1)
            except zlib.error as error:
                raise CorruptBatch(f"gzip data is corrupt: {error}") from error
            room -= len(part)
            if room < 0:
                raise _too_large("gzip", max_size_bytes)
            if part:
                parts.append(part)
            position += len(piece) - len(unpacker.unused_data)
            given *= 2
        if position == size:
            return parts[0] if len(parts) == 1 else b"".join(parts)


# --- snappy

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
_XERIAL_BLOCK_BYTES = 32 * 1024
_INT32 = Struct(">i")


def _compress_xerial(data: memoryview) -> bytes:
    """Java's framing: a header, then raw snappy blocks of up to 32 KiB of input, each preceded by its length."""
    parts = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK_BYTES]))
        parts.append(_INT32.pack(len(block)))
        parts.append(block)
    return b"".join(parts)


def _decompress_snappy(data: memoryview, max_size_bytes: int) -> bytes:
    """Java's framing, or the single raw block that librdkafka writes."""
    parts: list[bytes] = []
    room = max_size_bytes
    for block in _snappy_blocks(data):
        if _snappy_length(block) > room:
            raise _too_large("snappy", max_size_bytes)
        try:
            parts.append(bytes(cramjam.snappy.decompress_raw(block)))
        except cramjam.DecompressionError as error:
            raise CorruptBatch(f"snappy data is corrupt: {error}") from error
        room -= len(parts[-1])
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _snappy_blocks(data: memoryview) -> Iterator[memoryview]:
    if data[:8] != _XERIAL_MAGIC:
        yield data
        return
    position = len(_XERIAL_HEADER)
    if len(data) < position:
        raise CorruptBatch("snappy data is corrupt: it ends inside its header")
    while position < len(data):
        if len(data) - position < 4:
            raise CorruptBatch("snappy data is corrupt: it ends inside a block's length")
        (length,) = _INT32.unpack_from(data, position)
        position += 4
        if not 0 <= length <= len(data) - position:
            raise CorruptBatch(f"snappy data is corrupt: a block of {length} bytes does not fit")
        yield data[position : position + length]
        position += length


def _snappy_length(block: memoryview) -> int:
    """The decompressed size that a snappy block states; the decoder refuses a block with another size."""
    try:
        return int(cramjam.snappy.decompress_raw_len(block))
    except cramjam.DecompressionError as error:
        raise CorruptBatch(f"snappy data is corrupt: {error}") from error


# --- lz4

_UINT32_LE = Struct("<I")
_LZ4_MAGIC = b"\x04\x22\x4d\x18"
_LZ4_HEADER = _LZ4_MAGIC + b"\x60\x40\x82"
"""The header of a frame: version 1, independent blocks of up to 64 KiB, no checksums, no content size. Its last byte is
the checksum (xxh32) of the two before it."""
_LZ4_BLOCK_BYTES = 64 * 1024
_LZ4_STORED = 0x80000000
_LZ4_DEFAULT_LEVEL = 9
_LZ4_HIGH_LEVELS = (3, 12)
"""The lowest and the highest high-compression level of the library; a Kafka level outside of this range has the effect
of the nearest one."""


def _compress_lz4(data: memoryview, level: int | None) -> bytes:
    """Compress into a frame that Java can read, whose blocks must therefore be independent.

    With the default level, the frame has the form that Java writes. For other levels cramjam, which compresses single
    blocks only in fast mode, makes the whole frame, which differs by having block checksums.
    """
    if level is not None and level != _LZ4_DEFAULT_LEVEL:
        lowest, highest = _LZ4_HIGH_LEVELS
        effort = min(max(level, lowest), highest)
        packer = cramjam.lz4.Compressor(level=effort, content_checksum=False, block_linked=False)
        packer.compress(bytes(data))
        return bytes(packer.finish())
    parts = [_LZ4_HEADER]
    for start in range(0, len(data), _LZ4_BLOCK_BYTES):
        block = data[start : start + _LZ4_BLOCK_BYTES]
        packed = bytes(cramjam.lz4.compress_block(block, store_size=False))
        if len(packed) < len(block):
            parts.append(_UINT32_LE.pack(len(packed)))
            parts.append(packed)
        else:
            parts.append(_UINT32_LE.pack(len(block) | _LZ4_STORED))
            parts.append(bytes(block))
    parts.append(b"\x00\x00\x00\x00")
    return b"".join(parts)


def _lz4_frame(data: memoryview) -> tuple[memoryview, int]:
    """The first frame in ``data``, the only one that Java reads, and an upper bound on its decompressed size."""
    blocks = _lz4_blocks(data)
    bound = 0
    while True:
        try:
            bound += next(blocks)
        except StopIteration as ended:
            return data[: ended.value], bound


def _lz4_blocks(data: memoryview) -> Generator[int, None, int]:
    """Yields an upper bound on the decompressed size of each block of an lz4 frame, from the blocks' lengths alone;
    returns the position after the frame.

    Refuses what Java's ``Lz4BlockInputStream`` refuses, so that a batch stored for one reader is readable for all:
    frames with dependent blocks, and blocks larger than the declared size.
    """
    if len(data) < 7 or data[:4] != _LZ4_MAGIC:
        raise CorruptBatch("lz4 data is corrupt: it does not begin with a frame")
    flags, descriptor = data[4], data[5]
    if flags >> 6 != 1 or not flags & 0x20:
        raise CorruptBatch("lz4 data is not readable: Kafka takes frames of version 1 with independent blocks only")
    size_code = descriptor >> 4 & 7
    if size_code < 4:
        raise CorruptBatch(f"lz4 data is corrupt: unknown block size {size_code}")
    block_max_bytes = 1 << (8 + 2 * size_code)
    checksum_bytes = 4 if flags & 0x10 else 0
    position = 7 + (8 if flags & 0x08 else 0)
    while position + 4 <= len(data):
        (length,) = _UINT32_LE.unpack_from(data, position)
        position += 4
        if length == 0:
            return position + (4 if flags & 0x04 else 0)  # the frame may end after the content's checksum
        stored = length & ~_LZ4_STORED
        if stored > block_max_bytes:
            raise CorruptBatch(f"lz4 data is corrupt: a block of {stored} bytes, the frame allows {block_max_bytes}")
        yield stored if length & _LZ4_STORED else min(block_max_bytes, MAX_FOR_EACH_BYTE[Compression.LZ4] * stored)
        position += stored + checksum_bytes
    raise CorruptBatch("lz4 data is corrupt: it ends before its end mark")


# --- zstd

_COPIED_BYTES = 256 * 1024
_ZSTD_MAGIC = 0xFD2FB528
_ZSTD_SKIPPABLE_MAGIC = 0x184D2A50
_ZSTD_BLOCK_BYTES = 128 * 1024
_ZSTD_DICTIONARY_ID_BYTES = (0, 1, 2, 4)
_ZSTD_CONTENT_SIZE_BYTES = (0, 2, 4, 8)


def _zstd_blocks(data: memoryview, max_size_bytes: int) -> Iterator[int]:
    """Yields an upper bound on the decompressed size of each block in a series of zstd frames, from their headers alone
    (RFC 8878).

    :raises UnpacksTooLarge: the sizes that the frames declare, and that a decoder enforces, add up to more than the
        limit.
    """
    position = declared = 0
    while position < len(data):
        if len(data) - position < 8:
            raise CorruptBatch("zstd data is corrupt: it ends inside a frame header")
        (magic,) = _UINT32_LE.unpack_from(data, position)
        if magic & ~0xF == _ZSTD_SKIPPABLE_MAGIC:
            (length,) = _UINT32_LE.unpack_from(data, position + 4)
            position += 8 + length
            yield 0
            continue
        if magic != _ZSTD_MAGIC:
            raise CorruptBatch("zstd data is corrupt: it does not begin with a frame")
        descriptor = data[position + 4]
        single_segment = descriptor & 0x20
        content_size_bytes = _ZSTD_CONTENT_SIZE_BYTES[descriptor >> 6] or (1 if single_segment else 0)
        position += 5 + (0 if single_segment else 1) + _ZSTD_DICTIONARY_ID_BYTES[descriptor & 3]
        declared += int.from_bytes(data[position : position + content_size_bytes], "little")
        if declared > max_size_bytes:
            raise _too_large("zstd", max_size_bytes)
        position += content_size_bytes
        last = False
        while not last:
            if position + 3 > len(data):
                raise CorruptBatch("zstd data is corrupt: it ends inside a block header")
            block = data[position] | data[position + 1] << 8 | data[position + 2] << 16
            last, kind, length = bool(block & 1), block >> 1 & 3, block >> 3
            yield length if kind < 2 else _ZSTD_BLOCK_BYTES
            position += 3 + (1 if kind == 1 else length)
        position += 4 if descriptor & 4 else 0


def _decompress_bounded(codec: Compression, data: Buffer, bound: int, max_size_bytes: int) -> bytes | memoryview:
    """Decompress ``data``. Unless the bound rules out a result above the limit, the buffer has the limit's size and
    cannot grow.

    Large results are not copied: copying 16 MB would take longer than decompressing them.
    """
    name = codec.name.lower()
    unpacker = cramjam.lz4 if codec is Compression.LZ4 else cramjam.zstd
    try:
        if bound <= max_size_bytes:
            unpacked = unpacker.decompress(data)
            return memoryview(unpacked) if unpacked.len() > _COPIED_BYTES else bytes(unpacked)
    except cramjam.DecompressionError as error:
        raise CorruptBatch(f"{name} data is corrupt: {error}") from error
    room = bytearray(max_size_bytes)
    try:
        size = unpacker.decompress_into(data, room)
    except cramjam.DecompressionError as error:
        raise UnpacksTooLarge(
            f"{name} data is corrupt or unpacks to more than the limit of {max_size_bytes} bytes: {error}"
        ) from error
    del room[size:]  # shortened, because a view of a part would keep the whole buffer alive
    return memoryview(room)
