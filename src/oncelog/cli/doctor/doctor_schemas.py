"""The checks of ``oncelog doctor --schema-registry``: whether the registry answers, and whether it knows the schema ids
in topics.

The checks only read: the last records of each partition of the topics that have a subject.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from oncelog.cli.doctor.findings import DoctorFinding, bad, warn
from oncelog.cli.shared.output import counted
from oncelog.errors import OncelogError
from oncelog.types import TopicPartition

if TYPE_CHECKING:
    from oncelog.cli.shared.options import ConnectionOptions
    from oncelog.cli.shared.registry_option import RegistryAccess
    from oncelog.client.blocking import Consumer
    from oncelog.client.core.structs import ConsumerRecord
    from oncelog.schemas import SchemaRegistry

CHECK = "schema registry"
LAST_RECORDS = 1000
"""How many of a partition's last records are checked."""
WAIT_MS = 5_000
MAX_NAMED = 5


def findings(access: RegistryAccess, cluster: ConnectionOptions | None) -> Iterator[DoctorFinding]:
    """The findings about a schema registry.

    :param cluster: the cluster whose topics are checked; None to check only the registry.
    """
    from oncelog.cli.shared.registry_option import registry

    with registry(access) as asked:
        try:
            subjects = asked.subjects()
        except OncelogError as error:
            yield bad(CHECK, str(error), "start it, or check its address and login: clients cannot write or read")
            return
        yield DoctorFinding(CHECK, f"{asked.url}, {counted(len(subjects), 'subject')}")
        if cluster is not None:
            try:
                yield from _topics(cluster, asked, subjects)
            except OncelogError as error:
                yield warn(
                    CHECK,
                    f"schema ids could not be checked in all topics: {error}",
                    "grant the permissions that were refused",
                )


def _topics(cluster: ConnectionOptions, registry: SchemaRegistry, subjects: list[str]) -> Iterator[DoctorFinding]:
    from oncelog.client.blocking import Consumer
    from oncelog.client.core.config import ConsumerConfig
    from oncelog.schemas.subjects import topic_subject

    with cluster.admin() as admin:
        described = admin.describe_topics(admin.list_topics())
    parts = {
        topic.name: [TopicPartition(topic.name, part.partition) for part in topic.partitions if part.leader >= 0]
        for topic in described
    }
    named = {name: [key for key in (False, True) if topic_subject(name, key, None) in subjects] for name in parts}
    settings = cluster.settings(ConsumerConfig, auto_offset_reset="earliest")
    with Consumer(config=settings) as consumer:
        for name, sides in sorted(named.items()):
            unknown: dict[int | str, str] = {}
            for part in parts[name] if sides else ():
                _look(consumer, part, sides, registry, unknown)
            if unknown:
                ids = sorted(unknown, key=str)
                more = f" and {len(ids) - MAX_NAMED} more" if len(ids) > MAX_NAMED else ""
                listed = ", ".join(map(str, ids[:MAX_NAMED])) + more
                yield bad(
                    CHECK,
                    f"topic {name} has records with schema ids that the registry does not know: {listed}, "
                    f"as in {unknown[ids[0]]}",
                    "restore these schemas, or ask the registry that they were written with: readers cannot read them",
                )


def _look(
    consumer: Consumer[bytes, bytes],
    part: TopicPartition,
    sides: list[bool],
    registry: SchemaRegistry,
    unknown: dict[int | str, str],
) -> None:
    """Add the ids in a partition's last records that the registry does not know, each with one record as an example."""
    consumer.assign([part])
    end, begin = consumer.end_offsets([part])[part], consumer.beginning_offsets([part])[part]
    consumer.seek(part, max(begin, end - LAST_RECORDS))
    while consumer.position(part) < end:
        records = consumer.getmany(timeout_ms=WAIT_MS).get(part, [])
        if not records:
            return  # an open transaction holds back the remaining records
        for record in records:
            for is_key in sides:
                named = _named(record, is_key)
                if named is not None and named not in unknown and not _is_known(registry, named):
                    unknown[named] = f"{part} at offset {record.offset}"


def _named(record: ConsumerRecord[bytes, bytes], is_key: bool) -> int | str | None:
    """The schema id or GUID of a key or value; None if neither its bytes nor a header contain one."""
    from oncelog.schemas.framing import header_of, schema_named
    from oncelog.schemas.schema_errors import SchemaError

    data = record.key if is_key else record.value
    try:
        return None if data is None else schema_named(data, header_of(record.headers, is_key))[0]
    except SchemaError:
        return None


def _is_known(registry: SchemaRegistry, named: int | str) -> bool:
    from oncelog.schemas.schema_errors import SchemaRegistryError

    try:
        registry.schema(named if isinstance(named, int) else registry.id_of(named))
    except SchemaRegistryError as error:
        if not error.is_not_found:
            raise
        return False
    return True
