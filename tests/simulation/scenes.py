"""What a seed's world is about: a scene has programs, settings and faults that belong together.

``everything`` has something of all, so that unforeseen things coincide. The others are small, and each aims at one part
of the system with the pairs of faults that break it: a bug there shows within a few seeds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from oncelog.broker.metadata.features import GROUP_VERSION, SHARE_VERSION, TRANSACTION_VERSION
from oncelog.schema_registry.settings import TOPIC as SCHEMAS_TOPIC
from oncelog.testing.simulation import NetworkModel, Simulation
from oncelog.testing.simulation.faults import ONE_BROKER, SEVERAL_NODES
from tests.simulation.history import History, SharedGroup
from tests.simulation.intruders import IntrudedTransactions
from tests.simulation.movers import Mover
from tests.simulation.outboxes import ORDERS, RECEIPTS, OrderWriter, OutboxSender, ReceiptWriter, Shop
from tests.simulation.programs import Copier, Deserter, PlainProducer, Program, TransactionalProducer, some
from tests.simulation.raw import RawProducer, RawTransactions
from tests.simulation.registries import Auditor, Net, Registrar, RegistryProgram
from tests.simulation.remakers import OffsetsAuditor, OffsetWriter, Remaker
from tests.simulation.sharers import Sharer
from tests.simulation.spark_sink import SparkQuery

People = Callable[["Scene", Simulation, History, random.Random], list[Program]]
NETWORK = ("cut_connection", "cut_before_answer", "cut_all_connections", "part_network", "slow_network")
LOSSES = ("lose_answers", "lose_requests", "delay_answers", "refuse_requests")
DEATHS = ("kill_broker", "power_loss", "restart_broker")
QUICK_DISK, DISK, SLOW_DISK = (0.0001, 0.0008), (0.0002, 0.005), (0.2, 1.5)


@dataclass
class Scene:
    """:ivar topics: the topics; a program writes to its own.

    :ivar kinds: faults that may occur, at most ``most`` of them, until ``calm_s``.

    :ivar waived: kinds of breaches, or checkers, whose promise nobody makes here.

    :ivar foreseen: what logged errors may say here.
    """

    people: People
    nodes: int
    partitions: int
    topics: Sequence[str]
    kinds: Collection[str]
    settings: dict[str, object] = field(default_factory=dict)
    topic_settings: dict[str, Any] = field(default_factory=dict)
    transaction_version: int = 2
    share_version: int = 0
    network: NetworkModel = field(default_factory=NetworkModel)
    sync_s: tuple[float, float] = DISK
    end: str = "kill"
    most: int = 6
    calm_s: float = 20.0
    rest_s: float = 0.0
    """The pause between the end of all work and the last looks."""
    watch_s: float = 0.25
    """The pause between two looks at the partitions' offsets."""
    waived: Collection[str] = ()
    foreseen: Collection[str] = ()
    name: str = ""

    @property
    def features(self) -> Mapping[str, int]:
        levels = {GROUP_VERSION: 1, TRANSACTION_VERSION: self.transaction_version, SHARE_VERSION: self.share_version}
        return {name: level for name, level in levels.items() if level or name != SHARE_VERSION}


def draw(seed: int, name: str | None = None) -> tuple[Scene, random.Random]:
    """The scene of a seed, or another one by its name; and the randomness from which its programs' settings are
    drawn.
    """
    rng = random.Random(f"{seed}/world")
    drawn = rng.choice([name for name, weight in WEIGHTS.items() for _ in range(weight)])
    if seed % 16 == COMPACTIONS:
        drawn = compaction.__name__
    if seed % 16 == NARROW:
        drawn = rng.choice(_LATER[1:])
    if seed % 64 == OUTBOXES:
        drawn = outbox.__name__
    if seed % 64 == REGISTRIES:
        drawn = registries.__name__
    if seed % 64 == SHARING:
        drawn = rng.choice([sharing.__name__, shared_takeovers.__name__])
    scene = SCENES[name or drawn](rng)
    scene.name = name or drawn
    scene.settings.setdefault("transaction.abort.timed.out.transaction.cleanup.interval.ms", 1000)
    if scene.settings.get("oncelog.flush.policy", "commit") != "commit":
        scene.kinds = set(scene.kinds) - {"power_loss"}  # what it takes then was never promised to stay
        scene.end = "kill" if scene.end == "power" else scene.end
    return scene, rng


