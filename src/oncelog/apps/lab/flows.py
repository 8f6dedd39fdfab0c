"""The flows by name, and how to run one. Called by ``oncelog lab`` and by the docs' generator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from oncelog.apps.conformance.expect import NotOffered
from oncelog.apps.lab import sequences, share_groups, transactions
from oncelog.apps.lab.flow_context import VERIFICATION, FlowContext, LabError, set_up
from oncelog.apps.lab.trace import BROKER, Trace
from oncelog.client.core.client_errors import UnsupportedVersionError
from oncelog.client.core.config import AdminConfig


@dataclass(frozen=True, slots=True)
class Flow:
    """One flow.

    :ivar lanes: the actors and their peers, from left to right.
    :ivar lesson: what the flow shows, in a sentence or two.
    :ivar settings: those of the embedded broker.
    """

    name: str
    title: str
    lesson: str
    lanes: Sequence[str]
    run: Callable[[FlowContext], None]
    settings: Mapping[str, object]

    @property
    def actors(self) -> list[str]:
        return [lane for lane in self.lanes if lane not in _BROKERS]


_BROKERS = (BROKER, "coordinator", "orders-0")
_NO_DELAY = {"group.initial.rebalance.delay.ms": 0}


def _flow(
    name: str,
    title: str,
    lesson: str,
    lanes: Sequence[str],
    run: Callable[[FlowContext], None],
    settings: Mapping[str, object] = _NO_DELAY,
) -> Flow:
    return Flow(name, title, lesson, lanes, run, settings)


_TWO = ("producer", BROKER)
_FOUR = ("producer", "coordinator", "orders-0", "reader")

FLOWS: Mapping[str, Flow] = {
    flow.name: flow
    for flow in (
        _flow(
            "acknowledged",
            "Every batch is acknowledged",
            "The broker gives the producer an id, and the producer numbers its records. Nothing goes wrong.",
            _TWO,
            sequences.acknowledged,
        ),
        _flow(
            "acks-lost",
            "An acknowledgement is lost",
            "The producer cannot know whether b was stored, so it sends it again; the broker recognizes the sequence.",
            _TWO,
            sequences.acknowledgements_lost,
        ),
        _flow(
            "batch-lost",
            "A batch is lost",
            "Batches behind a gap are refused, which preserves order: c waits until b has arrived.",
            _TWO,
            sequences.batch_lost,
        ),
        _flow(
            "cache-overrun",
            "More in flight than the broker remembers",
            "The broker remembers the last five batches of a producer; that is why clients have no more in flight.",
            _TWO,
            sequences.more_than_the_cache,
        ),
        _flow(
            "new-pid",
            "A producer is restarted",
            "Without a transactional.id a restarted producer gets a new id, so its old sequences have no meaning.",
            ("producer", BROKER, "restarted producer"),
            sequences.restarted,
        ),
        _flow(
            "commit",
            "A transaction commits",
            "Two phases: the decision is written first, then a marker to every partition. Readers wait for the marker.",
            _FOUR,
            transactions.commit,
        ),
        _flow(
            "abort",
            "A transaction aborts",
            "Aborted records stay in the log. The answer to a fetch lists what readers skip.",
            _FOUR,
            transactions.abort,
        ),
        _flow(
            "zombie",
            "A zombie is fenced",
            "Two processes with one transactional.id: the later one has the higher epoch, the other is refused.",
            ("zombie", "successor", "coordinator", "orders-0", "reader"),
            transactions.zombie_fenced,
        ),
        _flow(
            "coordinator-dies",
            "The coordinator dies after Prepare",
            "From PrepareCommit on the outcome is certain: the next coordinator finishes it.",
            _FOUR,
            transactions.coordinator_dies,
        ),
        _flow(
            "hanging",
            "A hanging transaction is found and ended",
            "A late batch opens a transaction that no coordinator knows. Brokers that verify (KIP-890) refuse it; "
            "this one is configured not to.",
            ("producer", "another producer", "coordinator", "orders-0", "reader", "operator"),
            transactions.hanging,
            {VERIFICATION: False},
        ),
        _flow(
            "held-back",
            "The last stable offset is held back",
            "Readers get only records before the first open transaction, however much is committed behind it.",
            ("slow producer", "fast producer", "coordinator", "orders-0", "reader"),
            transactions.held_back,
        ),
        _flow(
            "topic-made-again",
            "A topic is deleted and recreated",
            "Offsets in a transaction name their topics by id: an offset of a deleted topic is not committed for a "
            "new topic of the same name.",
            ("producer", "copier", "coordinator", "orders-0"),
            transactions.topic_made_again,
        ),
        _flow(
            "redelivery",
            "A record is delivered again",
            "A worker of a share group fails: other workers get its records. Accepted records stay accepted.",
            ("producer", BROKER, share_groups.SLOW, share_groups.OTHER),
            share_groups.redelivery,
        ),
    )
}


def run(flow: Flow, cluster: AdminConfig | None = None) -> Trace:
    """Run a flow on an embedded broker, or on a cluster.

    :raises LabError: it cannot be run there.
    """
    try:
        return _run(flow, cluster)
    except (NotOffered, UnsupportedVersionError) as error:
        raise LabError(f"this cluster cannot show this flow: {error}; leave --bootstrap-server out") from error


def _run(flow: Flow, cluster: AdminConfig | None) -> Trace:
    apart = BROKER not in flow.lanes
    with set_up(flow.actors, apart=apart, cluster=cluster, settings=dict(flow.settings)) as context:
        flow.run(context)
        where = "an embedded broker" if cluster is None else ",".join(cluster.bootstrap_servers)
        return Trace(
            flow.name,
            flow.title,
            flow.lesson,
            where,
            context.topic,
            flow.lanes,
            list(context.recorder.events),
            context.log(),
            context.promises,
            dict(context.recorder.left_out),
        )
