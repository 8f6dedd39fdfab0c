"""Codecs against other libraries, hostile bytes and bombs."""

from __future__ import annotations

import gzip
import random
import struct
import zlib
from typing import Any

import cramjam
import lz4.frame
import pytest
import snappy
import xxhash
import zstandard

from oncelog.records.compression import Compression, compress, decompress, may_unpack_to_more
from oncelog.records.record_errors import CorruptBatch

PACKING = [codec for codec in Compression if codec]
TEXT = b"".join(b"record %d of many; " % (i * i) for i in range(20_000))
NOISE = random.Random(1).randbytes(200_000)
CONTENTS = {"empty": b"", "short": b"abc", "text": TEXT, "noise": NOISE, "zeros": bytes(300_000), "block": bytes(65536)}


@pytest.mark.parametrize("codec", list(Compression))
@pytest.mark.parametrize("content", CONTENTS)
def test_compressed_bytes_are_decompressed(codec: Compression, content: str) -> None:
    data = CONTENTS[content]
    for view in (data, bytearray(data), memoryview(data)):
        packed = compress(codec, view)
        assert decompress(codec, packed, len(data)) == data
        assert decompress(codec, memoryview(packed)) == data


def test_codecs_have_the_names_of_compression_type() -> None:
    names = ["none", "gzip", "snappy", "lz4", "zstd"]
    assert [Compression.from_name(name) for name in names] == list(Compression)
    assert Compression.from_name("uncompressed") is Compression.NONE
    with pytest.raises(ValueError, match="'brotli'"):
        Compression.from_name("brotli")


def test_gzip_data_is_a_gzip_stream_and_may_have_several_members() -> None:
    assert gzip.decompress(compress(Compression.GZIP, TEXT)) == TEXT
    assert decompress(Compression.GZIP, gzip.compress(b"one ") + gzip.compress(b"two")) == b"one two"


def test_snappy_data_is_written_in_javas_framing() -> None:
    packed = compress(Compression.SNAPPY, TEXT)
    assert packed[:16] == b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    position, blocks = 16, []
    while position < len(packed):
        (length,) = struct.unpack_from(">i", packed, position)
        blocks.append(snappy.uncompress(packed[position + 4 : position + 4 + length]))
        position += 4 + length
    assert b"".join(blocks) == TEXT
    assert {len(block) for block in blocks[:-1]} == {32 * 1024}


def test_raw_and_framed_snappy_data_is_read() -> None:
    assert decompress(Compression.SNAPPY, snappy.compress(TEXT)) == TEXT
    half = snappy.compress(TEXT[:1000])
    framed = b"\x82SNAPPY\x00" + struct.pack(">iii", 1, 1, len(half)) + half
    assert decompress(Compression.SNAPPY, framed) == TEXT[:1000]


def test_lz4_frames_have_javas_header() -> None:
    packed = compress(Compression.LZ4, TEXT + NOISE)
    assert packed[:6] == bytes.fromhex("04224d186040")
    assert packed[6] == xxhash.xxh32(packed[4:6], seed=0).intdigest() >> 8 & 0xFF
    assert packed[-4:] == bytes(4)
    assert lz4.frame.decompress(packed) == TEXT + NOISE


@pytest.mark.parametrize("content_size", [False, True])
@pytest.mark.parametrize("checksums", [False, True])
@pytest.mark.parametrize(
    "size", [lz4.frame.BLOCKSIZE_MAX64KB, lz4.frame.BLOCKSIZE_MAX256KB, lz4.frame.BLOCKSIZE_MAX4MB]
)
def test_lz4_frames_with_options_are_read(size: int, checksums: bool, content_size: bool) -> None:
    packed = lz4.frame.compress(
        TEXT + NOISE,
        block_size=size,
        block_linked=False,
        content_checksum=checksums,
        block_checksum=checksums,
        store_size=content_size,
    )
    assert decompress(Compression.LZ4, packed) == TEXT + NOISE