def _network(rng: random.Random) -> NetworkModel:
    return NetworkModel(
        slow=rng.choice([0.0, 0.01, 0.1]), split=rng.choice([0.0, 0.02, 0.2]),
        window_bytes=rng.choice([256 * 1024, 256 * 1024, 700]),
    )  # fmt: skip


def _segments(rng: random.Random) -> dict[str, Any]:
    return some(rng, **{"internal.segment.bytes": [None, "300", "500", "2000"]})


def _end(rng: random.Random) -> str:
    return rng.choice(["kill", "stop", "power"])


# --- everything


_ALL_SETTINGS: Mapping[str, Sequence[Any]] = {
    "oncelog.flush.policy": ["commit", "commit", "interval"],
    "transaction.partition.verification.enable": [None, None, None, "false"],
}


def everything(rng: random.Random) -> Scene:
    nodes = rng.choice([1, 1, 3])
    return Scene(
        people=_all_people,
        nodes=nodes,
        partitions=rng.randint(1, 3),
        topics=["plain", "transactional", "copies", "rows"],
        kinds=(set(ONE_BROKER) | (set(SEVERAL_NODES) if nodes > 1 else set())) - {"full_disk"},
        settings=some(rng, **_ALL_SETTINGS),
        topic_settings=_segments(rng),
        transaction_version=rng.choice([2, 2, 2, 1, 0]),
        network=_network(rng),
        sync_s=rng.choice([QUICK_DISK, DISK, DISK]),
        end=_end(rng),
        most=12,
        calm_s=40.0,
    )


def _all_people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
    people: list[Program] = []
    partitions = scene.partitions
    client: dict[str, Any] = some(rng, request_timeout_ms=[None, 5000, 30_000])
    for number in range(rng.randint(0, 2)):
        settings = some(
            rng, linger_ms=[None, 0, 0, 100], max_batch_size=[None, 100, 100], compression_type=[None, "lz4"],
            delivery_timeout_ms=[None, 600_000],
        )  # fmt: skip
        people.append(PlainProducer(world, history, f"plain{number}", "plain", partitions, 48, **client, **settings))
    for number in range(rng.randint(0, 2) if people else rng.randint(1, 2)):
        settings = some(rng, transaction_timeout_ms=[None, 5000, 30_000], linger_ms=[None, 50])
        people.append(
            TransactionalProducer(world, history, f"txn{number}", "transactional", partitions, 14, **client, **settings)
        )
    if rng.random() < 0.4:
        people.append(Deserter(world, history, "deserter", "transactional", partitions, **client))
    if rng.random() < 0.6:
        people += _copiers(scene, world, history, rng, rng.choice(["plain", "transactional"]), client)
    if rng.random() < 0.3:
        people.append(SparkQuery(world, history, "spark", "rows", partitions, 6))
    return people


def _copiers(
    scene: Scene, world: Simulation, history: History, rng: random.Random, source: str, client: dict[str, Any],
    most: int = 2,
) -> list[Copier]:  # fmt: skip
    """A group's members that copy a topic."""
    history.copied.append((source, "copies"))
    consumer = some(rng, group_protocol=[None, "consumer"], session_timeout_ms=[6000, 6000])
    if "group_protocol" in consumer:
        consumer.pop("session_timeout_ms", None)
    static = rng.random() < 0.3
    people: list[Copier] = []
    for number in range(rng.randint(1, most)):
        name = f"copier{number}"
        own = {"group_instance_id": name} if static else {}
        people.append(
            Copier(
                world, history, name, "copiers", source, "copies", scene.partitions, {**client, **consumer, **own},
                {**client, "transaction_timeout_ms": rng.choice([10_000, 60_000])},
            )
        )  # fmt: skip
    return people


# --- focused


def raw(rng: random.Random) -> Scene:
    """Programs that break the rules of idempotence and transactions are refused, also after restarts and elections."""
    nodes = rng.choice([1, 1, 3])

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        made: list[Program] = [RawProducer(world, history, "raw", "plain", scene.partitions, 40)]
        if rng.random() < 0.7:
            made.append(RawTransactions(world, history, "rawtxn", "transactional", scene.partitions, 10))
        return made

    return Scene(
        people, nodes, rng.randint(1, 2), ["plain", "transactional"],
        {rng.choice(DEATHS), rng.choice(NETWORK), rng.choice(LOSSES), "kill_program",
         *(("move_leaders", "kill_node") if nodes > 1 else ())},
        topic_settings=_segments(rng), transaction_version=rng.choice([2, 1, 1]), end=_end(rng),
    )  # fmt: skip


