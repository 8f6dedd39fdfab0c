# Generated from tools/codec/schemas by `python -m tools.codec`; do not edit.

from __future__ import annotations

from struct import Struct as _Struct

from oncelog.protocol.wire import EMPTY, READ_ERRORS, VARINT, Append, Message, Struct, malformed, null_value, overrun, skip_tags, string_length, string_length_tail, uvarint, uvarint_tail

_pack_TbT = _Struct(">?b?").pack
_pack_TbTB = _Struct(">?b?B").pack
_pack_TbTi = _Struct(">?b?i").pack
_pack_b = _Struct(">b").pack
_pack_bB = _Struct(">bB").pack
_pack_bh = _Struct(">bh").pack
_pack_bx = _Struct(">bx").pack
_pack_h = _Struct(">h").pack
_pack_hh = _Struct(">hh").pack
_pack_i = _Struct(">i").pack
_pack_iB = _Struct(">iB").pack
_pack_ii = _Struct(">ii").pack
_unpack_TbTB = _Struct(">?b?B").unpack_from
_unpack_TbTi = _Struct(">?b?i").unpack_from
_unpack_b = _Struct(">b").unpack_from
_unpack_bB = _Struct(">bB").unpack_from
_unpack_bh = _Struct(">bh").unpack_from
_unpack_h = _Struct(">h").unpack_from
_unpack_hB = _Struct(">hB").unpack_from
_unpack_hh = _Struct(">hh").unpack_from
_unpack_i = _Struct(">i").unpack_from
_unpack_iB = _Struct(">iB").unpack_from
_unpack_ii = _Struct(">ii").unpack_from


class DescribeConfigsSynonym(Struct):
    __slots__ = ("name", "value", "source")

    def __init__(
        self,
        name: str = "",  # 1+
        value: str | None = "",  # 1+
        source: int = 0,  # 1+
    ) -> None:
        self.name = name
        self.value = value
        self.source = source


