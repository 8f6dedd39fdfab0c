"""Changes settings while the broker runs, for AlterConfigs and IncrementalAlterConfigs.

A change is checked as a whole, with Kafka's errors and messages, stored in the metadata and applied, and then answered.
Sources: Kafka's ``ConfigAdminManager``, ``DynamicBrokerConfig``, ``ConfigurationControlManager`` and
``ControllerConfigurationValidator``.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from oncelog.broker.core.administration import loggers
from oncelog.broker.core.requests.work import Work
from oncelog.broker.core.security.access import GROUP, TOPIC, AccessPorts, allows, allows_cluster
from oncelog.broker.core.security.refusals import MESSAGES
from oncelog.broker.metadata.descriptions import MIN_IN_SYNC, for_every_broker
from oncelog.broker.metadata.opening import effective_config
from oncelog.broker.metadata.store import ResourceType
from oncelog.broker.metadata.topic_rules import name_refusal, overrides_refusal
from oncelog.errors import ConfigError, Error, StorageError
from oncelog.protocol.acls import Operation
from oncelog.runtime.deferred import Deferred
from oncelog.settings.config import LISTENER_PREFIX, BrokerConfig, is_broker_setting, parse_broker
from oncelog.settings.fields import nearest, properties
from oncelog.settings.kafka_properties import (
    KafkaProperty,
    UpdateMode,
    Value,
    broker_properties,
    client_metrics_properties,
    group_properties,
    topic_properties,
)

if TYPE_CHECKING:
    from oncelog.broker.core.administration.listeners import RunningListeners
    from oncelog.broker.core.administration.nodes import BrokerNodes
    from oncelog.broker.core.administration.topics import Topics
    from oncelog.broker.core.cluster.cluster import Cluster
    from oncelog.broker.core.cluster.node import SimulatedNode
    from oncelog.broker.core.requests.context import RequestContext
    from oncelog.broker.core.requests.tasks import Tasks
    from oncelog.broker.metadata.store import MetadataStore


logger = logging.getLogger(__name__)

RESOURCES_IN_A_CHUNK = 10
MAX_SETTINGS = 1000
"""The maximum number of settings that a request may name for one resource: several times the number that exist."""


class NamedConfig(Protocol):
    """A setting in a request, whose name is all that both APIs have in common."""

    name: str


class AlteredResource(Protocol):
    """A resource in a request, with the fields that both APIs have in common."""

    resource_type: int
    resource_name: str

    @property
    def configs(self) -> Sequence[NamedConfig]: ...


R = TypeVar("R", bound=AlteredResource)
A = TypeVar("A")


class ConfigRefusal(NamedTuple):
    """The error with which a change of a resource is refused."""

    error: Error
    message: str | None


OWN_MIN_IN_SYNC = ConfigRefusal(
    Error.INVALID_CONFIG, f"Broker-level {MIN_IN_SYNC} cannot be altered while ELR is enabled."
)
REMOVED_MIN_IN_SYNC = ConfigRefusal(
    Error.INVALID_CONFIG, f"Cluster-level {MIN_IN_SYNC} cannot be removed while ELR is enabled."
)
_TWICE = ConfigRefusal(Error.INVALID_REQUEST, "Each resource must appear at most once.")

PROPERTIES = {
    ResourceType.TOPIC: topic_properties,
    ResourceType.BROKER: broker_properties,
    ResourceType.GROUP: group_properties,
    ResourceType.CLIENT_METRICS: client_metrics_properties,
}
"""For each resource type whose settings are stored, a function that returns the known settings."""

_SHARED_BY_NODES = ("group.consumer.assignment.interval.ms", "log.cleaner.backoff.ms")
"""Settings that the nodes of one process share; the values of the first node are in force. All other settings of a node
apply to its connections and to the partitions that it leads."""
_MATCHES = frozenset(
    {
        "client_id",
        "client_instance_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)
"""The attributes of clients on which a client metrics subscription may match (KIP-714)."""


class ConfigChangePorts(AccessPorts, Protocol):
    """The interface that changes of settings need from their broker."""

    config: BrokerConfig
    metadata: MetadataStore
    node: SimulatedNode
    nodes: BrokerNodes
    cluster: Cluster | None
    topics: Topics
    listeners: RunningListeners | None
    tasks: Tasks

    def reconfigure(self, config: BrokerConfig) -> None: ...


def refusal_of_caller(
    ports: ConfigChangePorts, context: RequestContext, kind: int, name: str, operation: int
) -> ConfigRefusal | None:
    """The error if the caller may not see (DESCRIBE_CONFIGS) or change (ALTER_CONFIGS) the settings of a resource, else
    None."""
    if kind == ResourceType.TOPIC:
        allowed, error = allows(ports, context, operation, TOPIC, name), Error.TOPIC_AUTHORIZATION_FAILED
    elif kind == ResourceType.GROUP:
        allowed, error = allows(ports, context, operation, GROUP, name), Error.GROUP_AUTHORIZATION_FAILED
    elif kind in set(ResourceType) - {ResourceType.UNKNOWN}:
        allowed, error = allows_cluster(ports, context, operation), Error.CLUSTER_AUTHORIZATION_FAILED
    else:
        return None
    return None if allowed else ConfigRefusal(error, MESSAGES[error])


def _refusal_of_resource(ports: ConfigChangePorts, kind: int, name: str, *, loggers_too: bool) -> ConfigRefusal | None:
    """The error if the settings of this resource cannot be changed at all, else None."""
    match kind:
        case ResourceType.TOPIC:
            if not name:
                return ConfigRefusal(Error.INVALID_REQUEST, "Default topic resources are not allowed.")
            message = name_refusal(name)
            if message is not None:
                return ConfigRefusal(Error.INVALID_TOPIC_EXCEPTION, message)
        case ResourceType.BROKER:
            return _refusal_of_node(ports, name, "Unexpected broker id, expected") if name else None
        case ResourceType.BROKER_LOGGER if loggers_too:
            return _refusal_of_node(ports, name, "Unexpected node id. Expected")
        case ResourceType.GROUP:
            if not name:
                return ConfigRefusal(Error.INVALID_REQUEST, "Default group resources are not allowed.")
        case ResourceType.CLIENT_METRICS:
            if not name:
                return ConfigRefusal(Error.INVALID_REQUEST, "Subscription name can't be empty")
        case _:
            return ConfigRefusal(Error.INVALID_REQUEST, f"Unknown resource type {kind}")
    return None


def refusal_of_many(count: int) -> ConfigRefusal | None:
    """The error if a request names too many settings of one resource, else None."""
    if count <= MAX_SETTINGS:
        return None
    return ConfigRefusal(Error.INVALID_REQUEST, f"{count} settings of one resource; at most {MAX_SETTINGS} are taken")


def _refusal_of_keys(names: Collection[str], nulls: Collection[str]) -> ConfigRefusal | None:
    """Refuse null values and duplicate names, as Kafka does before it validates the settings.

    :param nulls: names of settings that need a value but have none.
    """
    many = refusal_of_many(len(names))
    if many is not None:
        return many
    if len(set(names)) != len(names):
        return ConfigRefusal(Error.INVALID_REQUEST, "Error due to duplicate config keys")
    if nulls:
        return ConfigRefusal(Error.INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}")
    return None


def _settings_name(ports: ConfigChangePorts, kind: int, name: str) -> str:
    """The name of the resource that owns the settings: several nodes in one process share the loggers of the first."""
    if kind == ResourceType.BROKER_LOGGER and name in {str(node_id) for node_id in ports.nodes.ids}:
        return str(ports.node.node_id)
    return name


def _refusal_of_node(ports: ConfigChangePorts, name: str, unexpected: str) -> ConfigRefusal | None:
    node_id = ports.node.node_id
    try:
        asked = int(name)
    except ValueError:
        return ConfigRefusal(Error.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
    if asked not in ports.nodes.ids:
        return ConfigRefusal(Error.INVALID_REQUEST, f"{unexpected} {node_id}, but received {name}")
    return None


def change_each(
    ports: ConfigChangePorts,
    context: RequestContext,
    resources: Sequence[R],
    nulls: Callable[[R], Collection[str]],
    alter: Callable[[R, str], ConfigRefusal | None],
    response: Callable[[int, str | None, int, str], A],
    *,
    loggers_too: bool = False,
) -> Deferred[list[A]]:
    """Change several resources one by one, refusing those named twice; resolves to a response for each.

    :param nulls: the names of settings that need a value but have none.
    :param alter: changes a resource that may be changed; its second argument is the owner of the settings.
    :param response: builds a response from error code, message, resource type and resource name.
    """

    def changed(resource: R) -> ConfigRefusal | None:
        kind, name = resource.resource_type, _settings_name(ports, resource.resource_type, resource.resource_name)
        return (
            _refusal_of_keys([config.name for config in resource.configs], nulls(resource))
            or refusal_of_caller(ports, context, kind, name, Operation.ALTER_CONFIGS)
            or _refusal_of_resource(ports, kind, name, loggers_too=loggers_too)
            or alter(resource, name)
        )

    def changing() -> Work[list[A]]:
        responses: list[A] = []
        counts = Counter((resource.resource_type, resource.resource_name) for resource in resources)
        for resource in resources:
            kind, name = resource.resource_type, resource.resource_name
            try:
                refusal = _TWICE if counts[kind, name] > 1 else changed(resource)
            except StorageError as error:
                refusal = ConfigRefusal(Error.KAFKA_STORAGE_ERROR, str(error))
            error_code, message = refusal or (Error.NONE, None)
            responses.append(response(error_code, message, kind, name))
            if not len(responses) % RESOURCES_IN_A_CHUNK:
                yield
        return responses

    return ports.tasks.begin(changing(), context)


def current_values(ports: ConfigChangePorts, kind: ResourceType, name: str) -> Mapping[str, str]:
    """All settings stored for a resource."""
    if kind is ResourceType.TOPIC:
        info = ports.metadata.topic(name)
        return info.overrides if info is not None else {}
    altered = ports.metadata.dynamic_config(kind, name)
    return for_every_broker(ports.config, altered) if kind is ResourceType.BROKER and not name else altered


def change(
    ports: ConfigChangePorts, kind: ResourceType, name: str, values: Mapping[str, str], *, validate_only: bool
) -> ConfigRefusal | None:
    """Replace all settings of a resource by ``values``, durably and at once.

    :param validate_only: check, and change nothing.
    """
    match kind:
        case ResourceType.TOPIC:
            message = overrides_refusal(values, ports.metadata.topic_defaults)
            refusal = ConfigRefusal(Error.INVALID_CONFIG, message) if message is not None else None
            if refusal is None and ports.metadata.topic(name) is None:
                refusal = ConfigRefusal(Error.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
        case ResourceType.BROKER:
            refusal = _refusal_of_broker_settings(ports, name, values) or _refusal_of_min_in_sync(ports, name, values)
        case ResourceType.GROUP:
            refusal = _refusal_of_group_settings(ports, values)
        case _:
            refusal = _refusal_of_client_metrics(values)
    if refusal is None and not validate_only:
        _take_effect(ports, kind, name, values)
    return refusal


def _take_effect(ports: ConfigChangePorts, kind: ResourceType, name: str, values: Mapping[str, str]) -> None:
    store = ports.metadata
    if kind is ResourceType.TOPIC:
        store.set_topic_config(name, values)
        ports.topics.config_changed(name)
        return
    store.set_dynamic_config(kind, name, values)
    if kind is ResourceType.BROKER:
        _reconfigure(ports, ports.config)


def reread(ports: ConfigChangePorts, given: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Apply the startup properties in ``given``, which were read again, as far as they may change while the broker
    runs.

    Returns the names of properties that changed, and of properties that differ but need a restart. Settings from
    AlterConfigs still take precedence.

    :raises ConfigError: a value is not allowed; nothing changed.
    """
    started = ports.config.started or ports.config
    before, known = started.static, broker_properties()
    differing = sorted(name for name in before.keys() | given.keys() if before.get(name) != given.get(name))
    changed: list[str] = []
    waiting: list[str] = []
    for name in differing:
        setting = known.get(LISTENER_PREFIX.sub("", name))
        may = setting is not None and setting.update is not UpdateMode.READ_ONLY
        (changed if may else waiting).append(name)
    static = {name: text for name, text in before.items() if name not in changed}
    static |= {name: given[name] for name in changed if name in given}
    parsed = parse_broker(static)
    fields = {name: field.name for name, field in properties(BrokerConfig).items()}
    values = {fields[name]: getattr(parsed, fields[name]) for name in changed if name in fields}
    fresh = replace(started, static=static, topic_defaults=parsed.topic_defaults, started=None, dynamic={}, **values)
    if changed:
        message = listeners_refusal(ports, fresh.with_dynamic(ports.config.dynamic))
        if message is not None:
            raise ConfigError(message)
        _reconfigure(ports, fresh)
    return changed, waiting


