"""Protobuf: one text for what means the same, and which changes a reader survives, by Confluent's rules."""

from __future__ import annotations

import base64

import pytest
from google.protobuf import descriptor_pb2, timestamp_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from oncelog.schema_registry.formats.parsed import Dependency
from oncelog.schema_registry.formats.protobuf import parse
from oncelog.schema_registry.rest_errors import InvalidSchema

HEAD = 'syntax = "proto3"; package p; '


def problems(before: str, after: str) -> list[str]:
    return parse(HEAD + after, []).problems_reading(parse(HEAD + before, []))


ALLOWED = {
    "a field comes": ("message M {int32 a=1;}", "message M {int32 a=1; string b=2;}"),
    "a field goes": ("message M {int32 a=1; string b=2;}", "message M {int32 a=1;}"),
    "a name changes": ("message M {int32 a=1;}", "message M {int32 b=1;}"),
    "numbers of one kind": ("message M {int32 a=1;}", "message M {bool a=1;}"),
    "a string becomes bytes": ("message M {string a=1;}", "message M {bytes a=1;}"),
    "a string becomes repeated": ("message M {string a=1;}", "message M {repeated string a=1;}"),
    "a message comes": ("message M {}", "message M {} message N {}"),
    "an enum's value changes": ("enum E {A=0; B=1;}", "enum E {A=0; C=2;}"),
    "one field moves into a new oneof": ("message M {int32 a=1;}", "message M {oneof o {int32 a=1; int32 b=2;}}"),
    "a whole oneof goes": ("message M {int32 c=3; oneof o {int32 a=1;}}", "message M {int32 c=3;}"),
    "a field leaves a oneof": ("message M {oneof o {int32 a=1;}}", "message M {int32 a=1;}"),
}
REFUSED = {
    "the kind changes": ("message M {int32 a=1;}", "message M {string a=1;}", "FIELD_SCALAR_KIND_CHANGED"),
    "numbers of two kinds": ("message M {int32 a=1;}", "message M {sint32 a=1;}", "FIELD_SCALAR_KIND_CHANGED"),
    "a scalar becomes a message": (
        "message N {} message M {int32 a=1;}", "message N {} message M {N a=1;}", "FIELD_KIND_CHANGED",
    ),
    "another message": (
        "message N {} message O {} message M {N a=1;}", "message N {} message O {} message M {O a=1;}",
        "FIELD_NAMED_TYPE_CHANGED",
    ),
    "a map's value": ("message M {map<string,int32> a=1;}", "message M {map<string,string> a=1;}", "SCALAR_KIND"),
    "a number becomes repeated": ("message M {int32 a=1;}", "message M {repeated int32 a=1;}", "NUMERIC_LABEL"),
    "a message goes": ("message M {} message N {}", "message M {}", "MESSAGE_REMOVED"),
    "a nested message goes": ("message M {message N {}}", "message M {}", "MESSAGE_REMOVED"),
    "two fields move into a oneof": (
        "message M {int32 a=1; int32 b=2;}", "message M {oneof o {int32 a=1; int32 b=2;}}", "MULTIPLE_FIELDS",
    ),
    "a field moves into a oneof that is there": (
        "message M {int32 a=1; oneof o {int32 b=2;}}", "message M {oneof o {int32 a=1; int32 b=2;}}",
        "FIELD_MOVED_TO_EXISTING_ONEOF",
    ),
    "a field of a oneof goes": (
        "message M {oneof o {int32 a=1; int32 b=2;}}", "message M {oneof o {int32 a=1;}}", "ONEOF_FIELD_REMOVED",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", ALLOWED)
def test_a_compatible_change_is_allowed(what: str) -> None:
    assert problems(*ALLOWED[what]) == []


@pytest.mark.parametrize("what", REFUSED)
def test_an_incompatible_change_is_refused(what: str) -> None:
    before, after, kind = REFUSED[what]
    found = problems(before, after)
    assert len(found) == 1
    assert kind in found[0]


def test_the_package_and_required_fields_of_protobuf_count_in_the_comparison() -> None:
    before = parse('syntax = "proto2"; package a; message M {required int32 a=1;}', [])
    after = parse('syntax = "proto2"; package b; message M {required int32 b=2;}', [])
    kinds = " ".join(after.problems_reading(before))
    assert all(kind in kinds for kind in ("PACKAGE_CHANGED", "REQUIRED_FIELD_ADDED", "REQUIRED_FIELD_REMOVED"))


EVERYTHING = """
syntax = "proto3";
package everything.of_it;
import "google/protobuf/timestamp.proto";
import public "google/protobuf/duration.proto";
option java_package = "com.example\\"quoted\\"";
option java_multiple_files = true;
message M {
  option deprecated = true;
  int32 a = 1 [deprecated = true];
  optional string b = 2 [json_name = "other"];
  repeated int64 c = 3 [packed = false];
  map<string, Nested> d = 4;
  oneof choice { bytes e = 5; Nested f = 6; }
  google.protobuf.Timestamp g = 7;
  reserved 10, 12 to 14, 20 to max;
  reserved "old", "older";
  message Nested { Kind kind = 1; message Deeper { sfixed64 x = 1; } Deeper deeper = 2; }
  enum Kind { option allow_alias = true; NONE = 0; ZERO = 0; NEGATIVE = -1; reserved 5 to 7; }
}
service S { rpc Call (M) returns (stream M.Nested) { option deprecated = true; } }
"""
OLDER = """
syntax = "proto2";
message M {
  required string a = 1 [default = "x\\ny"];
  optional bytes b = 2 [default = "\\001\\377"];
  optional float c = 3 [default = inf];
  extensions 100 to 199;
}
extend M { optional int32 extra = 100; }
"""


GROUPS = """
syntax = "proto2";
message M {
  repeated group Item = 1 { optional int32 a = 1; optional group Deep = 2 { required bool b = 1; } }
  oneof o { group Either = 3 { optional int32 c = 1; } string d = 4; }
  extensions 100 to 199;
}
message Holder { extend M { optional group Inside = 100 { optional int32 e = 1; } } }
extend M { repeated group Outside = 101 { optional string f = 1; } optional int32 g = 102; }
"""
EDITION = """
edition = "2023";
package editions;
option features.field_presence = IMPLICIT;
message M {
  option features.json_format = LEGACY_BEST_EFFORT;
  int32 a = 1 [features.field_presence = LEGACY_REQUIRED];
  string b = 2 [features.field_presence = EXPLICIT, deprecated = true];
  N c = 3 [features.message_encoding = DELIMITED];
  repeated int32 d = 4 [features.repeated_field_encoding = EXPANDED];
  map<string, N> e = 5;
  oneof o { string f = 6; }
}
message N { E e = 1 [features.field_presence = EXPLICIT]; }
enum E { option features.enum_type = CLOSED; A = 1; reserved 5 to 6; }
"""
MAPS_BETWEEN_MESSAGES = """
syntax = "proto2";
package p;
message M {
  message First { optional int32 a = 1; }
  optional group Second = 9 { optional int32 b = 1; }
  message Third {}
  map<string, Item> items = 3;
  message Item { map<int32, First> firsts = 1; message Deep {} }
  oneof o { string x = 4; group Fourth = 5 { optional int32 c = 1; } }
  map<string, int32> counts = 2;
  message Last {}
  optional M.Item one = 6;
}
"""


@pytest.mark.parametrize("text", [EVERYTHING, OLDER, GROUPS, EDITION, MAPS_BETWEEN_MESSAGES])
def test_a_schema_and_its_serialized_descriptor_have_the_same_canonical_text(text: str) -> None:
    written = parse(text, [])
    assert parse(written.text, []).text == written.text
    assert parse(f"// a comment\n{text}\n", []).text == written.text
    assert parse(written.formatted("serialized"), []).text == written.text
    assert "message M {" in written.text


def test_the_canonical_text_keeps_the_positions_of_messages() -> None:
    """protoc makes a nested message of each map and group, and a record names its message by position."""

    def nested(text: str) -> list[str]:
        descriptor = FileDescriptorProto.FromString(base64.b64decode(parse(text, []).formatted("serialized")))
        return [message.name for message in descriptor.message_type[0].nested_type]

    positions = ["First", "Second", "Third", "ItemsEntry", "Item", "Fourth", "CountsEntry", "Last"]
    assert nested(MAPS_BETWEEN_MESSAGES) == nested(parse(MAPS_BETWEEN_MESSAGES, []).text) == positions
    maps = "message A {} map<int32, B> y = 2; message B {} map<int32, B> x = 1; message C {}"
    normalized = parse(f'syntax = "proto3"; message M {{ {maps} }}', []).normalized()
    assert normalized.index("map<int32, .M.B> x = 1") < normalized.index("map<int32, .M.B> y = 2")
    assert nested(normalized) == ["A", "XEntry", "B", "YEntry", "C"]


def test_a_serialized_descriptor_of_confluents_python_client_is_accepted() -> None:
    descriptor = FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(descriptor)
    sent = base64.b64encode(descriptor.SerializeToString()).decode()
    found = parse(sent, [])
    assert "message Timestamp {" in found.text
    back = FileDescriptorProto.FromString(base64.b64decode(found.formatted("serialized")))
    assert [message.name for message in back.message_type] == ["Timestamp"]
    with pytest.raises(InvalidSchema, match="no format"):
        found.formatted("json")


def test_custom_protobuf_options_are_kept() -> None:
    text = HEAD + 'import "confluent/meta.proto"; message M {string a=1 [(confluent.field_meta).tags="PII"];}'
    found = parse(text, [])
    assert "PII" in found.text
    again = parse(found.formatted("serialized"), [])
    assert again.formatted("serialized") == found.formatted("serialized")


def test_imports_are_resolved_only_among_the_given_files() -> None:
    inner = Dependency("shared/inner.proto", HEAD + "message Inner {int32 a=1;}")
    text = HEAD + 'import "shared/inner.proto"; message M {Inner inner=1;}'
    found = parse(text, [inner])
    changed = parse(text, [inner._replace(text=HEAD + "message Inner {string a=1;}")])
    assert changed.problems_reading(found) != []
    assert found.problems_reading(found) == []
    with pytest.raises(InvalidSchema, match=r"shared/inner\.proto"):
        parse(text, [])


@pytest.mark.parametrize("name", ["../x.proto", "/etc/x.proto", "a/../../x.proto", "", "a\0b"])
def test_a_reference_cannot_name_a_file_elsewhere(name: str) -> None:
    with pytest.raises(InvalidSchema):
        parse(HEAD + "message M {}", [Dependency(name, HEAD)])


@pytest.mark.parametrize(
    "text",
    ["nothing", "message M {", HEAD + "message M {int32 a=1; int32 b=1;}", HEAD + "message M {Missing a=1;}",
     HEAD + 'import "/etc/passwd";', HEAD + "message M {" * 10_000 + "}" * 10_000, "AAAA", "{}",
     base64.b64encode(b"\xff" * 50).decode(), HEAD + "message M {int32 a=0;}"],
)  # fmt: skip
def test_an_invalid_schema_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchema):
        parse(text, [])


def test_every_scalar_type_of_protobuf_is_known() -> None:
    from oncelog.schema_registry.formats.protobuf_changes import _KINDS

    messages = {"TYPE_MESSAGE", "TYPE_GROUP"}
    every = {name: number for name, number in descriptor_pb2.FieldDescriptorProto.Type.items() if name not in messages}
    assert set(_KINDS) == set(every.values())


SHUFFLED = """syntax = "proto3";
import "google/protobuf/timestamp.proto";
import public "google/protobuf/duration.proto";
message M {
  int32 c = 7; string a = 1; map<string, E> m = 3;
  oneof o { int32 y = 9; int32 x = 5; }
  reserved 30, 20; reserved "t", "s";
  message Z { bool b = 2; bool a = 1; } message Y {}
}
enum E { NONE = 0; Q = 5; P = -1; R = 2; }
"""
IN_ORDER = """syntax = "proto3";
import public "google/protobuf/duration.proto";
import "google/protobuf/timestamp.proto";
message M {
  string a = 1; map<string, E> m = 3;
  oneof o { int32 x = 5; int32 y = 9; }
  int32 c = 7;
  reserved 20, 30; reserved "s", "t";
  message Z { bool a = 1; bool b = 2; } message Y {}
}
enum E { NONE = 0; P = -1; R = 2; Q = 5; }
"""


def test_a_normalized_schema_is_in_the_order_of_its_numbers() -> None:
    """Confluent's registry sorts imports, fields, values of enums and what is reserved, and leaves messages, whose
    places are in records, where they are."""
    shuffled, in_order = parse(SHUFFLED, []), parse(IN_ORDER, [])
    assert shuffled.text != in_order.text
    assert shuffled.normalized() == in_order.normalized() == in_order.text
    assert parse(shuffled.normalized(), []).text == in_order.text
    others = SHUFFLED.replace("message Y {}", "").replace("message Z", "message Y {} message Z")
    assert parse(others, []).normalized() != in_order.normalized()