def replication(rng: random.Random) -> Scene:
    """Replicas fall behind during writes, and lead afterwards."""

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        made: list[Program] = []
        if rng.random() < 0.7:
            made.append(PlainProducer(world, history, "plain", "plain", scene.partitions, 40, **_batches(rng)))
        if rng.random() < 0.8 or not made:
            made.append(TransactionalProducer(world, history, "txn", "transactional", scene.partitions, 16))
        return made

    return Scene(
        people, 3, rng.randint(1, 2), ["plain", "transactional"],
        {"elect_lagging",
         rng.choice(["lose_majority", "move_leaders", "pause_replication", "kill_node", "kill_broker"])},
        settings={
            "replica.lag.time.max.ms": rng.choice([1500, 1500, 30_000]),
            "transaction.state.log.replication.factor": rng.choice([1, 1, 3]),
        },
        topic_settings=_segments(rng), end=_end(rng), most=10, watch_s=0.01,
    )  # fmt: skip


def _batches(rng: random.Random) -> dict[str, Any]:
    return some(rng, linger_ms=[None, 20], max_batch_size=[None, 100, 100])


def durability(rng: random.Random) -> Scene:
    """The power fails between an append and its sync, and while segments roll and checkpoints are written."""

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        made: list[Program] = [
            PlainProducer(world, history, "plain", "plain", scene.partitions, 40, **_batches(rng)),
        ]
        if rng.random() < 0.6:
            made.append(TransactionalProducer(world, history, "txn", "transactional", scene.partitions, 12))
        return made

    return Scene(
        people, 1, rng.randint(1, 2), ["plain", "transactional"],
        {"power_loss", *rng.sample(("slow_disk", "kill_broker", "restart_broker", "pause_broker"), 1)},
        settings={"log.flush.offset.checkpoint.interval.ms": rng.choice([200, 1000, 60_000])},
        topic_settings=some(rng, **{"internal.segment.bytes": ["200", "500", "2000"]}),
        sync_s=rng.choice([QUICK_DISK, DISK, (0.005, 0.1), SLOW_DISK]), end="power", most=8,
    )  # fmt: skip


def coordinator(rng: random.Random) -> Scene:
    """Coordinators end, move and stand still between a transaction's phases, and markers are lost."""
    nodes = rng.choice([1, 3])

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        made: list[Program] = []
        for number in range(rng.randint(1, 2)):
            settings = some(rng, transaction_timeout_ms=[None, 3000], linger_ms=[None, 50])
            made.append(
                TransactionalProducer(world, history, f"txn{number}", "transactional", scene.partitions, 10, **settings)
            )
        if rng.random() < 0.4:
            made.append(Deserter(world, history, "deserter", "transactional", scene.partitions))
        return made

    return Scene(
        people, nodes, rng.randint(1, 3), ["transactional"],
        {"crash_coordinator", rng.choice(["lose_marker", "hold_markers", "repeat_marker"]),
         rng.choice(["pause_program", "pause_broker", "double_program", "kill_program"]),
         rng.choice([*DEATHS, *(("move_leaders", "elect_lagging") if nodes > 1 else ())])},
        transaction_version=rng.choice([2, 2, 1, 0]), sync_s=rng.choice([DISK, (0.005, 0.1)]), end=_end(rng), most=8,
    )  # fmt: skip


def copying(rng: random.Random) -> Scene:
    """Consume, transform, produce, while members stand still, die, are doubled, and their group rebalances."""

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        made: list[Program] = [
            TransactionalProducer(world, history, "txn", "transactional", scene.partitions, 14)
            if rng.random() < 0.5
            else PlainProducer(world, history, "plain", "transactional", scene.partitions, 40)
        ]
        copiers = _copiers(scene, world, history, rng, "transactional", {}, most=3)
        if scene.transaction_version == 1 and scene.end == "stop":  # in some of these worlds
            for program in copiers:
                program.stands_still = 0.15
        return [*made, *copiers]

    return Scene(
        people, rng.choice([1, 1, 3]), rng.randint(1, 3), ["transactional", "copies"],
        {"pause_program", rng.choice(["kill_program", "double_program"]),
         rng.choice(["cut_before_answer", "part_network", "lose_answers"]),
         rng.choice(["kill_broker", "crash_coordinator"])},
        transaction_version=rng.choice([2, 2, 1, 0]), end=_end(rng), most=8, calm_s=30.0,
    )  # fmt: skip