def _reconfigure(ports: ConfigChangePorts, config: BrokerConfig) -> None:
    """Apply ``config``, overridden by the settings from AlterConfigs, to the broker and to topics without settings of
    their own.
    """
    store = ports.metadata
    defaults = store.topic_defaults
    ports.reconfigure(effective_config(store, config))
    if store.topic_defaults != defaults or ports.cluster is not None:
        for info in store.topics():
            ports.topics.config_changed(info.name)


def _refusal_of_broker_settings(ports: ConfigChangePorts, name: str, values: Mapping[str, str]) -> ConfigRefusal | None:
    known = broker_properties()
    plain = {setting: LISTENER_PREFIX.sub("", setting) for setting in values}
    foreign = [setting for setting in plain if not is_broker_setting(setting)]
    ours = [setting for setting, base in plain.items() if base not in known and setting not in foreign]
    per_listener = [setting for setting in foreign if LISTENER_PREFIX.match(setting)]
    for setting in foreign:
        # Kafka stores unknown settings for plug-ins, and does not show their values.
        logger.warning(
            "%r is stored but has no effect: no broker has such a setting%s", setting, nearest(setting, known)
        )
        del plain[setting]
    fixed = ours + [
        setting for setting, base in plain.items() if base in known and known[base].update is UpdateMode.READ_ONLY
    ]
    if fixed:
        return _listing("Cannot update these configs dynamically", fixed)
    unprefixed = [setting for setting in values if setting.startswith(("ssl.keystore.", "ssl.truststore.", "ssl.key."))]
    if unprefixed:
        return _listing(
            "These security configs can be dynamically updated only per-listener using the listener prefix", unprefixed
        )
    own = per_listener + [setting for setting, base in plain.items() if known[base].update is UpdateMode.PER_BROKER]
    if own and not name:
        return _listing("Cannot update these configs at default cluster level, broker id must be specified", own)
    first = str(ports.node.node_id)
    shared = [setting for setting in plain if name not in ("", first) and setting in _SHARED_BY_NODES]
    if shared:
        return _listing(
            f'The nodes of one process share these: set them for every broker (resource name "") or for broker {first}',
            shared,
        )
    store = ports.metadata
    every = values if not name else store.dynamic_config(ResourceType.BROKER, "")
    mine = values if name else store.dynamic_config(ResourceType.BROKER, str(ports.node.node_id))
    try:
        for setting, base in plain.items():
            known[base].parse(values[setting])
        changed = ports.config.with_dynamic({**every, **mine})
    except ConfigError as error:
        return ConfigRefusal(Error.INVALID_REQUEST, str(error))
    message = listeners_refusal(ports, changed)
    return ConfigRefusal(Error.INVALID_REQUEST, message) if message is not None else None


