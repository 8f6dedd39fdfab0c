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
    "integration/release/test_packages.py": 195,
    "integration/spark/sink/test_marker.py": 108,
    "integration/pipeline/test_pipeline_run.py": 107,
    "integration/conformance/test_kit.py": 106,
    "integration/demo/test_demo.py": 106,
    "integration/spark/sink/test_sink.py": 105,
    "simulation/test_seeds.py": 100,
    "integration/tables/test_existing_postgresql.py": 98,
    "integration/tables/test_latest.py": 95,
    "integration/pipeline/test_dead_letters.py": 91,
    "compatibility/spark_versions/test_spark_version_crashes.py": 90,
    "integration/spark/sink/test_killed_drivers.py": 90,
    "docs/test_first_aggregation.py": 76,
    "integration/conformance/test_timeouts.py": 75,
    "integration/spark/executors/test_executors.py": 74,
    "integration/schema_registry/test_reported_elsewhere.py": 67,
    "integration/crash/test_disk_faults.py": 61,
    "integration/spark/sink/test_connect.py": 56,
    "integration/faults/test_suites_reported_elsewhere.py": 56,
    "integration/tables/test_reported_of_databases.py": 56,
    "integration/spark/source/test_source.py": 53,
    "integration/tables/test_cases.py": 50,
    "integration/tables/test_delta_demands.py": 50,
    "integration/console/test_pages.py": 49,
    "integration/spark/test_table_types.py": 48,
    "integration/tables/test_named_as_in_the_table.py": 47,
    "integration/spark/source/test_reported_elsewhere.py": 45,
    "integration/spark/test_sql.py": 45,
    "docs/test_examples.py": 43,
    "integration/console/test_bad_input.py": 42,
    "compatibility/interop/clients/test_share_requests.py": 42,
    "integration/tables/test_object_store.py": 41,
    "integration/faults/test_inside.py": 40,
    "integration/spark/sink/test_reported_elsewhere.py": 40,
    "integration/client/test_delivery.py": 39,
    "integration/pipeline/test_any_record.py": 39,
    "hostile/test_one_client.py": 37,
    "integration/atomic/test_killed_inbox.py": 37,
    "compatibility/spark_versions/test_spark_versions.py": 37,
    "integration/pipeline/test_table_sinks.py": 36,
    "integration/spark/test_existing_tables.py": 36,
    "integration/spark/test_table_times.py": 36,
    "integration/two_phase/test_rows_and_records.py": 35,
    "compatibility/interop/transaction_log/test_transaction_log.py": 35,
    "integration/redrive/test_redrive.py": 34,
    "integration/spark/sink/test_commit.py": 33,
    "integration/spark/source/test_sparks_own_connector.py": 32,
    "compatibility/interop/promote/test_promote.py": 32,
    "integration/tables/test_numbers_of_columns.py": 31,
    "integration/spark/declarative/test_declarative.py": 30,
    "compatibility/interop/clients/test_share_tools.py": 30,
    "integration/spark/schemas/test_from_registry.py": 30,
    "integration/tables/test_reported_elsewhere.py": 30,
    "integration/tables/test_reported_of_iceberg.py": 30,
    "integration/frameworks/test_faststream.py": 28,
    "compatibility/interop/promote/test_promoted_groups.py": 28,
    "integration/tables/test_kills.py": 27,
    "compatibility/interop/admin/test_kafka_tools.py": 26,
    "hostile/test_drips.py": 26,
    "integration/spark/pipeline/test_state_over_a_restart.py": 26,
    "docs/test_site.py": 26,
    "integration/tables/test_existing_tables_page.py": 26,
    "integration/export/test_export.py": 25,
    "integration/spark/test_sinks_that_fail.py": 25,
    "integration/client/test_consumer.py": 24,
    "integration/console/test_accessible.py": 24,
    "integration/tables/test_conflicts.py": 24,
    "integration/atomic/test_killed_relay.py": 23,
    "integration/crash/test_crash_rounds.py": 22,
    "compatibility/interop/log/test_kafka_files.py": 22,
    "compatibility/interop/group_log/test_group_log_exchange.py": 22,
    "integration/faults/test_frozen_clocks.py": 22,
    "integration/demo/test_proof.py": 21,
    "integration/schema_registry/test_ways_to_start.py": 21,
    "compatibility/interop/promote/test_promoted_offsets.py": 21,
    "integration/tables/test_identity.py": 21,
    "integration/tables/test_kinds_of_tables.py": 21,
    "simulation/exploration/test_exploration.py": 20,
    "integration/kafka_fixture/test_apache_kafka.py": 20,
    "integration/pipeline/test_pipeline_refused.py": 20,
    "compatibility/interop/files/test_broker_files.py": 20,
    "compatibility/interop/promote/test_promoted_security.py": 20,
    "integration/spark/test_refusals.py": 20,
}
"""How many seconds the files took in a run of all on two cores, if twenty or more; the other files start later."""

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