def test_lz4_frames_that_java_refuses_are_refused() -> None:
    linked = lz4.frame.compress(TEXT, block_linked=True)
    with pytest.raises(CorruptBatch, match="independent blocks"):
        decompress(Compression.LZ4, linked)
    large_block = bytes.fromhex("04224d18604082") + struct.pack("<I", 65537 | 1 << 31) + bytes(65537 + 4)
    with pytest.raises(CorruptBatch, match="65537"):
        decompress(Compression.LZ4, large_block)


@pytest.mark.parametrize("checksum", [False, True])
def test_bytes_behind_an_lz4_frame_are_ignored(checksum: bool) -> None:
    """Java reads the first frame; a second one would escape the limit that applies to the first one's blocks."""
    behind = lz4.frame.compress(bytes(4_000_000))
    data = lz4.frame.compress(b"records", content_checksum=checksum, block_linked=False) + behind
    assert decompress(Compression.LZ4, data, 1_000_000) == b"records"


def test_lz4_levels_follow_javas_choice() -> None:
    fast = compress(Compression.LZ4, TEXT)
    assert compress(Compression.LZ4, TEXT, 9) == fast
    assert len(compress(Compression.LZ4, TEXT, 8)) < len(fast)
    assert decompress(Compression.LZ4, compress(Compression.LZ4, TEXT, 17)) == TEXT


def test_zstd_frames_without_content_size_are_read() -> None:
    packed = zstandard.ZstdCompressor(write_content_size=False, write_checksum=True).compress(TEXT)
    assert decompress(Compression.ZSTD, packed, len(TEXT)) == TEXT
    packer = zstandard.ZstdCompressor().compressobj()
    flushed = b"".join(
        packer.compress(TEXT[i : i + 1000]) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        for i in range(0, 50_000, 1000)
    )
    assert decompress(Compression.ZSTD, flushed + packer.flush(), 50_000) == TEXT[:50_000]


def test_several_zstd_frames_and_skippable_frames_are_read() -> None:
    skippable = struct.pack("<II", 0x184D2A53, 5) + b"hello"
    packed = bytes(cramjam.zstd.compress(b"one ")) + skippable + bytes(cramjam.zstd.compress(b"two"))
    assert decompress(Compression.ZSTD, packed) == b"one two"


@pytest.mark.parametrize("codec", PACKING)
def test_decompression_bombs_are_refused_at_the_limit(codec: Compression) -> None:
    bomb = compress(codec, bytes(20_000_000))
    assert decompress(codec, bomb, 20_000_000) == bytes(20_000_000)
    with pytest.raises(CorruptBatch, match="limit of 19999999 bytes"):
        decompress(codec, bomb, 19_999_999)
    with pytest.raises(CorruptBatch, match="limit of 1000 bytes"):
        decompress(codec, bomb, 1000)


def test_a_decompression_bomb_of_gzip_members_is_refused() -> None:
    member = gzip.compress(bytes(100_000))
    with pytest.raises(CorruptBatch, match="limit"):
        decompress(Compression.GZIP, member * 100, 1_000_000)


@pytest.mark.parametrize("codec", PACKING)
def test_truncated_compressed_data_is_refused(codec: Compression) -> None:
    packed = compress(codec, TEXT[:3000])
    for end in range(len(packed)):
        # A snappy stream of no block at all is one that unpacks to nothing.
        if codec is Compression.SNAPPY and end == 16:
            assert decompress(codec, packed[:end]) == b""
            continue
        with pytest.raises(CorruptBatch):
            decompress(codec, packed[:end])


