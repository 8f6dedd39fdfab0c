# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, ZERO_UUID, Append, Message, Struct, Uuid, bad_uuid, malformed, null_value, overrun, skip_tags, unsupported_field, uvarint, uvarint_tail

_pack_hi = _Struct(">hi").pack
_pack_hiB = _Struct(">hiB").pack
_pack_iUx = _Struct(">i16sx").pack
_pack_ix = _Struct(">ix").pack
_unpack_hiB = _Struct(">hiB").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_iUB = _Struct(">i16sB").unpack_from


class Voter(Struct):
    __slots__ = ("voter_id", "voter_directory_id")

    def __init__(
        self,
        voter_id: int = 0,  # 0+
        voter_directory_id: Uuid = ZERO_UUID,  # 1+
    ) -> None:
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id


class LeaderChangeMessage(Message):
    API_KEY = -1
    MIN_VERSION = 0
    MAX_VERSION = 1
    FLEXIBLE_FROM = 0
    __slots__ = ("version", "leader_id", "voters", "granting_voters")

    def __init__(
        self,
        version: int = 0,  # 0+
        leader_id: int = 0,  # 0+
        voters: list[Voter] = EMPTY,  # 0+
        granting_voters: list[Voter] = EMPTY,  # 0+
    ) -> None:
        self.version = version
        self.leader_id = leader_id
        self.voters = [] if voters is EMPTY else voters
        self.granting_voters = [] if granting_voters is EMPTY else granting_voters


def _read_voter_v0(data: bytes, pos: int, size: int) -> tuple[Voter, int]:
    at = "voter_id"
    try:
        voter_id, tags = _unpack_iB(data, pos)
        pos += 5
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("LeaderChangeMessage.Voter", at, pos, error) from None
    return Voter(voter_id, ZERO_UUID), pos


def _write_voter_v0(w: Append, x: Voter) -> None:
    if x.voter_directory_id != ZERO_UUID:
        raise unsupported_field("LeaderChangeMessage.Voter", "voter_directory_id", "0")
    w(_pack_ix(x.voter_id))


def _read_voter_v1(data: bytes, pos: int, size: int) -> tuple[Voter, int]:
    at = "voter_id"
    try:
        voter_id, voter_directory_id, tags = _unpack_iUB(data, pos)
        pos += 21
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("LeaderChangeMessage.Voter", at, pos, error) from None
    return Voter(voter_id, voter_directory_id), pos


def _write_voter_v1(w: Append, x: Voter) -> None:
    voter_directory_id = x.voter_directory_id
    if len(voter_directory_id) != 16:
        raise bad_uuid("LeaderChangeMessage", "voter_directory_id", voter_directory_id)
    w(_pack_iUx(x.voter_id, voter_directory_id))


def _read_leader_change_message_v0(data: bytes, pos: int, size: int) -> tuple[LeaderChangeMessage, int]:
    at = "version"
    try:
        version, leader_id, count = _unpack_hiB(data, pos)
        pos += 7
        at = "voters"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        voters: list[Voter] = []
        for _ in range(count):
            voters_item, pos = _read_voter_v0(data, pos, size)
            voters.append(voters_item)
        at = "granting_voters"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        granting_voters: list[Voter] = []
        for _ in range(count):
            granting_voters_item, pos = _read_voter_v0(data, pos, size)
            granting_voters.append(granting_voters_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("LeaderChangeMessage", at, pos, error) from None
    return LeaderChangeMessage(version, leader_id, voters, granting_voters), pos


def _write_leader_change_message_v0(w: Append, x: LeaderChangeMessage) -> None:
    voters = x.voters
    count = len(voters) + 1
    w(_pack_hiB(x.version, x.leader_id, count) if count < 128 else _pack_hi(x.version, x.leader_id) + uvarint(count))
    for voters_item in voters:
        _write_voter_v0(w, voters_item)
    granting_voters = x.granting_voters
    count = len(granting_voters) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for granting_voters_item in granting_voters:
        _write_voter_v0(w, granting_voters_item)
    w(b"\0")


def _read_leader_change_message_v1(data: bytes, pos: int, size: int) -> tuple[LeaderChangeMessage, int]:
    at = "version"
    try:
        version, leader_id, count = _unpack_hiB(data, pos)
        pos += 7
        at = "voters"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        voters: list[Voter] = []
        for _ in range(count):
            voters_item, pos = _read_voter_v1(data, pos, size)
            voters.append(voters_item)
        at = "granting_voters"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        granting_voters: list[Voter] = []
        for _ in range(count):
            granting_voters_item, pos = _read_voter_v1(data, pos, size)
            granting_voters.append(granting_voters_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("LeaderChangeMessage", at, pos, error) from None
    return LeaderChangeMessage(version, leader_id, voters, granting_voters), pos


def _write_leader_change_message_v1(w: Append, x: LeaderChangeMessage) -> None:
    voters = x.voters
    count = len(voters) + 1
    w(_pack_hiB(x.version, x.leader_id, count) if count < 128 else _pack_hi(x.version, x.leader_id) + uvarint(count))
    for voters_item in voters:
        _write_voter_v1(w, voters_item)
    granting_voters = x.granting_voters
    count = len(granting_voters) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for granting_voters_item in granting_voters:
        _write_voter_v1(w, granting_voters_item)
    w(b"\0")
LeaderChangeMessage._READERS = {
    0: _read_leader_change_message_v0,
    1: _read_leader_change_message_v1,
}
LeaderChangeMessage._WRITERS = {
    0: _write_leader_change_message_v0,
    1: _write_leader_change_message_v1,
}
