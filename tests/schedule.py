"""Which worker of ``make test`` runs which file, and when; ``tests.scheduler`` asks.

Two cores stay busy if tests that compute (Spark) run beside tests that wait (most others), and if no long file starts
late. A Spark session, a JVM for pipelines, a browser and an Apache Kafka each take five to ten seconds of CPU time to
start, and are faster when warm. So one worker has the files that share a session, one those that run pipelines in a
JVM, one the browser, and one the conformance tests, which have an Apache Kafka of their own. Each worker starts with
its longest file, and helps the others when its own are done.
"""

from __future__ import annotations

from collections.abc import Iterable

SESSIONS = (
    "integration/spark/",
    "integration/security/test_clients.py",
    "integration/tables/test_delta_demands.py",
    "integration/tables/test_existing_postgresql.py",
    "integration/tables/test_iceberg_demands.py",
    "integration/tables/test_latest.py",
    "integration/tables/test_named_as_in_the_table.py",
)
PIPELINES = (
    "integration/pipeline/",
    "integration/demo/test_demo.py",
    "compatibility/spark_versions/",
    "docs/test_first_aggregation.py",
)
BROWSER = ("integration/console/",)
CONFORMANCE = ("integration/conformance/",)
OWN = ((SESSIONS, PIPELINES), (PIPELINES, SESSIONS), (BROWSER,), (CONFORMANCE,))
"""The files that the first workers prefer, in this order."""
OWNED = (*SESSIONS, *PIPELINES, *BROWSER, *CONFORMANCE)