def listeners_refusal(ports: ConfigChangePorts, changed: BrokerConfig) -> str | None:
    """The message if the listeners cannot be changed to those in ``changed``, else None."""
    if ports.listeners is None:
        running = {**ports.config.static, **ports.config.dynamic}
        asked = {**changed.static, **changed.dynamic}
        if running.get("listeners") != asked.get("listeners"):
            return "listeners cannot be changed while several nodes run in one process: restart them with others"
        return None
    return ports.listeners.refusal({**changed.static, **changed.dynamic})


def _refusal_of_min_in_sync(ports: ConfigChangePorts, name: str, values: Mapping[str, str]) -> ConfigRefusal | None:
    """Refuse a value of ``MIN_IN_SYNC`` for a single broker: all brokers have to agree on which replicas may lead
    (KIP-966)."""
    if not name:
        return None if MIN_IN_SYNC in values else REMOVED_MIN_IN_SYNC
    own = ports.metadata.dynamic_config(ResourceType.BROKER, name)
    return OWN_MIN_IN_SYNC if values.get(MIN_IN_SYNC) != own.get(MIN_IN_SYNC) else None


def _listing(message: str, names: list[str]) -> ConfigRefusal:
    return ConfigRefusal(Error.INVALID_REQUEST, f"{message}: [{', '.join(sorted(names))}]")