class DescribeConfigsResourceResult(Struct):
    __slots__ = ("name", "value", "read_only", "config_source", "is_sensitive", "synonyms", "config_type", "documentation")

    def __init__(
        self,
        name: str = "",  # 0+
        value: str | None = "",  # 0+
        read_only: bool = False,  # 0+
        config_source: int = -1,  # 1+, ignorable
        is_sensitive: bool = False,  # 0+
        synonyms: list[DescribeConfigsSynonym] = EMPTY,  # 1+, ignorable
        config_type: int = 0,  # 3+, ignorable
        documentation: str | None = "",  # 3+, ignorable
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive
        self.synonyms = [] if synonyms is EMPTY else synonyms
        self.config_type = config_type
        self.documentation = documentation


class DescribeConfigsResult(Struct):
    __slots__ = ("error_code", "error_message", "resource_type", "resource_name", "configs")

    def __init__(
        self,
        error_code: int = 0,  # 0+
        error_message: str | None = "",  # 0+
        resource_type: int = 0,  # 0+
        resource_name: str = "",  # 0+
        configs: list[DescribeConfigsResourceResult] = EMPTY,  # 0+
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = [] if configs is EMPTY else configs


class DescribeConfigsResponse(Message):
    API_KEY = 32
    MIN_VERSION = 1
    MAX_VERSION = 4
    FLEXIBLE_FROM = 4
    __slots__ = ("throttle_time_ms", "results")

    def __init__(
        self,
        throttle_time_ms: int = 0,  # 0+
        results: list[DescribeConfigsResult] = EMPTY,  # 0+
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is EMPTY else results


def _read_describe_configs_synonym_v1(data: bytes, pos: int, size: int) -> tuple[DescribeConfigsSynonym, int]:
    at = "name"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        name = data[pos:end].decode()
        pos = end
        at = "value"
        count, = _unpack_h(data, pos)
        pos += 2
        value_: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            value_ = data[pos:end].decode()
            pos = end
        at = "source"
        source, = _unpack_b(data, pos)
        pos += 1
    except READ_ERRORS as error:
        raise malformed("DescribeConfigsResponse.DescribeConfigsSynonym", at, pos, error) from None
    return DescribeConfigsSynonym(name, value_, source), pos


def _write_describe_configs_synonym_v1(w: Append, x: DescribeConfigsSynonym) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    value_ = x.value
    value__bytes = b"" if value_ is None else value_.encode()
    w(_pack_h(-1 if value_ is None else len(value__bytes)))
    w(value__bytes)
    w(_pack_b(x.source))


def _read_describe_configs_synonym_v4(data: bytes, pos: int, size: int) -> tuple[DescribeConfigsSynonym, int]:
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
        at = "value"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        value_: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            value_ = data[pos:end].decode()
            pos = end
        at = "source"
        source, tags = _unpack_bB(data, pos)
        pos += 2
        if tags:
            at = "tagged fields"
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeConfigsResponse.DescribeConfigsSynonym", at, pos, error) from None
    return DescribeConfigsSynonym(name, value_, source), pos


def _write_describe_configs_synonym_v4(w: Append, x: DescribeConfigsSynonym) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    value_ = x.value
    if value_ is None:
        w(b"\0")
    else:
        value__bytes = value_.encode()
        count = len(value__bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(value__bytes)
    w(_pack_bx(x.source))


def _read_describe_configs_resource_result_v1(data: bytes, pos: int, size: int) -> tuple[DescribeConfigsResourceResult, int]:
    at = "name"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        name = data[pos:end].decode()
        pos = end
        at = "value"
        count, = _unpack_h(data, pos)
        pos += 2
        value_: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            value_ = data[pos:end].decode()
            pos = end
        at = "read_only"
        read_only, config_source, is_sensitive, count = _unpack_TbTi(data, pos)
        pos += 7
        at = "synonyms"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        synonyms: list[DescribeConfigsSynonym] = []
        for _ in range(count):
            synonyms_item, pos = _read_describe_configs_synonym_v1(data, pos, size)
            synonyms.append(synonyms_item)
    except READ_ERRORS as error:
        raise malformed("DescribeConfigsResponse.DescribeConfigsResourceResult", at, pos, error) from None
    return DescribeConfigsResourceResult(name, value_, read_only, config_source, is_sensitive, synonyms, 0, ""), pos


def _write_describe_configs_resource_result_v1(w: Append, x: DescribeConfigsResourceResult) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    value_ = x.value
    value__bytes = b"" if value_ is None else value_.encode()
    w(_pack_h(-1 if value_ is None else len(value__bytes)))
    w(value__bytes)
    synonyms = x.synonyms
    w(_pack_TbTi(x.read_only, x.config_source, x.is_sensitive, len(synonyms)))
    for synonyms_item in synonyms:
        _write_describe_configs_synonym_v1(w, synonyms_item)


def _read_describe_configs_resource_result_v3(data: bytes, pos: int, size: int) -> tuple[DescribeConfigsResourceResult, int]:
    at = "name"
    try:
        count, = _unpack_h(data, pos)
        pos += 2
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        name = data[pos:end].decode()
        pos = end
        at = "value"
        count, = _unpack_h(data, pos)
        pos += 2
        value_: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            value_ = data[pos:end].decode()
            pos = end
        at = "read_only"
        read_only, config_source, is_sensitive, count = _unpack_TbTi(data, pos)
        pos += 7
        at = "synonyms"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        synonyms: list[DescribeConfigsSynonym] = []
        for _ in range(count):
            synonyms_item, pos = _read_describe_configs_synonym_v1(data, pos, size)
            synonyms.append(synonyms_item)
        at = "config_type"
        config_type, count = _unpack_bh(data, pos)
        pos += 3
        at = "documentation"
        documentation: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            documentation = data[pos:end].decode()
            pos = end
    except READ_ERRORS as error:
        raise malformed("DescribeConfigsResponse.DescribeConfigsResourceResult", at, pos, error) from None
    return DescribeConfigsResourceResult(name, value_, read_only, config_source, is_sensitive, synonyms, config_type, documentation), pos


def _write_describe_configs_resource_result_v3(w: Append, x: DescribeConfigsResourceResult) -> None:
    name = x.name
    name_bytes = name.encode()
    w(_pack_h(len(name_bytes)))
    w(name_bytes)
    value_ = x.value
    value__bytes = b"" if value_ is None else value_.encode()
    w(_pack_h(-1 if value_ is None else len(value__bytes)))
    w(value__bytes)
    synonyms = x.synonyms
    w(_pack_TbTi(x.read_only, x.config_source, x.is_sensitive, len(synonyms)))
    for synonyms_item in synonyms:
        _write_describe_configs_synonym_v1(w, synonyms_item)
    documentation = x.documentation
    documentation_bytes = b"" if documentation is None else documentation.encode()
    w(_pack_bh(x.config_type, -1 if documentation is None else len(documentation_bytes)))
    w(documentation_bytes)


def _read_describe_configs_resource_result_v4(data: bytes, pos: int, size: int) -> tuple[DescribeConfigsResourceResult, int]:
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
        at = "value"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        value_: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            value_ = data[pos:end].decode()
            pos = end
        at = "read_only"
        read_only, config_source, is_sensitive, count = _unpack_TbTB(data, pos)
        pos += 4
        at = "synonyms"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        synonyms: list[DescribeConfigsSynonym] = []
        for _ in range(count):
            synonyms_item, pos = _read_describe_configs_synonym_v4(data, pos, size)
            synonyms.append(synonyms_item)
        at = "config_type"
        config_type, count = _unpack_bB(data, pos)
        pos += 2
        at = "documentation"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        documentation: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            documentation = data[pos:end].decode()
            pos = end
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeConfigsResponse.DescribeConfigsResourceResult", at, pos, error) from None
    return DescribeConfigsResourceResult(name, value_, read_only, config_source, is_sensitive, synonyms, config_type, documentation), pos


def _write_describe_configs_resource_result_v4(w: Append, x: DescribeConfigsResourceResult) -> None:
    name = x.name
    name_bytes = name.encode()
    count = len(name_bytes) + 1
    w(VARINT[count] if count < 128 else string_length(count))
    w(name_bytes)
    value_ = x.value
    if value_ is None:
        w(b"\0")
    else:
        value__bytes = value_.encode()
        count = len(value__bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(value__bytes)
    synonyms = x.synonyms
    count = len(synonyms) + 1
    w(_pack_TbTB(x.read_only, x.config_source, x.is_sensitive, count) if count < 128 else _pack_TbT(x.read_only, x.config_source, x.is_sensitive) + uvarint(count))
    for synonyms_item in synonyms:
        _write_describe_configs_synonym_v4(w, synonyms_item)
    documentation = x.documentation
    w(_pack_b(x.config_type))
    if documentation is None:
        w(b"\0")
    else:
        documentation_bytes = documentation.encode()
        count = len(documentation_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(documentation_bytes)
    w(b"\0")


def _read_describe_configs_result_v1(data: bytes, pos: int, size: int) -> tuple[DescribeConfigsResult, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hh(data, pos)
        pos += 4
        at = "error_message"
        error_message: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "resource_type"
        resource_type, count = _unpack_bh(data, pos)
        pos += 3
        at = "resource_name"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        resource_name = data[pos:end].decode()
        pos = end
        at = "configs"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        configs: list[DescribeConfigsResourceResult] = []
        for _ in range(count):
            configs_item, pos = _read_describe_configs_resource_result_v1(data, pos, size)
            configs.append(configs_item)
    except READ_ERRORS as error:
        raise malformed("DescribeConfigsResponse.DescribeConfigsResult", at, pos, error) from None
    return DescribeConfigsResult(error_code, error_message, resource_type, resource_name, configs), pos


def _write_describe_configs_result_v1(w: Append, x: DescribeConfigsResult) -> None:
    error_message = x.error_message
    error_message_bytes = b"" if error_message is None else error_message.encode()
    w(_pack_hh(x.error_code, -1 if error_message is None else len(error_message_bytes)))
    w(error_message_bytes)
    resource_name = x.resource_name
    resource_name_bytes = resource_name.encode()
    w(_pack_bh(x.resource_type, len(resource_name_bytes)))
    w(resource_name_bytes)
    configs = x.configs
    w(_pack_i(len(configs)))
    for configs_item in configs:
        _write_describe_configs_resource_result_v1(w, configs_item)


def _read_describe_configs_result_v3(data: bytes, pos: int, size: int) -> tuple[DescribeConfigsResult, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hh(data, pos)
        pos += 4
        at = "error_message"
        error_message: str | None = None
        if count >= 0:
            end = pos + count
            if end > size:
                raise overrun(count, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "resource_type"
        resource_type, count = _unpack_bh(data, pos)
        pos += 3
        at = "resource_name"
        if count < 0:
            raise null_value(count)
        end = pos + count
        if end > size:
            raise overrun(count, size - pos)
        resource_name = data[pos:end].decode()
        pos = end
        at = "configs"
        count, = _unpack_i(data, pos)
        pos += 4
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        configs: list[DescribeConfigsResourceResult] = []
        for _ in range(count):
            configs_item, pos = _read_describe_configs_resource_result_v3(data, pos, size)
            configs.append(configs_item)
    except READ_ERRORS as error:
        raise malformed("DescribeConfigsResponse.DescribeConfigsResult", at, pos, error) from None
    return DescribeConfigsResult(error_code, error_message, resource_type, resource_name, configs), pos


def _write_describe_configs_result_v3(w: Append, x: DescribeConfigsResult) -> None:
    error_message = x.error_message
    error_message_bytes = b"" if error_message is None else error_message.encode()
    w(_pack_hh(x.error_code, -1 if error_message is None else len(error_message_bytes)))
    w(error_message_bytes)
    resource_name = x.resource_name
    resource_name_bytes = resource_name.encode()
    w(_pack_bh(x.resource_type, len(resource_name_bytes)))
    w(resource_name_bytes)
    configs = x.configs
    w(_pack_i(len(configs)))
    for configs_item in configs:
        _write_describe_configs_resource_result_v3(w, configs_item)


def _read_describe_configs_result_v4(data: bytes, pos: int, size: int) -> tuple[DescribeConfigsResult, int]:
    at = "error_code"
    try:
        error_code, count = _unpack_hB(data, pos)
        pos += 3
        at = "error_message"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        error_message: str | None = None
        if count:
            end = pos + count - 1
            if end > size:
                raise overrun(count - 1, size - pos)
            error_message = data[pos:end].decode()
            pos = end
        at = "resource_type"
        resource_type, count = _unpack_bB(data, pos)
        pos += 2
        at = "resource_name"
        if count > 127:
            count, pos = string_length_tail(data, pos, count)
        if not count:
            raise null_value(count)
        end = pos + count - 1
        if end > size:
            raise overrun(count - 1, size - pos)
        resource_name = data[pos:end].decode()
        pos = end
        at = "configs"
        count = data[pos]
        pos += 1
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        configs: list[DescribeConfigsResourceResult] = []
        for _ in range(count):
            configs_item, pos = _read_describe_configs_resource_result_v4(data, pos, size)
            configs.append(configs_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeConfigsResponse.DescribeConfigsResult", at, pos, error) from None
    return DescribeConfigsResult(error_code, error_message, resource_type, resource_name, configs), pos


def _write_describe_configs_result_v4(w: Append, x: DescribeConfigsResult) -> None:
    error_message = x.error_message
    w(_pack_h(x.error_code))
    if error_message is None:
        w(b"\0")
    else:
        error_message_bytes = error_message.encode()
        count = len(error_message_bytes) + 1
        w(VARINT[count] if count < 128 else string_length(count))
        w(error_message_bytes)
    resource_name = x.resource_name
    resource_name_bytes = resource_name.encode()
    count = len(resource_name_bytes) + 1
    w(_pack_bB(x.resource_type, count) if count < 128 else _pack_b(x.resource_type) + string_length(count))
    w(resource_name_bytes)
    configs = x.configs
    count = len(configs) + 1
    w(VARINT[count] if count < 128 else uvarint(count))
    for configs_item in configs:
        _write_describe_configs_resource_result_v4(w, configs_item)
    w(b"\0")


def _read_describe_configs_response_v1(data: bytes, pos: int, size: int) -> tuple[DescribeConfigsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "results"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        results: list[DescribeConfigsResult] = []
        for _ in range(count):
            results_item, pos = _read_describe_configs_result_v1(data, pos, size)
            results.append(results_item)
    except READ_ERRORS as error:
        raise malformed("DescribeConfigsResponse", at, pos, error) from None
    return DescribeConfigsResponse(throttle_time_ms, results), pos


def _write_describe_configs_response_v1(w: Append, x: DescribeConfigsResponse) -> None:
    results = x.results
    w(_pack_ii(x.throttle_time_ms, len(results)))
    for results_item in results:
        _write_describe_configs_result_v1(w, results_item)


def _read_describe_configs_response_v3(data: bytes, pos: int, size: int) -> tuple[DescribeConfigsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_ii(data, pos)
        pos += 8
        at = "results"
        if count < 0:
            raise null_value(count)
        if count > size - pos:
            raise overrun(count, size - pos)
        results: list[DescribeConfigsResult] = []
        for _ in range(count):
            results_item, pos = _read_describe_configs_result_v3(data, pos, size)
            results.append(results_item)
    except READ_ERRORS as error:
        raise malformed("DescribeConfigsResponse", at, pos, error) from None
    return DescribeConfigsResponse(throttle_time_ms, results), pos


def _write_describe_configs_response_v3(w: Append, x: DescribeConfigsResponse) -> None:
    results = x.results
    w(_pack_ii(x.throttle_time_ms, len(results)))
    for results_item in results:
        _write_describe_configs_result_v3(w, results_item)


def _read_describe_configs_response_v4(data: bytes, pos: int, size: int) -> tuple[DescribeConfigsResponse, int]:
    at = "throttle_time_ms"
    try:
        throttle_time_ms, count = _unpack_iB(data, pos)
        pos += 5
        at = "results"
        if count > 127:
            count, pos = uvarint_tail(data, pos, count)
        if not count:
            raise null_value(count)
        count -= 1
        if count > size - pos:
            raise overrun(count, size - pos)
        results: list[DescribeConfigsResult] = []
        for _ in range(count):
            results_item, pos = _read_describe_configs_result_v4(data, pos, size)
            results.append(results_item)
        at = "tagged fields"
        tags = data[pos]
        pos += 1
        if tags:
            pos = skip_tags(data, pos, size, tags)
    except READ_ERRORS as error:
        raise malformed("DescribeConfigsResponse", at, pos, error) from None
    return DescribeConfigsResponse(throttle_time_ms, results), pos


def _write_describe_configs_response_v4(w: Append, x: DescribeConfigsResponse) -> None:
    results = x.results
    count = len(results) + 1
    w(_pack_iB(x.throttle_time_ms, count) if count < 128 else _pack_i(x.throttle_time_ms) + uvarint(count))
    for results_item in results:
        _write_describe_configs_result_v4(w, results_item)
    w(b"\0")
DescribeConfigsResponse._READERS = {
    1: _read_describe_configs_response_v1,
    2: _read_describe_configs_response_v1,
    3: _read_describe_configs_response_v3,
    4: _read_describe_configs_response_v4,
}
DescribeConfigsResponse._WRITERS = {
    1: _write_describe_configs_response_v1,
    2: _write_describe_configs_response_v1,
    3: _write_describe_configs_response_v3,
    4: _write_describe_configs_response_v4,
}
