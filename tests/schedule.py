"""Which worker of ``make test`` runs which file, and when; ``tests.scheduler`` asks.

Two cores stay busy if tests that compute (Spark) run beside tests that wait (most others), and if no long file starts
late. So two workers take the files with Spark sessions and share those sessions among them, one has the browser, and
the others take the rest. Each worker starts with its longest file, and helps the others when its own are done.
"""

from __future__ import annotations

from collections.abc import Iterable

SPARK = ("spark/", "spark_versions/", "pipeline/", "demo/test_demo.py", "security/test_clients.py")
BROWSER = ("console/",)
OWN = (SPARK, SPARK, BROWSER)
"""The files that the first workers prefer."""

SECONDS = {
    "demo/test_demo.py": 190,
    "spark_versions/test_spark_versions.py": 80,
    "spark/declarative/test_declarative.py": 75,
    "spark_versions/test_spark_version_crashes.py": 90,
    "pipeline/test_registered_formats.py": 70,
    "pipeline/test_table_sinks.py": 130,
    "atomic/test_killed_inbox.py": 45,
    "export/test_export_killed.py": 80,
    "atomic/test_killed_relay.py": 30,
    "tables/test_kills.py": 60,
    "tables/test_cases.py": 50,
    "kafka_versions/test_kafka_versions.py": 160,
    "tables/test_object_store.py": 30,
    "schema_registry/test_ways_to_start.py": 30,
    "export/test_export.py": 25,
    "schema_registry/test_export_typed.py": 20,
    "exploration/test_exploration.py": 20,
    "schema_registry/test_several.py": 20,
    "tables/test_conflicts.py": 20,
    "spark/sink/test_marker.py": 70,
    "spark/sink/test_sink_crashes.py": 45,
    "spark/sink/test_sink.py": 105,
    "spark/sink/test_killed_drivers.py": 90,
    "pipeline/test_pipeline_run.py": 100,
    "pipeline/test_dead_letters.py": 200,
    "spark/executors/test_executors.py": 92,
    "spark/sink/test_connect.py": 77,
    "console/test_bad_input.py": 68,
    "release/test_packages.py": 80,
    "docs/test_adding.py": 15,
    "crash/test_disk_faults.py": 61,
    "conformance/test_time_outs.py": 26,
    "spark/source/test_source.py": 53,
    "faults/test_inside.py": 40,
    "interop/files/test_broker_files.py": 30,
    "two_phase/test_rows_and_records.py": 35,
    "console/test_pages.py": 49,
    "interop/promote/test_promote.py": 30,
    "interop/transaction_log/test_transaction_log.py": 38,
    "security/test_clients.py": 44,
    "docs/test_examples.py": 43,
    "client/test_consumer.py": 24,
    "frameworks/test_faststream.py": 60,
    "simulation/test_seeds.py": 100,
    "interop/log/test_kafka_files.py": 40,
    "console/test_accessible.py": 40,
    "client/test_delivery.py": 39,
    "crash/test_crash_rounds.py": 39,
    "hostile/test_one_client.py": 37,
    "security/test_sessions.py": 20,
    "spark/source/test_sparks_own_connector.py": 34,
    "interop/group_log/test_group_log_exchange.py": 33,
    "demo/test_proof.py": 31,
    "platforms/test_macos.py": 16,
    "spark/sink/test_commit.py": 28,
    "console/test_large.py": 27,
    "conformance/test_restarts.py": 12,
    "interop/admin/test_kafka_tools.py": 26,
    "hostile/test_drips.py": 26,
    "interop/promote/test_promoted_security.py": 22,
    "spark/source/test_rack.py": 22,
    "interop/promote/test_promoted_groups.py": 22,
    "kafka_fixture/test_apache_kafka.py": 20,
    "interop/clients/test_java_tools.py": 20,
    "pipeline/test_pipeline_refused.py": 20,
    "console/test_login.py": 20,
    "faults/test_proxy.py": 19,
    "interop/clients/test_python_clients.py": 19,
    "interop/clients/test_java_clients.py": 18,
    "interop/admin/test_takeover.py": 18,
    "spark/sink/test_least_rights.py": 18,
    "conformance/test_broker_settings.py": 17,
    "spark/source/test_java_regex.py": 16,
    "client/test_truncation.py": 16,
    "interop/clients/test_kafka_streams.py": 15,
    "faults/test_pytest_plugin.py": 15,
    "property/records/test_record_twins.py": 15,
    "spark/test_reporting.py": 14,
    "faults/test_unmodified_clients.py": 13,
    "demo/test_flights.py": 13,
    "spark/test_session_metrics.py": 13,
    "spark/kafka/test_two_lanes.py": 13,
    "spark/pipeline/test_state_over_a_restart.py": 12,
    "property/broker/core/test_produce_runs.py": 12,
    "conformance/test_differential.py": 11,
    "console/test_pipelines.py": 11,
    "cli/test_doctor.py": 11,
    "aiokafka/test_behaviour.py": 11,
    "conformance/test_kit.py": 11,
    "simulation/test_how_to.py": 11,
    "interop/group_log/test_group_log.py": 10,
    "client/test_security.py": 10,
    "mirror/test_mirror_killed.py": 10,
    "redrive/test_redrive_killed.py": 80,
    "redrive/test_redrive.py": 30,
    "interop/codec/test_kafka_classes.py": 10,
}
"""How many seconds the files took in a run of all on two cores, if ten or more; the other files start later."""


def turn(file: str) -> int:
    """The sort key of a file, given by its path in ``tests``."""
    return -SECONDS.get(file, 0)


def choice(waiting: Iterable[str], worker: int) -> str:
    """The first of the waiting files that this worker prefers to all others."""
    own = OWN[worker] if worker < len(OWN) else ()

    def foreign(path: str) -> int:
        file = path.removeprefix("tests/")
        if file.startswith(own):
            return 0
        return 2 if file.startswith((*SPARK, *BROWSER)) else 1

    return min(waiting, key=foreign)