def _refusal_of_group_settings(ports: ConfigChangePorts, values: Mapping[str, str]) -> ConfigRefusal | None:
    known = group_properties()
    for setting in values:
        if setting not in known:
            return ConfigRefusal(Error.INVALID_CONFIG, f"Unknown group config name: {setting}")
    parsed = {}
    try:
        for setting, value in values.items():
            parsed[setting] = known[setting].parse(value)
    except ConfigError as error:
        return ConfigRefusal(Error.INVALID_CONFIG, str(error))
    for setting, checked in parsed.items():
        message = _refused_by_the_broker(ports, setting, checked)
        if message is not None:
            return ConfigRefusal(Error.INVALID_CONFIG, message)
    for protocol in ("consumer", "share", "streams"):
        heartbeat, session = (
            parsed.get(f"{protocol}.{rest}", int(ports.config.text(f"group.{protocol}.{rest}") or 0))
            for rest in ("heartbeat.interval.ms", "session.timeout.ms")
        )
        if int(str(session)) <= int(str(heartbeat)):
            return ConfigRefusal(
                Error.INVALID_CONFIG,
                f"{protocol}.session.timeout.ms must be greater than {protocol}.heartbeat.interval.ms",
            )
    return None


def _refused_by_the_broker(ports: ConfigChangePorts, setting: str, value: Value) -> str | None:
    """Check a group's setting, and whether it agrees with the broker's setting of the same name, if there is one;
    returns the message of a refusal."""
    if setting == "errors.deadletterqueue.topic.name" and str(value).startswith("__"):
        return f"{setting}: DLQ topic name must not start with '__'"
    if setting == "streams.assignor.name":
        assignors = (ports.config.text("group.streams.assignors") or "").split(",")
        message = f"{setting} '{value}' is not a registered task assignor. Registered assignors are: "
        return None if value in assignors else f"{message}[{', '.join(assignors)}]."
    return _out_of_bounds(ports, setting, value) if isinstance(value, int) else None


