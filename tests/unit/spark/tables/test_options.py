"""Options of a table that are refused before anything is opened."""

from __future__ import annotations

import pytest

from oncelog.errors import ConfigError
from oncelog.spark.tables.options import parse_table_options


@pytest.mark.parametrize(
    ("catalog", "says"),
    [
        (
            {"type": "jdbc", "uri": "jdbc:postgresql://h/d?password=hidden"},
            "is catalog.type = sql here, its catalog.uri",
        ),
        ({"type": "sql", "uri": "jdbc:sqlite:/folder/c.db"}, "sqlite:////folder/catalog.db.*its name in Spark"),
        ({"type": "hadoop", "warehouse": "/w"}, "is 'hadoop', which does not work here: use a catalog of type rest"),
        ({"type": "Nessie", "uri": "http://h"}, "Nessie is one of type rest"),
        ({"type": "in-memory"}, "is 'in-memory'"),
        ({"catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog"}, "names a Java class.*glue"),
        ({}, "needs its catalog"),
    ],
)
def test_a_catalog_configured_as_for_spark_is_refused_and_the_error_says_what_to_write(
    catalog: dict[str, str], says: str
) -> None:
    given = {"format": "iceberg", "table": "a.b"} | {f"catalog.{name}": value for name, value in catalog.items()}
    with pytest.raises(ConfigError, match=says) as refused:
        parse_table_options(given)
    assert "hidden" not in str(refused.value)
