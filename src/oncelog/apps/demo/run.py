"""The demo from its start to the proof: starts the processes, kills them at chosen moments, waits, compares.

Called by ``oncelog demo``. What is killed and when does not depend on the machine's speed: the replay stops where it is
asked to, so that a restarted process always has work left. A driver that is to be killed has another in reserve, which
has a session and waits: starting Spark takes most of the demo's time, and one core of two.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from oncelog.apps.demo.expected import ExpectedTopics
from oncelog.apps.demo.flights import read_flights
from oncelog.apps.demo.history import Span, transaction_history
from oncelog.apps.demo.observed_source import CommitStep, Journal
from oncelog.apps.demo.pipelines import WATERMARK_DAYS
from oncelog.apps.demo.processes import BrokerProcess, Child, kill_process
from oncelog.apps.demo.proof import AbortedRecord, Prover, TopicProof, end_offsets
from oncelog.apps.demo.replay import FLIGHTS_A_TRANSACTION, ReplayEvent
from oncelog.apps.demo.spark_sink_crashes import Display, SparkSinkCrashes, SparkSinkProof
from oncelog.client.blocking import Admin, Producer
from oncelog.client.core.admin.admin_types import NewTopic
from oncelog.errors import ConfigError, KafkaError, OncelogError
from oncelog.runtime import real_json as json
from oncelog.runtime import real_time
from oncelog.spark.pipeline.definition import TOPICS
from oncelog.spark.progress import Progress
from oncelog.spark.sink.checkpoint import marker_group
from oncelog.spark.sink.engine import BatchStep

FLIGHTS, ENRICHED, DELAYS = "flights", "flights-enriched", "delays-by-hour"
BY_SPARKS_SINK = "flights-by-sparks-own-sink"
PARTITIONS = {FLIGHTS: 6, ENRICHED: 6, DELAYS: 3}
MIN_FLIGHTS = 10_000
ABORT_EVERY = 50
DRIVER_KILLS = 2
MAX_RESTARTS = 3
"""How often a driver that has ended by itself is restarted before the demo fails."""
_DAY_MS = 86_400_000
_MARK = ".oncelog-demo"
_TIMEOUT_S = 600.0


class DemoFailed(OncelogError):
    """The demo could not be completed, so it proves nothing about the results."""


@dataclass(frozen=True, slots=True)
class DemoSettings:
    """The settings of ``oncelog demo``.

    :param compare: whether Spark's own sink copies the flights, too, with one kill of its driver.
    :param bootstrap_server: the address of a Kafka cluster; None starts an oncelog broker. A broker is killed only if
        the demo started it.
    :param seconds: about how long the replay takes if nothing interrupts it.
    """

    folder: Path
    flights: int
    calm: bool = False
    compare: bool = True
    bootstrap_server: str | None = None
    master: str | None = None
    prefix: str = ""
    seconds: float = 60.0


class Crash(NamedTuple):
    """A process that was killed; ``at`` in seconds since 1970."""

    at: float
    what: str
    where: str


@dataclass(slots=True)
class DemoOutcome:
    """The result of a run, with everything that the table and the report show."""

    settings: DemoSettings
    servers: str
    started_at: float
    phases: dict[str, float] = field(default_factory=dict)
    crashes: list[Crash] = field(default_factory=list)
    proofs: list[TopicProof] = field(default_factory=list)
    restarts: list[str] = field(default_factory=list)
    skips: list[CommitStep] = field(default_factory=list)
    batches: dict[str, int] = field(default_factory=dict)
    events: list[ReplayEvent] = field(default_factory=list)
    spans: dict[str, list[Span]] = field(default_factory=dict)
    written_ms: list[int] = field(default_factory=list)
    windows_written_ms: list[int] = field(default_factory=list)
    windows: list[dict[str, object]] = field(default_factory=list)
    local_hours: dict[str, int] = field(default_factory=dict)
    by_executors: int = 0
    aborted: AbortedRecord | None = None
    sparks_sink: SparkSinkProof | None = None

    @property
    def exact(self) -> bool:
        return all(proof.exact for proof in self.proofs)


class Demo:
    """One run of the demo; :meth:`run` may be called once."""

    def __init__(self, settings: DemoSettings, display: Display) -> None:
        if not settings.calm and settings.flights < MIN_FLIGHTS:
            raise ConfigError(
                f"--flights {settings.flights} leaves no room for the crashes: give {MIN_FLIGHTS}, or --calm"
            )
        self._settings = settings
        self._display = display
        self._broker = BrokerProcess(settings.folder / "broker", settings.folder / "logs" / "broker.log")
        self._journals = {name: Journal(settings.folder / "commits", name) for name in (ENRICHED, DELAYS)}
        self._driver: Child | None = None
        self._reserve: Child | None = None
        self._driver_kills_left = 0 if settings.calm else DRIVER_KILLS
        self._sparks_sink: SparkSinkCrashes | None = None
        self._replay: Child | None = None
        self._progress: list[Progress] = []
        self._events: list[ReplayEvent] = []
        self._allowed = 0
        self._transactions = -(-settings.flights // FLIGHTS_A_TRANSACTION)
        self._outcome = DemoOutcome(settings, "", real_time.time(), events=self._events)
        self._replay_id = f"{settings.prefix}demo-replay"

    # --- the whole

    def run(self) -> DemoOutcome:
        """Carry out the demo.

        :raises DemoFailed: there is no progress.
        :raises OncelogError: a process gives up.
        """
        try:
            with self._phase("start"):
                self._prepare_folder()
                self._outcome.servers = self._start_broker()
                self._create_topics()
                self._start_replay()
                self._start_driver()
                expected = ExpectedTopics(read_flights(self._settings.flights))
            with self._phase("stream"):
                self._stream()
            if self._settings.compare:
                self._prepare_sparks_sink()
            with self._phase("close the windows"):
                self._close_windows(expected)
            with self._phase("prove"):
                self._prove(expected)
            if self._sparks_sink is not None:
                with self._phase("Spark's own sink"):
                    self._outcome.sparks_sink = self._sparks_sink.run(self._display)
        finally:
            for child in (self._driver, self._reserve, self._replay):
                if child is not None:
                    child.kill()
            if self._sparks_sink is not None:
                self._sparks_sink.stop()
            self._broker.stop()
        return self._outcome

    @contextlib.contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        start = real_time.monotonic()
        yield
        self._outcome.phases[name] = round(real_time.monotonic() - start, 1)

    def _stream(self) -> None:
        if self._settings.calm:
            self._allow(1.0)
        else:
            self._allow(0.2)
            self._crash_driver(BatchStep.PRODUCED, 0.3, "its records were stored, its transaction was open")
            self._crash_producer(0.4)
            if self._settings.master is None:
                self._crash_writer(0.48)
            self._crash_driver(BatchStep.COMMITTED, 0.55, "the transaction was committed, and Spark did not know")
            if self._settings.bootstrap_server is None:
                self._crash_broker(0.65, 0.7)
            self._allow(1.0)
        self._wait("the last flight", lambda: self._last_event("ended"))

    # --- the processes

    def _prepare_folder(self) -> None:
        folder = self._settings.folder
        if folder.exists() and any(folder.iterdir()):
            if not (folder / _MARK).exists():
                raise ConfigError(f"{folder} contains files that are not from a demo: give another folder with --data")
            shutil.rmtree(folder)
        (folder / "commits").mkdir(parents=True)
        (folder / _MARK).touch()

    def _start_broker(self) -> str:
        if self._settings.bootstrap_server is not None:
            return self._settings.bootstrap_server
        self._broker.start()
        self._display.say(f"the broker listens on {self._broker.address}, data in {self._settings.folder / 'broker'}")
        return self._broker.address

    def _create_topics(self) -> None:
        """Create the topics, without retention: the flights' timestamps are from 2013 and would expire at once."""
        configs = {"retention.ms": "-1"}
        topics = [
            NewTopic(f"{self._settings.prefix}{name}", count, topic_configs=configs)
            for name, count in PARTITIONS.items()
        ]
        try:
            with Admin(bootstrap_servers=self._outcome.servers, default_api_timeout_ms=20_000) as admin:
                admin.create_topics(topics)
        except KafkaError as error:
            servers = self._outcome.servers
            raise DemoFailed(
                f"the topics cannot be created at {servers}: {error}; --prefix gives them other names"
            ) from error

    def _start_replay(self) -> None:
        settings = self._settings
        arguments = ["-m", "oncelog.apps.demo.replay", "--bootstrap-server", self._outcome.servers]
        arguments += ["--topic", self._topic(FLIGHTS), "--flights", str(settings.flights)]
        arguments += ["--transactional-id", self._replay_id, "--seconds", str(settings.seconds)]
        arguments += ["--abort-every", str(min(ABORT_EVERY, max(2, self._transactions // 4)))]
        log = settings.folder / "logs" / "producer.log"
        self._replay = Child("the producer", arguments, log, self._on_event)

    def _on_event(self, line: str) -> None:
        if not _whole(line):
            return
        event = ReplayEvent(**json.loads(line))
        self._events.append(event)
        if event.event == "committed":
            sent = sum(other.flights for other in self._events if other.event == "committed")
            self._display.bar("flights replayed", sent, self._settings.flights)

    def _start_driver(self) -> None:
        """Let the driver that waits in reserve begin, or start a new driver. On a cluster no driver waits in reserve,
        because it would occupy the cores of the running driver.
        """
        reserve = self._reserve
        self._driver = reserve if reserve is not None and reserve.ended is None else self._new_driver()
        self._driver.order("begin")
        self._display.say("a Spark driver starts both pipelines, from their checkpoints")
        has_reserve = self._driver_kills_left > 0 and self._settings.master is None
        self._reserve = self._new_driver() if has_reserve else None

    def _new_driver(self) -> Child:
        settings = self._settings
        arguments = ["-m", "oncelog.apps.demo.driver", "--bootstrap-server", self._outcome.servers]
        arguments += ["--folder", str(settings.folder.resolve()), "--prefix", settings.prefix]
        if settings.master is not None:
            arguments += ["--master", settings.master]
        return Child("the Spark driver", arguments, settings.folder / "logs" / "spark.log", self._on_progress)

    def _on_progress(self, line: str) -> None:
        if not _whole(line):
            return
        progress = Progress.from_json(line)
        self._progress.append(progress)
        rows = {one.batch: one.rows for one in self._progress if one.pipeline == progress.pipeline}
        shown = {ENRICHED: "flights enriched", DELAYS: "flights in windows"}[progress.pipeline]
        self._display.bar(shown, min(sum(rows.values()), self._settings.flights), self._settings.flights)

    # --- the crashes

    def _allow(self, fraction: float) -> None:
        """Let the replay continue until it has written this fraction of all transactions."""
        self._allowed = max(self._allowed, round(self._transactions * fraction))
        self._running_replay.order(f"until {self._allowed}")

    def _crash_driver(self, step: BatchStep, allow: float, where: str) -> None:
        """Kill the driver inside the commit of the next batch that its executors write, then start another."""
        journal = self._journals[ENRICHED]
        before = len(journal.read())
        journal.order_stop(step)
        self._allow(allow)

        def paused() -> bool:
            return any(entry.paused for entry in journal.read()[before:])

        self._wait(f"a commit of {ENRICHED}, to kill the driver in it", paused)
        self._crashed("driver", f"during {ENRICHED}'s commit: {where}")
        self._running_driver.kill()
        self._driver_kills_left -= 1
        journal.cancel_stop()
        self._start_driver()

    def _crash_writer(self, allow: float) -> None:
        """Kill one of the executors' writers halfway through its records: Spark then repeats the whole stage, with a
        new producer epoch."""
        journal = self._journals[ENRICHED]
        before = len(journal.read())
        journal.order_stop(BatchStep.HALF_PRODUCED)
        self._allow(allow)

        def paused() -> list[CommitStep]:
            return [entry for entry in journal.read()[before:] if entry.paused]

        self._wait(f"a writer of {ENRICHED} to be halfway through its records", lambda: bool(paused()))
        self._crashed("writer", f"a Python worker of an executor, in {ENRICHED}, halfway through its records")
        kill_process(paused()[0].pid)
        journal.cancel_stop()

    def _crash_producer(self, after: float) -> None:
        """Kill the producer halfway through a transaction, then start another with the same transactional id."""
        self._allow(after)
        self._wait("the producer to make progress", lambda: self._has_sent(self._allowed))
        self._running_replay.order(f"stop-in {self._allowed + 1}")
        self._running_replay.order(f"until {self._allowed + 1}")
        self._allowed += 1
        self._wait("the producer to be halfway through a transaction", lambda: self._last_event("stopped"))
        self._crashed("producer", f"halfway through transaction {self._allowed}")
        self._running_replay.kill()
        self._start_replay()
        self._running_replay.order(f"until {self._allowed}")

    def _crash_broker(self, at: float, allow: float) -> None:
        """Kill the broker while producer and pipelines write, then start it on the same folder and port."""
        seen = len(self._progress)
        self._allow(allow)
        wanted = round(self._transactions * at)

        def busy() -> bool:
            return len(self._progress) > seen and self._has_sent(wanted)

        self._wait("the moment to kill the broker", busy)
        self._crashed("broker", "while all processes were writing")
        self._broker.kill()
        self._broker.start()

    def _crashed(self, what: str, where: str) -> None:
        self._outcome.crashes.append(Crash(real_time.time(), what, where))
        self._display.say(f"kill -9: the {what}, {where}")

    # --- the end

    def _close_windows(self, expected: ExpectedTopics) -> None:
        """Once all flights are read, write one more record, whose timestamp moves the watermark past the end of the
        last window.

        A pipeline that read this record before the last flights of another partition would treat those flights as late.
        A real stream needs no such record, because its later records move the watermark.
        """
        topic = self._topic(FLIGHTS)
        ends = {f"{topic}-{number}": end for number, end in end_offsets(self._outcome.servers, topic).items()}
        for pipeline in (ENRICHED, DELAYS):
            self._wait(f"{pipeline} to read everything", lambda name=pipeline: self._has_read(name, ends))  # type: ignore[misc]
        last = max(flight.departure_ms for flight in expected.flights.values())
        closing = last + (WATERMARK_DAYS + 30) * _DAY_MS
        servers = self._outcome.servers
        with (
            Producer(bootstrap_servers=servers, transactional_id=self._replay_id) as producer,
            producer.transaction(),
        ):
            producer.send(topic, json.dumps({"closes": closing}).encode(), timestamp_ms=closing)
        passed = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime((last + 2 * _DAY_MS) / 1000))

        def closed() -> bool:
            latest = self._latest(DELAYS)
            return latest is not None and latest.watermark[:19] >= passed

        self._wait("the last window", closed)
        self._running_driver.stop()

    def _has_read(self, pipeline: str, ends: dict[str, int]) -> bool:
        latest = self._latest(pipeline)
        return latest is not None and all(latest.reached.get(name, 0) >= end for name, end in ends.items())

    def _prove(self, expected: ExpectedTopics) -> None:
        outcome, read = self._outcome, 0
        total = 2 * self._settings.flights + len(expected.windows)

        def on_progress(more: int) -> None:
            nonlocal read
            read += more
            self._display.bar("records compared", min(read, total), total)

        prover = Prover(outcome.servers, self._settings.prefix, expected, on_progress)
        outcome.proofs = [prover.flights(), prover.enriched(), prover.delays()]
        self._display.bar("records compared", total, total)
        outcome.written_ms = prover.written_ms
        outcome.windows_written_ms = prover.windows_written_ms
        outcome.windows = prover.windows
        outcome.aborted = prover.aborted
        outcome.local_hours = {flight.time_hour: flight.hour for flight in expected.flights.values()}
        for name, journal in self._journals.items():
            steps = journal.read()
            outcome.batches[name] = len({step.batch for step in steps})
            outcome.skips += skipped(steps)
        paths = {one.batch: one.path for one in self._progress if one.pipeline == ENRICHED}
        outcome.by_executors = sum(path == "executors" for path in paths.values())
        ids = {marker_group(f"{one.pipeline}-", one.query_id, "", TOPICS): one.pipeline for one in self._progress}
        ids[self._replay_id] = FLIGHTS
        for span in transaction_history(outcome.servers, ids):
            outcome.spans.setdefault(ids[span.transactional_id], []).append(span)

    def _prepare_sparks_sink(self) -> None:
        """Start a driver with Spark's own sink, which waits until our topics are proven."""
        self._sparks_sink = SparkSinkCrashes(
            self._outcome.servers,
            self._settings.folder,
            self._topic(FLIGHTS),
            self._topic(BY_SPARKS_SINK),
            self._settings.flights,
            PARTITIONS[ENRICHED],
        )
        self._sparks_sink.prepare()

    # --- waiting

    def _wait(self, what: str, reached: Callable[[], bool]) -> None:
        """Wait until ``reached`` returns true.

        :raises DemoFailed: that takes too long.
        :raises ProcessFailed: a process ends meanwhile.
        """
        deadline = real_time.monotonic() + _TIMEOUT_S
        while not reached():
            if real_time.monotonic() > deadline:
                raise DemoFailed(
                    f"timed out after {_TIMEOUT_S:.0f} s, waiting for {what}; see {self._settings.folder / 'logs'}"
                )
            self._look_after_driver()
            if not self._last_event("ended"):
                self._running_replay.check()
            self._display.waiting(what)
            time.sleep(0.05)

    def _look_after_driver(self) -> None:
        """Restart the driver if it has ended by itself, as happens on a machine too busy to start Spark's workers;
        after a few restarts, raise ProcessFailed instead."""
        driver = self._running_driver
        if driver.ended is None:
            return
        if len(self._outcome.restarts) >= MAX_RESTARTS:
            driver.check()
        reason = driver.last_words().rpartition("\n")[2]
        self._outcome.restarts.append(reason)
        self._display.say(f"the Spark driver gave up ({reason}) and is being restarted")
        driver.kill()
        self._start_driver()

    def _last_event(self, name: str) -> bool:
        return bool(self._events) and self._events[-1].event == name

    def _has_sent(self, transaction: int) -> bool:
        return any(event.event == "committed" and event.transaction >= transaction for event in list(self._events))

    def _latest(self, pipeline: str) -> Progress | None:
        return next((one for one in reversed(list(self._progress)) if one.pipeline == pipeline), None)

    def _topic(self, name: str) -> str:
        return f"{self._settings.prefix}{name}"

    @property
    def _running_driver(self) -> Child:
        if self._driver is None:
            raise DemoFailed("the Spark driver was not started")
        return self._driver

    @property
    def _running_replay(self) -> Child:
        if self._replay is None:
            raise DemoFailed("the producer was not started")
        return self._replay


def _whole(line: str) -> bool:
    """Whether a line is a complete JSON object; a process that was killed may have written only part of its last
    line."""
    return line.startswith("{") and line.endswith("}\n")


def skipped(steps: list[CommitStep]) -> list[CommitStep]:
    """For each batch that Spark repeated although it had been written, the last step of the repeated attempt, which
    read the marker and wrote nothing.
    """
    last = {step.batch: step for step in steps}
    return [step for step in last.values() if step.step == BatchStep.MARKER_READ.value]