def impatient(rng: random.Random) -> Scene:
    """Clients that give records up after seconds, and that send records that are too large."""

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        made: list[Program] = []
        timeouts = {"request_timeout_ms": 1000, "delivery_timeout_ms": rng.choice([1500, 3000, 5000])}
        if rng.random() < 0.6:
            plain = PlainProducer(world, history, "plain", "plain", scene.partitions, 60, **timeouts, **_batches(rng))
            made.append(plain)
        if rng.random() < 0.5 or not made:
            transactional = TransactionalProducer(
                world, history, "txn", "transactional", scene.partitions, 12, **(timeouts if rng.random() < 0.5 else {})
            )
            transactional.too_large = rng.choice([0.0, 0.4])
            made.append(transactional)
        return made

    return Scene(
        people, 1, rng.randint(1, 2), ["plain", "transactional"],
        {*LOSSES, "slow_network", "slow_disk", "cut_before_answer", "part_network", "pause_broker"},
        topic_settings={"max.message.bytes": "2000"}, end=_end(rng), most=10,
    )  # fmt: skip


def loose(rng: random.Random) -> Scene:
    """A producer that is not idempotent, one request at a time: records may be there twice, but in order."""

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        once: dict[str, Any] = {"enable_idempotence": False, "max_in_flight_requests_per_connection": 1}
        program = PlainProducer(
            world, history, "loose", "plain", scene.partitions, 150, **once, request_timeout_ms=1000, max_batch_size=60
        )
        program.pause_s = 0.5
        history.repeats.add("loose")
        return [program]

    return Scene(
        people, rng.choice([1, 3]), 1, ["plain"],
        {"lose_answers", "lose_requests", "refuse_requests", "cut_before_answer"},
        end=_end(rng), most=12, calm_s=12.0,
    )  # fmt: skip


def expiry(rng: random.Random) -> Scene:
    """Brokers that forget producers after seconds, although the producers continue (KIP-360).

    If a producer is forgotten while batches are in flight, these may be stored in another order, but once: as in Apache
    Kafka (``ProducerAppendInfo.checkSequence``), an unknown producer may begin with any sequence, so a batch may be
    accepted before earlier ones that were refused and are sent again.
    """

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        made: list[Program] = []
        for number in range(rng.randint(1, 2)):
            plain = PlainProducer(world, history, f"plain{number}", "plain", scene.partitions, 60, max_batch_size=100)
            plain.too_large = rng.choice([0.0, 0.1])
            made.append(plain)
        made.append(TransactionalProducer(world, history, "txn", "transactional", scene.partitions, 10))
        return made

    return Scene(
        people, 1, rng.randint(1, 2), ["plain", "transactional"], {"slow_network", "delay_answers"},
        settings={"producer.id.expiration.ms": 2000, "producer.id.expiration.check.interval.ms": 500},
        topic_settings={"max.message.bytes": "2000"}, end=_end(rng), most=10, waived=("restart_knows", "out-of-order"),
    )  # fmt: skip


def restarts(rng: random.Random) -> Scene:
    """Many short lives of programs and brokers: what is known of each is still known after the next start."""

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        made: list[Program] = [
            PlainProducer(world, history, f"plain{number}", "plain", scene.partitions, 30, **_batches(rng))
            for number in range(2)
        ]
        brief = PlainProducer(world, history, "brief", "plain", scene.partitions, 40)
        brief.is_brief = True
        made.append(brief)
        made.append(TransactionalProducer(world, history, "txn", "transactional", scene.partitions, 10))
        return made

    return Scene(
        people, 1, 1, ["plain", "transactional"], {*DEATHS, "kill_program"},
        settings=some(rng, **{"oncelog.flush.policy": ["commit", "interval"]}),
        topic_settings=_segments(rng), end=_end(rng), most=8,
    )  # fmt: skip


def full_disks(rng: random.Random) -> Scene:
    """The disk fills up again and again, also between the writes of a transaction's end; what was acknowledged is there
    once space is free again.
    """

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        if rng.random() < 0.5:
            return _transactional(scene, world, history, 2, 30)
        return [
            PlainProducer(world, history, "plain", "plain", scene.partitions, 40, **_batches(rng)),
            TransactionalProducer(world, history, "txn", "transactional", scene.partitions, 12),
        ]

    return Scene(
        people, 1, rng.randint(1, 2), ["plain", "transactional"], {"full_disk", rng.choice([*DEATHS, "slow_disk"])},
        settings=some(rng, **{"oncelog.flush.policy": ["commit", "interval"]}),
        topic_settings=_segments(rng), end=_end(rng),
        foreseen=("No space left on device", "while the disk refuses writes"),
    )  # fmt: skip