@pytest.mark.parametrize("codec", PACKING)
def test_hostile_bytes_raise_only_the_documented_error(codec: Compression) -> None:
    source = random.Random(codec)
    packed = compress(codec, TEXT[:5000])
    refused = 0
    for number in range(3000):
        if number % 3:
            hostile = bytearray(packed)
            for _ in range(source.randint(1, 4)):
                hostile[source.randrange(min(len(hostile), source.choice([20, 10_000])))] = source.randrange(256)
        else:
            hostile = bytearray(packed[: source.randint(0, 16)] + source.randbytes(source.randint(0, 60)))
        try:
            assert len(decompress(codec, hostile, 1_000_000)) <= 1_000_000
        except CorruptBatch:
            refused += 1
    assert refused > 1000


@pytest.mark.parametrize("codec", [Compression.LZ4, Compression.ZSTD])
def test_decompressed_bytes_keep_no_extra_memory(codec: Compression) -> None:
    """If the blocks' headers permit more than the limit, there must be room for as much."""
    data = bytes(1000) if codec is Compression.ZSTD else random.Random(1).randbytes(500) + bytes(500)
    unpacked = decompress(codec, compress(codec, data), 50_000)
    kept = unpacked.obj if isinstance(unpacked, memoryview) else unpacked
    assert bytes(unpacked) == data
    assert memoryview(kept).nbytes == 1000


@pytest.mark.parametrize("codec", list(Compression))
def test_decompression_stops_at_the_declared_size(codec: Compression) -> None:
    for data in (b"", bytes(1000), bytes(300_000), random.Random(1).randbytes(300_000), bytes(3_000_000)):
        packed = compress(codec, data)
        for size_bytes in (len(data) // 2, len(data) - 1):
            assert len(data) < 2 or may_unpack_to_more(codec, memoryview(packed), size_bytes)


@pytest.mark.parametrize("codec", [Compression.SNAPPY, Compression.LZ4, Compression.ZSTD])
def test_the_size_estimate_recognises_a_compressed_batch_of_100_kb_as_small(codec: Compression) -> None:
    packed = compress(codec, random.Random(1).randbytes(50_000) + bytes(50_000))
    assert not may_unpack_to_more(codec, memoryview(packed), 1 << 20)


def test_the_size_estimate_reads_only_some_of_many_tiny_lz4_blocks() -> None:
    blocks = b"\x01\x00\x00\x80\x00" * 40
    frame = b"\x04\x22\x4d\x18\x60\x40\x82" + blocks  # with no end mark: nobody comes so far
    assert may_unpack_to_more(Compression.LZ4, memoryview(frame), 40)
    assert may_unpack_to_more(Compression.LZ4, memoryview(frame), 10_000)


def test_many_gzip_members_are_read_in_time_that_grows_with_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """zlib copies what follows a member: for 100,000 members of 20 bytes, 100 GB and ten seconds, and four times as
    much for twice as many."""
    copied = 0
    make = zlib.decompressobj

    class Counted:
        def __init__(self, bits: int) -> None:
            self._unpacker = make(bits)

        def __getattr__(self, name: str) -> Any:
            nonlocal copied
            found = getattr(self._unpacker, name)
            copied += len(found) if name == "unused_data" else 0
            return found

    monkeypatch.setattr("oncelog.records.compression.zlib.decompressobj", Counted)
    members = [gzip.compress(b"%d " % number) for number in range(2000)]
    assert decompress(Compression.GZIP, b"".join(members)) == b"".join(b"%d " % number for number in range(2000))
    assert copied < 2000 * 2048 + len(b"".join(members))


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 5000, 70_000])
def test_a_further_gzip_member_may_have_any_size(size: int) -> None:
    content = NOISE[:size]
    packed = gzip.compress(b"first") + gzip.compress(content) + gzip.compress(content)
    assert decompress(Compression.GZIP, packed) == b"first" + 2 * content
    with pytest.raises(CorruptBatch, match="ends before its end mark"):
        decompress(Compression.GZIP, packed[:-1])
    with pytest.raises(CorruptBatch):
        decompress(Compression.GZIP, packed + b"x")