SECONDS = {
    "integration/demo/test_demo.py": 190,
    "compatibility/spark_versions/test_spark_versions.py": 80,
    "integration/spark/declarative/test_declarative.py": 75,
    "compatibility/spark_versions/test_spark_version_crashes.py": 90,
    "integration/pipeline/test_registered_formats.py": 70,
    "integration/pipeline/test_table_sinks.py": 130,
    "integration/atomic/test_killed_inbox.py": 45,
    "integration/export/test_export_killed.py": 80,
    "integration/atomic/test_killed_relay.py": 30,
    "integration/tables/test_kills.py": 60,
    "integration/tables/test_cases.py": 50,
    "compatibility/kafka_versions/test_kafka_versions.py": 160,
    "integration/tables/test_object_store.py": 30,
    "integration/schema_registry/test_ways_to_start.py": 30,
    "integration/export/test_export.py": 25,
    "integration/schema_registry/test_export_typed.py": 20,
    "simulation/exploration/test_exploration.py": 20,
    "integration/schema_registry/test_several.py": 20,
    "integration/tables/test_conflicts.py": 20,
    "integration/spark/sink/test_marker.py": 70,
    "integration/spark/sink/test_sink_crashes.py": 45,
    "integration/spark/sink/test_sink.py": 105,
    "integration/spark/sink/test_killed_drivers.py": 90,
    "integration/pipeline/test_pipeline_run.py": 100,
    "integration/pipeline/test_dead_letters.py": 200,
    "integration/spark/executors/test_executors.py": 92,
    "integration/spark/sink/test_connect.py": 77,
    "integration/console/test_bad_input.py": 68,
    "integration/release/test_packages.py": 140,
    "docs/test_adding.py": 15,
    "docs/test_first_aggregation.py": 50,
    "integration/crash/test_disk_faults.py": 61,
    "integration/conformance/test_timeouts.py": 26,
    "integration/spark/source/test_source.py": 53,
    "integration/faults/test_inside.py": 40,
    "compatibility/interop/files/test_broker_files.py": 30,
    "integration/two_phase/test_rows_and_records.py": 35,
    "integration/console/test_pages.py": 49,
    "compatibility/interop/promote/test_promote.py": 30,
    "compatibility/interop/transaction_log/test_transaction_log.py": 38,
    "integration/security/test_clients.py": 44,
    "docs/test_examples.py": 43,
    "integration/client/test_consumer.py": 24,
    "integration/frameworks/test_faststream.py": 60,
    "simulation/test_seeds.py": 100,
    "compatibility/interop/log/test_kafka_files.py": 40,
    "integration/console/test_accessible.py": 40,
    "integration/client/test_delivery.py": 39,
    "integration/crash/test_crash_rounds.py": 39,
    "hostile/test_one_client.py": 37,
    "integration/security/test_sessions.py": 20,
    "integration/spark/source/test_sparks_own_connector.py": 34,
    "compatibility/interop/group_log/test_group_log_exchange.py": 33,
    "integration/demo/test_proof.py": 31,
    "compatibility/platforms/test_macos.py": 16,
    "integration/spark/sink/test_commit.py": 28,
    "integration/console/test_large.py": 27,
    "integration/conformance/test_restarts.py": 12,
    "compatibility/interop/admin/test_kafka_tools.py": 26,
    "hostile/test_drips.py": 26,
    "compatibility/interop/promote/test_promoted_security.py": 22,
    "integration/spark/source/test_rack.py": 22,
    "compatibility/interop/promote/test_promoted_groups.py": 22,
    "integration/kafka_fixture/test_apache_kafka.py": 20,
    "compatibility/interop/clients/test_java_tools.py": 20,
    "integration/pipeline/test_pipeline_refused.py": 20,
    "integration/console/test_login.py": 20,
    "integration/faults/test_proxy.py": 19,
    "compatibility/interop/clients/test_python_clients.py": 19,
    "compatibility/interop/clients/test_java_clients.py": 18,
    "compatibility/interop/admin/test_takeover.py": 18,
    "integration/spark/sink/test_least_rights.py": 18,
    "integration/conformance/test_broker_settings.py": 17,
    "integration/spark/source/test_java_regex.py": 16,
    "integration/client/test_truncation.py": 16,
    "compatibility/interop/clients/test_kafka_streams.py": 15,
    "integration/faults/test_pytest_plugin.py": 15,
    "property/records/test_record_twins.py": 15,
    "integration/spark/test_reporting.py": 14,
    "integration/faults/test_unmodified_clients.py": 13,
    "integration/demo/test_flights.py": 13,
    "integration/spark/test_session_metrics.py": 13,
    "integration/spark/kafka/test_two_lanes.py": 13,
    "integration/spark/pipeline/test_state_over_a_restart.py": 12,
    "property/broker/core/test_produce_runs.py": 12,
    "integration/conformance/test_differential.py": 11,
    "integration/console/test_pipelines.py": 11,
    "integration/cli/test_doctor.py": 11,
    "integration/aiokafka/test_behaviour.py": 11,
    "integration/conformance/test_kit.py": 11,
    "simulation/test_how_to.py": 11,
    "compatibility/interop/group_log/test_group_log.py": 10,
    "integration/client/test_security.py": 10,
    "integration/mirror/test_mirror_killed.py": 10,
    "integration/redrive/test_redrive_killed.py": 80,
    "integration/redrive/test_redrive.py": 30,
    "compatibility/interop/codec/test_kafka_classes.py": 10,
}
"""How many seconds the files took in a run of all on two cores, if ten or more; the other files start later."""

CEILINGS = {
    "integration/client": 420,
    "unit": 400,
    "integration/spark": 270,
    "hostile": 210,
    "integration/cli": 180,
    "property": 130,
    "simulation": 130,
    "compatibility": 130,
    "integration/faults": 120,
    "integration/pipeline": 120,
    "integration/console": 120,
    "integration/share_groups": 100,
    "integration/schema_registry": 70,
    "docs": 70,
    "integration/verify": 60,
    "integration/conformance": 50,
    "integration/crash": 50,
    "integration/security": 40,
    "integration/two_phase": 40,
}
"""How many seconds an area of ``make test`` should take at most, of all workers together: a third more than on two
quiet cores. ``tests.areas`` reports what is above."""


def turn(file: str) -> int:
    """The sort key of a file, given by its path in ``tests``."""
    return -SECONDS.get(file, 0)


def choice(waiting: Iterable[str], worker: int) -> str:
    """The path of the first of the waiting files that this worker prefers to all others."""
    own = OWN[worker] if worker < len(OWN) else ()

    def rank(path: str) -> int:
        file = path.removeprefix("tests/")
        places = (place for place, kind in enumerate(own) if file.startswith(kind))
        return next(places, len(own) + file.startswith(OWNED))

    return min(waiting, key=rank)