def unclean(rng: random.Random) -> Scene:
    """Any remaining node leads, whatever it lacks: records and markers may go, as in Apache Kafka, so an aborted
    transaction can end with the next one's commit; but nothing is stored twice, and everything ends.
    """

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        return [
            PlainProducer(world, history, "plain", "plain", scene.partitions, 40, **_batches(rng)),
            TransactionalProducer(world, history, "txn", "transactional", scene.partitions, 12),
        ]

    return Scene(
        people, 3, rng.randint(1, 2), ["plain", "transactional"], {"lose_majority", "elect_lagging", "kill_node"},
        settings={"replica.lag.time.max.ms": 1500},
        topic_settings={**_segments(rng), "unclean.leader.election.enable": "true"}, end=_end(rng),
        waived=("lost", "aborted-read", "skipped", "torn", "torn-transaction", "replicas_agree",
                "last_stable_offset", "out-of-order"),
    )  # fmt: skip


def sink(rng: random.Random) -> Scene:
    """The Spark sink alone, while its brokers and its driver die."""
    nodes = rng.choice([1, 3])

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        return [SparkQuery(world, history, "spark", "rows", scene.partitions, 6)]

    return Scene(
        people, nodes, rng.randint(1, 3), ["rows"],
        {rng.choice(DEATHS), rng.choice(NETWORK), rng.choice(LOSSES), "kill_program", "pause_program",
         "crash_coordinator", *(("move_leaders", "elect_lagging") if nodes > 1 else ())},
        transaction_version=rng.choice([2, 2, 1]), end=_end(rng), most=8,
    )  # fmt: skip


def outbox(rng: random.Random) -> Scene:
    """An outbox and an inbox: late commits, gaps and rolled-back rows, while relay and inbox die and are doubled."""

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        shop = Shop(world.folder)
        writers = [OrderWriter(world, history, f"shop{number}", shop, scene.partitions, 8) for number in range(3)]
        return [
            *writers,
            OutboxSender(world, history, "relay", shop, writers, **some(rng, transaction_timeout_ms=[None, 5000])),
            *(ReceiptWriter(world, history, f"receipts{one}", shop, writers, scene.partitions) for one in range(2)),
        ]

    return Scene(
        people, 1, rng.randint(1, 2), [ORDERS, RECEIPTS],
        {"kill_program", "pause_program", "double_program", rng.choice(DEATHS), rng.choice(NETWORK),
         rng.choice(LOSSES), "crash_coordinator"},
        transaction_version=rng.choice([2, 2, 1]), end=_end(rng), most=8,
    )  # fmt: skip


def registries(rng: random.Random) -> Scene:
    """Schema registries on a compacted topic take over from each other, while they and their brokers die or pause."""
    retention_ms = rng.choice([500, 60_000])

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        history.compacted = dict.fromkeys(scene.topics, retention_ms)
        net = Net(world, deaths=rng.choice([0.0, 0.1, 0.3]))
        names = [f"registry{number}" for number in range(rng.randint(1, 3))]
        users: list[Registrar] = []
        made = [RegistryProgram(world, history, name, net, users) for name in names]
        urls = [one.url for one in made]
        schemas = rng.choice([3, 8, 20])
        users += [Registrar(world, history, f"user{one}", net, urls, schemas, 25) for one in range(rng.randint(1, 3))]
        return [*made, *users, Auditor(world, history, "auditor", users)]

    nodes = rng.choice([1, 1, 3])
    return Scene(
        people, nodes, 1, [SCHEMAS_TOPIC],
        {"kill_program", "pause_program", "double_program", rng.choice(DEATHS), rng.choice(NETWORK),
         rng.choice(LOSSES), "crash_coordinator", *(("move_leaders",) if nodes > 1 else ())},
        settings={"log.cleaner.backoff.ms": rng.choice([100, 1000, 4000])},
        topic_settings={
            "cleanup.policy": "compact", "delete.retention.ms": str(retention_ms),
            "internal.segment.bytes": rng.choice(["2000", "5000", "100000"]),
            **some(rng, **{"min.cleanable.dirty.ratio": ["0.01", "0.01", None]}),
        },
        transaction_version=rng.choice([2, 2, 1]), end=_end(rng), most=10, calm_s=30.0,
    )  # fmt: skip


