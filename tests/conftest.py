"""Brokers for every test: ours and a real Apache Kafka.

A test that takes ``broker`` runs on both. Nothing here is skipped for want of Java or a network: such a test
fails and says why; ``-m "not kafka"`` leaves those with Apache Kafka out.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import hypothesis
import pytest

from tests import areas, schedule
from tests.support import apache_kafka as kafka_node
from tests.support import shared_kafka
from tests.support.both_brokers import OURS_AND_KAFKA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling
    from xdist.workermanage import WorkerController


class RunningBroker(Protocol):
    """What tests need of either broker."""

    @property
    def bootstrap_servers(self) -> str: ...


# What lands is judged by the same examples each time; who runs the tests by hand looks at new ones.
SAME_EXAMPLES = int(os.environ.get("ONCELOG_SAME_EXAMPLES", "0"))
"""So many of each property, the same each time; 0: a hundred new ones."""
hypothesis.settings.register_profile(
    "oncelog", deadline=None, derandomize=SAME_EXAMPLES > 0, max_examples=SAME_EXAMPLES or 100
)
hypothesis.settings.load_profile("oncelog")
# No test asserts a time: a busy machine is no defect.

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts the suite in the background has it ignore Ctrl-C, and every process that a test starts, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)

ANY_HEARTBEAT = {"group.consumer.min.heartbeat.interval.ms": "1"}
"""Lets a group of KIP-848 have a heartbeat interval below the default, so that its members learn of changes sooner."""
KAFKA_FOR_WORKERS = pytest.StashKey[shared_kafka.KafkaForWorkers]()

HERE = Path(__file__).parent
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(HERE.parent), os.environ.get("PYTHONPATH"))))
# What tests start, Spark's executors above all, finds ``tests.support`` as they do.


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Objects made while tests are imported live until the end: do not collect meanwhile, and skip them afterwards."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if {"apache_kafka", "kafka_jars"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("kafka")
    items.sort(key=lambda item: schedule.turn(item.path.relative_to(HERE).as_posix()))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    from tests.scheduler import ByKind  # which needs pytest-xdist: tests run without it

    return ByKind(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    kafka = node.config.stash.get(KAFKA_FOR_WORKERS, None)
    if kafka is None:
        kafka = node.config.stash[KAFKA_FOR_WORKERS] = shared_kafka.KafkaForWorkers(ANY_HEARTBEAT)
        node.config.add_cleanup(kafka.close)
    node.workerinput["apache_kafka"] = kafka.address


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if getattr(config.option, "dist", "no") == "loadfile":
        areas.report(terminalreporter)


@pytest.fixture(scope="session")
def kafka_jars() -> Path:
    """The folder with Apache Kafka's jars."""
    return kafka_node.kafka_jars()


@pytest.fixture(scope="session")
def apache_kafka(request: pytest.FixtureRequest) -> Iterator[shared_kafka.RunningKafka]:
    """A real Apache Kafka shared by all tests of a run, some of which run at the same time.

    So topics, groups, transactional ids and users have unique names, and what lists everything filters. A test that
    changes or stops a node, or counts what is in an internal topic, starts its own; conformance tests have one.
    """
    if hasattr(request.config, "workerinput"):
        yield shared_kafka.ask(request.config.workerinput["apache_kafka"])
        return
    with kafka_node.ApacheKafka(properties=ANY_HEARTBEAT) as kafka:
        yield shared_kafka.RunningKafka(kafka.bootstrap_servers, kafka.data_folder)


@pytest.fixture(scope="session")
def spark_class_archive() -> Iterator[None]:
    """Makes every JVM that Spark starts from here on load its classes from an archive, and its streaming queries fork
    their sources; folders with such tests ask for it.
    """
    from tests.support import class_archive  # which needs PySpark: other tests run without it
    from tests.support.forked_sources import forked_sources

    with pytest.MonkeyPatch.context() as patch, forked_sources() as environment:
        patch.setenv("SPARK_HOME", str(class_archive.spark_home()))
        patch.setenv("SPARK_SUBMIT_OPTS", class_archive.spark_options())
        for name, value in environment.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def spark(spark_class_archive: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session for all tests of this process; no test stops it."""
    from tests.support.spark_session import shared_session  # which needs PySpark

    found = shared_session(tmp_path_factory.mktemp("warehouse"))
    yield found
    found.stop()


@pytest.fixture(scope="session")
def warm_java(spark_class_archive: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Points PySpark to a JVM that already runs: a run in it takes half as long as one that starts its own."""
    from pyspark.java_gateway import launch_gateway

    folder = tmp_path_factory.mktemp("warm-java")
    with pytest.MonkeyPatch.context() as patch, (folder / "log").open("wb") as log:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        gateway = launch_gateway(popen_kwargs={"stdout": log, "stderr": log, "cwd": folder})
    parameters = gateway.gateway_parameters
    yield {"PYSPARK_GATEWAY_PORT": str(parameters.port), "PYSPARK_GATEWAY_SECRET": parameters.auth_token}
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(60)


@pytest.fixture(scope="session", autouse=True)
def kafka_class_archive(request: pytest.FixtureRequest) -> Iterator[None]:
    """The same for every JVM with Apache Kafka's classes, if any test of this run needs one."""
    if not any(item.get_closest_marker("kafka") for item in request.session.items):
        yield
        return
    from tests.support import class_archive

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(kafka_node.JAVA_OPTIONS, class_archive.kafka_options())
        yield


@pytest.fixture(scope="session")
def oncelog_broker() -> Iterator[RunningBroker]:
    """Our broker in memory, shared by the tests of this process."""
    from oncelog import Broker

    with Broker(settings=ANY_HEARTBEAT) as broker:
        yield broker


def chosen_broker(request: pytest.FixtureRequest) -> RunningBroker:
    """The broker that the parameter of a fixture names."""
    chosen: RunningBroker = request.getfixturevalue("oncelog_broker" if request.param == "oncelog" else "apache_kafka")
    return chosen


@pytest.fixture(scope="session", params=OURS_AND_KAFKA)
def broker(request: pytest.FixtureRequest) -> RunningBroker:
    """Each broker in turn: what holds on ours must hold on Apache Kafka too."""
    return chosen_broker(request)


@pytest.fixture
def unique_name() -> str:
    """A name for a topic, group or transactional id that no other test uses."""
    return f"t-{uuid.uuid4().hex[:12]}"
