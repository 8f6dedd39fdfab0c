# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations


from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, ElementLimit, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail



class UserName(Struct):
    __slots__ = ("name",)

    def __init__(
        self,
        name: str = "",  # 0+
    ) -> None:
        self.name = name


class DescribeUserScramCredentialsRequest(Message):
    API_KEY = 50
    MIN_VERSION = 0
    MAX_VERSION = 0
    FLEXIBLE_FROM = 0
    __slots__ = ("users",)

    def __init__(
        self,
        users: list[UserName] | None = EMPTY,  # 0+
    ) -> None:
        self.users = [] if users is EMPTY else users


def _read_user_name_v0(data: bytes, pos: int, size: int) -> tuple[UserName, int]:
    at = "name"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        name = data[pos:end].decode()
        pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeUserScramCredentialsRequest.UserName", at, pos, error) from None
    return UserName(name), pos


def _write_user_name_v0(w: Append, x: UserName) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    w(b"\0")


def _read_describe_user_scram_credentials_request_v0(data: bytes, pos: int, size: int, limit: ElementLimit | None = None) -> tuple[DescribeUserScramCredentialsRequest, int]:
    at = "users"
    try:
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        users: list[UserName] | None = None
        if count:
            count -= 1
            if count > size - pos:
                raise overrun(count, size - pos)
            if limit is not None:
                limit.take(count)
            users = []
            for _ in range(count):
                users_item, pos = _read_user_name_v0(data, pos, size)
                users.append(users_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeUserScramCredentialsRequest", at, pos, error) from None
    return DescribeUserScramCredentialsRequest(users), pos


def _write_describe_user_scram_credentials_request_v0(w: Append, x: DescribeUserScramCredentialsRequest) -> None:
    users = x.users
    if users is None:
        w(b"\0")
    else:
        count = len(users) + 1
        w(VARINT[count] if count < 128 else uvarint(count))
        for users_item in users:
            _write_user_name_v0(w, users_item)
    w(b"\0")
DescribeUserScramCredentialsRequest._READERS = {
    0: _read_describe_user_scram_credentials_request_v0,
}
DescribeUserScramCredentialsRequest._WRITERS = {
    0: _write_describe_user_scram_credentials_request_v0,
}