def compaction(rng: random.Random) -> Scene:
    """Compacted topics: the cleaner works amid transactions, deaths, elections and forgotten producers."""
    nodes = rng.choice([1, 1, 3])
    retention_ms = rng.choice([500, 5000, 60_000])
    expires = rng.random() < 0.3

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        history.compacted = dict.fromkeys(scene.topics, retention_ms)
        plain = PlainProducer(world, history, "plain", "plain", scene.partitions, 100, **_batches(rng))
        plain.pause_s = 0.8
        made: list[Program] = [plain]
        for number in range(rng.randint(1, 2)):
            name = f"txn{number}"
            made.append(TransactionalProducer(world, history, name, "transactional", scene.partitions, 20))
        if rng.random() < 0.5:
            made.append(Deserter(world, history, "deserter", "transactional", scene.partitions))
        for program in made:
            program.keys = rng.choice([2, 5, 12])
        return made

    return Scene(
        people, nodes, rng.randint(1, 2), ["plain", "transactional"],
        {"power_loss", "kill_program", *rng.sample(("slow_disk", "kill_broker", "restart_broker", "pause_broker"), 2),
         *(("elect_lagging", "kill_node", "pause_replication") if nodes > 1 else ())},
        settings={
            "log.cleaner.backoff.ms": rng.choice([100, 1000, 4000]),
            **({"producer.id.expiration.ms": 2000, "producer.id.expiration.check.interval.ms": 500} if expires else {}),
        },
        topic_settings={
            "cleanup.policy": "compact", "delete.retention.ms": str(retention_ms),
            "internal.segment.bytes": rng.choice(["300", "600", "1500"]),
            **some(rng, **{"min.cleanable.dirty.ratio": ["0.01", "0.01", None]}),
            **some(rng, **{"min.compaction.lag.ms": [None, "1500"]}),
        },
        sync_s=rng.choice([QUICK_DISK, DISK, (0.005, 0.1), SLOW_DISK]), end=_end(rng), most=8,
        rest_s=rng.choice([0.0, 10.0, 150.0]),
        waived=("lost", "torn", *(("restart_knows", "out-of-order") if expires else ())),
    )  # fmt: skip


# --- narrow: each for a few bugs that need the same unlikely moment


def elections(rng: random.Random) -> Scene:
    """Nodes that had stopped copying take over again and again, in sync or not, while transactions end."""

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        plain = PlainProducer(world, history, "plain", "plain", scene.partitions, 80, **_batches(rng))
        plain.pause_s = 1.0
        return [plain, *_transactional(scene, world, history, 2, 25)]

    return Scene(
        people, 3, 1, ["plain", "transactional"], {"elect_lagging", "lose_majority"},
        settings={"replica.lag.time.max.ms": 1500, "transaction.state.log.replication.factor": rng.choice([1, 3])},
        end=_end(rng), most=14, calm_s=30.0, watch_s=0.01,
    )  # fmt: skip


def power_losses(rng: random.Random) -> Scene:
    """The power fails again and again while small batches of several producers wait for slow syncs of one partition."""

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        made: list[Program] = []
        for number in range(3):
            plain = PlainProducer(world, history, f"plain{number}", "plain", 1, 150, max_batch_size=100)
            plain.pause_s = 0.5
            made.append(plain)
        return made

    return Scene(
        people, 1, 1, ["plain"], {"power_loss"}, topic_settings={"internal.segment.bytes": "1000"}, sync_s=(0.02, 0.3),
        end="power", most=14,
    )  # fmt: skip


def stalled_copiers(rng: random.Random) -> Scene:
    """Members of a group stall between their records and their offsets until others have taken over."""

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        copiers = _copiers(scene, world, history, rng, "transactional", {}, most=3)
        for program in copiers:
            program.stands_still = 0.4
        plain = PlainProducer(world, history, "plain", "transactional", scene.partitions, 60)
        return [plain, *copiers]

    return Scene(
        people, 1, rng.randint(1, 2), ["transactional", "copies"], {"kill_program"},
        transaction_version=1, end=_end(rng), most=2, calm_s=30.0,
    )  # fmt: skip