def _out_of_bounds(ports: ConfigChangePorts, setting: str, value: int) -> str | None:
    """Check a group's setting against the broker's ``group.*.min.*`` and ``group.*.max.*`` settings, if they exist;
    returns the message of a refusal."""
    protocol, _, rest = setting.partition(".")
    rest = rest.removeprefix("num.")
    limits = [f"group.{protocol}.{bound}.{rest}" for bound in ("min", "max")]
    low, high = (int(ports.config.text(name) or 0) if name in broker_properties() else None for name in limits)
    if high is None:
        return None if low is None or low <= value else f"{setting} must be greater than or equal to {low}"
    if (low or 0) <= value <= high:
        return None
    if low is None:
        return f"{setting} must be less than or equal to {high}"
    return f"{setting} must be in the range {low} to {high} inclusive."


def _refusal_of_client_metrics(values: Mapping[str, str]) -> ConfigRefusal | None:
    known: Mapping[str, KafkaProperty] = client_metrics_properties()
    for setting in values:
        if setting not in known:
            return ConfigRefusal(Error.INVALID_REQUEST, f"Unknown client metrics configuration: {setting}")
    interval = values.get("interval.ms")
    if interval is not None:
        if not re.fullmatch(r"[+-]?\d+", interval.strip()):
            message = f"Invalid value {interval} for configuration interval.ms: Not a number of type INT"
            return ConfigRefusal(Error.INVALID_CONFIG, message)
        if not 100 <= int(interval) <= 3_600_000:
            message = f"Invalid value {interval} for interval.ms, interval must be between 100 and 3600000 (1 hour)"
            return ConfigRefusal(Error.INVALID_REQUEST, message)
    for pattern in filter(None, values.get("match", "").split(",")):
        field, separator, expression = pattern.partition("=")
        if not separator or field.strip() not in _MATCHES or not _is_pattern(expression.strip()):
            return ConfigRefusal(Error.INVALID_CONFIG, f"Illegal client matching pattern: {pattern}")
    return None


def _is_pattern(text: str) -> bool:
    """Whether the pattern is valid in RE2's syntax; Python's own ``re`` limits neither depth, counts nor work."""
    # imported here, because a start of the broker does not need it
    from oncelog.broker.coordinator.regex import InvalidRegex, LinearRegex

    try:
        LinearRegex(text)
    except InvalidRegex:
        return False
    return True


def change_loggers(changes: Mapping[str, tuple[str, str | None]], *, validate_only: bool) -> ConfigRefusal | None:
    """Set levels of loggers: either all changes are made or none.

    :param changes: for each logger an operation (``SET``, ``DELETE``, ``APPEND`` or ``SUBTRACT``) and a level.
    """
    known = loggers.levels()
    for name, (operation, level) in changes.items():
        if operation in ("APPEND", "SUBTRACT"):
            message = f"{operation} operation is not allowed for the BROKER_LOGGER resource"
            return ConfigRefusal(Error.INVALID_REQUEST, message)
        if name not in known:
            return ConfigRefusal(Error.INVALID_CONFIG, f"Logger {name} does not exist!")
        if operation == "DELETE" and name == loggers.ROOT:
            return ConfigRefusal(Error.INVALID_REQUEST, "Removing the log level of the root logger is not allowed")
        if operation == "SET" and level not in loggers.LEVELS:
            return ConfigRefusal(
                Error.INVALID_CONFIG,
                f"Cannot set the log level of {name} to {level} as it is not a supported log level. "
                f"Valid log levels are {', '.join(sorted(loggers.LEVELS))}",
            )
    if not validate_only:
        for name, (operation, level) in changes.items():
            loggers.set_level(name, level if operation == "SET" else None)
    return None
