"""The options of ``CREATE TABLE ... USING oncelog``: checked by that statement, and divided between reads and writes.
Pure.

Spark passes the statement's options in lower case, each under its name and under ``option.`` with its name, mixed with
properties of the catalog and of the user; this module separates them. A table accepts the options of reads and of
writes; a batch read ignores those of streams, and a stream those of batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from oncelog.errors import ConfigError
from oncelog.settings.fields import nearest
from oncelog.spark.client_properties import (
    CONSUMER_PROPERTIES,
    PRODUCER_PROPERTIES,
    SparkProperty,
    check_client_properties,
    refuse_without_prefix,
)
from oncelog.spark.options import (
    BATCH_READ_OPTIONS,
    REFUSED_OPTIONS,
    SINK_OPTIONS,
    SOURCE_OPTIONS,
    STREAM_READ_OPTIONS,
    parse_sink_options,
    parse_source_options,
)

SERVERS = "kafka.bootstrap.servers"
WRITING = ("topic", "topics", "createTopics", "transactionalIdPrefix", "maxBatchBytes", "markerTopic")
"""The write options that a table may have, because they mean the same for each INSERT."""
_OF_A_QUERY = 'it belongs to a query: give it to writeStream.format("oncelog")'
_EACH_INSERT = "it names a single write: INSERT INTO orders WITH ({0} = ...) (key, value) ..."
REFUSED_IN_A_TABLE: Mapping[str, str] = {
    **REFUSED_OPTIONS,
    "batchId": _EACH_INSERT.format("transactionalIdPrefix = ..., batchId"),
    "onMissingMarker": _EACH_INSERT.format("transactionalIdPrefix = ..., batchId = ..., onMissingMarker"),
    "writers": "the driver writes what INSERT has",
    **dict.fromkeys(
        ("checkpointLocation", "queryName", "onFullRefresh", "offsetsRetentionMinutes", "microBatch", "sinkName"),
        _OF_A_QUERY,
    ),
}
SUBSCRIPTIONS = ("subscribe", "subscribepattern", "assign")
_TOGETHER = (
    SUBSCRIPTIONS,
    ("startingoffsets", "startingtimestamp", "startingoffsetsbytimestamp"),
    ("endingoffsets", "endingtimestamp", "endingoffsetsbytimestamp"),
    ("topic", "topics"),
)
"""Groups of options. If ``WITH`` of a statement sets an option of a group, the table's options of that group do not
apply, because they could contradict it.
"""
_KEPT_BY_THE_CATALOG = ("provider", "owner", "comment", "collation", "external", "is_managed_location", "path")
_SECRETS = ("password", "passphrase", "secret", "jaas", "keystore.key")

AGAIN = (
    "DROP TABLE (it deletes no record), and CREATE TABLE orders USING oncelog OPTIONS (kafka.bootstrap.servers "
    "'HOST:PORT', subscribe 'orders') without a column list and without AS SELECT"
)
"""The advice for a table that has lost its options."""


def changed(columns: str) -> str:
    """The error message for a table with columns other than those of a record."""
    return f"The table's columns ({columns}) are not those of a record, as CREATE TABLE made them: {AGAIN}"


@dataclass(frozen=True, slots=True)
class OptionsOfTable:
    """The options of a table for its reads and for its writes, by lower-case name."""

    reading: Mapping[str, str]
    writing: Mapping[str, str]

    def of_read(self, with_options: Mapping[str, str], *, streaming: bool) -> dict[str, str]:
        """The options of a read; those of its statement (``WITH``, or the reader's ``option``) take precedence."""
        unused = {name.lower() for name in (BATCH_READ_OPTIONS if streaming else STREAM_READ_OPTIONS)}
        own = {name: value for name, value in self.reading.items() if name not in unused}
        return _merged(own, with_options)

    def of_write(self, with_options: Mapping[str, str]) -> dict[str, str]:
        """The options of a batch write: the table's, overridden by those of the statement."""
        return _merged(self.writing, with_options)


def creates_table(options: Mapping[str, str]) -> bool:
    """Whether Spark requests the columns for ``CREATE TABLE`` in a catalog, which these options show."""
    return "provider" in _lowered(options)


def table_options(given: Mapping[str, str]) -> OptionsOfTable:
    """Parse the options of ``CREATE TABLE``, and check them as reads and writes will.

    :raises ConfigError: an option is unknown, does not apply to tables or is a secret; the broker or the topics are
        missing; or a read or a write would refuse the options. The message says what to write.
    """
    options = _options_of_statement(_lowered(given))
    _refuse_unknown(options)
    _refuse_secrets(options)
    if options.get("startingoffsets", "").strip().lower() == "latest":
        raise ConfigError(
            "Option startingOffsets of a table cannot be latest, where SELECT would find nothing: leave it out; a "
            "stream starts at latest anyway, unless its query has the option startingOffsets"
        )
    table = _shared_out(options)
    if not any(name in options for name in (*SUBSCRIPTIONS, "topic", "topics")):
        raise ConfigError(
            "The table names no topic: give CREATE TABLE the option subscribe (or subscribePattern, or assign) to read "
            "topics, topic to write to one, or both"
        )
    for streaming in (False, True):
        parse_source_options(table.of_read({}, streaming=streaming), streaming=streaming)
    parse_sink_options(table.of_write({}), streaming=False)
    return table


def _options_of_statement(given: Mapping[str, str]) -> dict[str, str]:
    """The OPTIONS of the statement, and oncelog's options in TBLPROPERTIES. Raises ConfigError for a misspelt
    option."""
    if "location" in given and given.get("is_managed_location", "false").lower() != "true":
        raise ConfigError(f"LOCATION and path are not supported, leave them out: {REFUSED_OPTIONS['path']}")
    options = {name.removeprefix("option."): value for name, value in given.items() if name.startswith("option.")}
    known = {name.lower(): name for name in (*SOURCE_OPTIONS, *SINK_OPTIONS)}
    for name, value in given.items():
        if name in options or name.startswith("option.") or name in (*_KEPT_BY_THE_CATALOG, "location"):
            continue
        if name.startswith("kafka.") or name in known:
            options[name] = value
        elif close := nearest(name, known):
            raise ConfigError(f"Unknown property {name!r} of a table USING oncelog{_spelt(close, known)}")
    return options


def _refuse_unknown(options: Mapping[str, str]) -> None:
    known = {name.lower(): name for name in (*SOURCE_OPTIONS, *WRITING)}
    refused = {name.lower(): (name, why) for name, why in REFUSED_IN_A_TABLE.items()}
    for name, value in options.items():
        if name.startswith("kafka."):
            _check_property(name.removeprefix("kafka."), value)
        elif name in refused:
            spelling, why = refused[name]
            raise ConfigError(f"Option {spelling} has no meaning in a table, leave it out: {why}")
        elif name not in known:
            refuse_without_prefix(name, {**PRODUCER_PROPERTIES, **CONSUMER_PROPERTIES})
            raise ConfigError(f"Unknown option {name!r} of format oncelog{_spelt(nearest(name, known), known)}")


def _spelt(hint: str, known: Mapping[str, str]) -> str:
    """A hint with an option's name in the spelling of the documentation, because Spark passes names in lower case."""
    name = hint.removeprefix("; did you mean ").removesuffix("?")
    return f"; did you mean {known[name]}?" if hint else ""


def _check_property(name: str, value: str) -> None:
    """Check a client property of a table: it must have an effect in reads or in writes. Raises ConfigError
    otherwise."""
    tables = [table for table in (CONSUMER_PROPERTIES, PRODUCER_PROPERTIES) if name in table]
    for table in [table for table in tables if table[name].effect] or tables[:1] or [CONSUMER_PROPERTIES]:
        check_client_properties({name: value}, table)


def _refuse_secrets(options: Mapping[str, str]) -> None:
    for name in options:
        if name.startswith("kafka.") and any(word in name for word in _SECRETS):
            raise ConfigError(
                f"Option {name} is a secret, which everybody could read in the catalog: leave it out of the table, and "
                f"give it to each statement, for example SELECT * FROM orders WITH ('{name}' = '${{env:KAFKA_SECRET}}')"
                " (Spark reads the driver's environment), or create a temporary view instead of a table"
            )


def _shared_out(options: Mapping[str, str]) -> OptionsOfTable:
    reading = _role(options, CONSUMER_PROPERTIES, SOURCE_OPTIONS)
    writing = _role(options, PRODUCER_PROPERTIES, WRITING)
    topics = options.get("topic") or options.get("topics")
    if topics and not set(SUBSCRIPTIONS) & {*options}:
        reading["subscribe"] = topics
    subscribed = [name for name in options.get("subscribe", "").split(",") if name.strip()]
    if subscribed and not topics:
        writing["topic" if len(subscribed) == 1 else "topics"] = options["subscribe"]
    return OptionsOfTable(reading, writing)


def _role(options: Mapping[str, str], properties: Mapping[str, SparkProperty], names: Iterable[str]) -> dict[str, str]:
    known = {name.lower() for name in names} | {f"kafka.{name}" for name, found in properties.items() if found.effect}
    return {name: value for name, value in options.items() if name in known}


def _merged(own: Mapping[str, str], with_options: Mapping[str, str]) -> dict[str, str]:
    given = _lowered(with_options)
    replaced = {name for group in _TOGETHER if set(group) & {*given} for name in group}
    return {name: value for name, value in own.items() if name not in replaced} | given


def _lowered(options: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in options.items()}