def aborted_copies(rng: random.Random) -> Scene:
    """Members of a group abort transactions that have their offsets, and read again, while brokers are killed."""

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        copiers = _copiers(scene, world, history, rng, "transactional", {}, most=2)
        for program in copiers:
            program.aborts = 0.5
        plain = PlainProducer(world, history, "plain", "transactional", scene.partitions, 60)
        return [plain, *copiers]

    return Scene(
        people, 1, rng.randint(1, 2), ["transactional", "copies"], {"kill_broker", "kill_program"},
        transaction_version=rng.choice([2, 1]), end=_end(rng), most=6,
    )  # fmt: skip


def doubles(rng: random.Random) -> Scene:
    """A second instance of a transactional program starts while the first one is in the middle of its work."""

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        return _transactional(scene, world, history, 2, 20)

    return Scene(
        people, 1, 1, ["transactional"], {"double_program", "pause_program"},
        transaction_version=rng.choice([2, 1]), end=_end(rng), most=14,
    )  # fmt: skip


def takeovers(rng: random.Random) -> Scene:
    """Another node coordinates, sends its markers, and dies with its broker before it has written that they are
    there.
    """

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        return _transactional(scene, world, history, 2, 20)

    return Scene(
        people, 3, rng.randint(1, 2), ["transactional"], {"crash_coordinator", "kill_broker"}, sync_s=SLOW_DISK,
        end=_end(rng), most=30,
    )  # fmt: skip


def crowded_disks(rng: random.Random) -> Scene:
    """A disk that is full most of the time, and has room now and then, while transactions end."""

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        return _transactional(scene, world, history, 2, 40)

    return Scene(
        people, 1, rng.randint(1, 2), ["transactional"], {"full_disk"}, end=_end(rng), most=14,
        foreseen=("No space left on device", "while the disk refuses writes"),
    )  # fmt: skip


def compacted_producers(rng: random.Random) -> Scene:
    """Producers write a little to a compacted topic, end, and are outlived by what others write to the same keys."""

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        history.compacted = dict.fromkeys(scene.topics, 500)
        brief = PlainProducer(world, history, "brief", "plain", 1, 80)
        brief.is_brief = True
        plain = PlainProducer(world, history, "plain", "plain", 1, 80)
        brief.keys = plain.keys = 2
        brief.pause_s = plain.pause_s = 0.5
        return [brief, plain]

    return Scene(
        people, 1, 1, ["plain"], {"power_loss", "kill_broker"},
        settings={"log.cleaner.backoff.ms": 100},
        topic_settings={
            "cleanup.policy": "compact", "delete.retention.ms": "500", "min.cleanable.dirty.ratio": "0.01",
            "internal.segment.bytes": "300",
        },
        end=rng.choice(["kill", "power"]), most=6, rest_s=5.0, waived=("lost", "torn"),
    )  # fmt: skip


def intruded(rng: random.Random) -> Scene:
    """Amid transactions come plain batches of the same producer, and markers of other epochs and coordinators."""

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        return [IntrudedTransactions(world, history, "rawtxn", "transactional", scene.partitions, 25)]

    return Scene(
        people, 1, rng.randint(1, 2), ["transactional"], {"kill_program", rng.choice(DEATHS), rng.choice(LOSSES)},
        topic_settings=_segments(rng), end=_end(rng), most=4,
    )  # fmt: skip


def moving_members(rng: random.Random) -> Scene:
    """Members of a group of the consumer protocol come and go amid their work, and take time to give partitions up."""

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        history.copied.append(("transactional", "copies"))
        members: list[Mover] = []
        for number in range(3):
            name = f"mover{number}"
            mover = Mover(
                world, history, name, "copiers", "transactional", "copies", scene.partitions,
                {"group_protocol": "consumer"}, {"transaction_timeout_ms": 10_000}, members=members,
            )  # fmt: skip
            mover.works_s = 2.0
            members.append(mover)
        plain = PlainProducer(world, history, "plain", "transactional", scene.partitions, 120)
        plain.pause_s = 1.8
        return [plain, *members]

    return Scene(
        people, 1, rng.randint(2, 5), ["transactional", "copies"],
        {"kill_program", rng.choice(["kill_broker", "restart_broker"])},
        settings={
            "group.consumer.min.heartbeat.interval.ms": 500, "group.consumer.heartbeat.interval.ms": 500,
            "group.consumer.assignors": rng.choice(["uniform", "range"]),
        },
        end=_end(rng), most=3,
    )  # fmt: skip


def remade_topics(rng: random.Random) -> Scene:
    """Transactions commit offsets of a topic that is deleted and recreated meanwhile."""

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        remaker, auditor = Remaker(world, history, "remaker", {}), OffsetsAuditor(world, history, "offsets", {})
        writers = [OffsetWriter(world, history, f"offsets{number}", {}) for number in range(2)]
        for writer in writers:
            writer.remaker = remaker
        auditor.others = [remaker, *writers]
        return [remaker, *writers, auditor, PlainProducer(world, history, "plain", "plain", 1, 20)]

    return Scene(
        people, 1, 1, ["plain"], {"kill_program", "cut_connection", rng.choice(DEATHS), rng.choice(LOSSES)},
        end=_end(rng), most=6, calm_s=30.0,
    )  # fmt: skip


def sharing(rng: random.Random) -> Scene:
    """Members of share groups come and go, die, stand still and are late, on one broker that dies, too."""
    return _sharing(rng, 1, {rng.choice(DEATHS), rng.choice(NETWORK), rng.choice(LOSSES)})


def shared_takeovers(rng: random.Random) -> Scene:
    """The same with several nodes: leaders and coordinators move and lag amid acknowledgements.

    Which node knew of an acquisition last is not seen by members, so two may have a record at once.
    """
    return _sharing(rng, 3, {"move_leaders", "crash_coordinator", rng.choice(["elect_lagging", "kill_node"])})


def _sharing(rng: random.Random, nodes: int, kinds: Collection[str]) -> Scene:
    limit, lock_ms = rng.choice([2, 3, 5]), rng.choice([1000, 2000])

    def people(scene: Scene, world: Simulation, history: History, rng: random.Random) -> list[Program]:
        made: list[Program] = [
            PlainProducer(world, history, "plain", "shared", scene.partitions, 40),
            TransactionalProducer(world, history, "txn", "shared", scene.partitions, 10),
        ]
        for name in ("committed", "all")[: rng.randint(1, 2)]:
            dead_letter_topic = f"dlq.{name}" if nodes == 1 else ""  # of several nodes each may be away for too long
            group = SharedGroup(name, "shared", name == "committed", limit, lock_ms, dead_letter_topic)
            made += [
                Sharer(world, history, f"{name}{number}", group, scene.partitions, request_timeout_ms=3000)
                for number in range(rng.randint(1, 3))
            ]
        return made

    return Scene(
        people, nodes, rng.randint(1, 2), ["shared"], {"kill_program", "pause_program", *kinds},
        settings={
            "group.share.min.record.lock.duration.ms": 1000,
            "group.share.min.heartbeat.interval.ms": 500, "group.share.heartbeat.interval.ms": 800,
            "group.share.min.session.timeout.ms": 3000, "group.share.session.timeout.ms": 6000,
            "share.coordinator.state.topic.num.partitions": 3,
            "errors.deadletterqueue.auto.create.topics.enable": "true",
            "share.coordinator.state.topic.prune.interval.ms": rng.choice([500, 3000]),
            "share.coordinator.snapshot.update.records.per.snapshot": rng.choice([0, 1, 5, 50]),
        },
        topic_settings=_segments(rng), share_version=2, end=_end(rng), most=8, calm_s=30.0,
        waived=() if nodes == 1 else ("share_held",),
    )  # fmt: skip


def _transactional(scene: Scene, world: Simulation, history: History, programs: int, count: int) -> list[Program]:
    return [
        TransactionalProducer(world, history, f"txn{number}", "transactional", scene.partitions, count)
        for number in range(programs)
    ]


SCENES: Mapping[str, Callable[[random.Random], Scene]] = {
    made.__name__: made
    for made in (
        everything, raw, replication, durability, coordinator, copying, impatient, loose, expiry, restarts, full_disks,
        unclean, sink, outbox, registries, sharing, shared_takeovers, compaction, elections, power_losses,
        stalled_copiers, aborted_copies, doubles, takeovers, crowded_disks, compacted_producers, intruded,
        moving_members, remade_topics,
    )
}  # fmt: skip
COMPACTIONS, NARROW, OUTBOXES, REGISTRIES, SHARING = 8, 12, 44, 28, 60
"""One in 16 seeds is about compaction, one has a narrow scene, and one in 64 an outbox, registries or share groups, so
that the other seeds kept their scenes when these were added."""
_LATER = list(SCENES)[list(SCENES).index(compaction.__name__) :]
WEIGHTS: Mapping[str, int] = {
    name: 3 if name == "everything" else 1
    for name in SCENES
    if name not in ("outbox", "registries", "sharing", "shared_takeovers", *_LATER)
}

__all__ = ["SCENES", "Scene", "draw"]
