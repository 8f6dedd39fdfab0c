"""What a TOML file says, and what is refused about it before anything is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from oncelog.spark.pipeline import PipelineError
from oncelog.spark.pipeline.file import load_pipelines

TOPIC = """
[source]
topic = "t"
options = {{ {options} }}
[query]
sql = "select value from source"
[sink]
topic = "u"
"""
TABLE = """
[source]
topic = "t"
[query]
sql = "select value from source"
[sink]
format = "iceberg"
table = "a.b"
catalog = {{ {catalog} }}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "p.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "options",
    [
        '"kafka.security.protocol" = "SSL", "kafka.client.id" = "x"',
        'kafka.security.protocol = "SSL", kafka.client.id = "x"',
        'kafka = { security.protocol = "SSL", "client.id" = "x" }',
    ],
)
def test_table_names_with_dots_need_no_quotes_in_a_pipeline_file(tmp_path: Path, options: str) -> None:
    """TOML reads ``kafka.client.id = "x"`` as tables within tables."""
    (one,) = load_pipelines(written(tmp_path, TOPIC.format(options=options)))
    assert one.sources["source"].options == {"kafka.security.protocol": "SSL", "kafka.client.id": "x"}


def test_properties_of_a_catalog_keep_their_names_and_values(tmp_path: Path) -> None:
    catalog = 'type = "rest", s3.endpoint = "http://h", rest.sigv4-enabled = true, s3.connect-timeout = 2.5'
    (one,) = load_pipelines(written(tmp_path, TABLE.format(catalog=catalog)))
    options = one.table_sinks["source"].options
    assert {name: value for name, value in options.items() if name.startswith("catalog.")} == {
        "catalog.type": "rest",
        "catalog.s3.endpoint": "http://h",
        "catalog.rest.sigv4-enabled": "true",
        "catalog.s3.connect-timeout": "2.5",
    }


@pytest.mark.parametrize("value", ['{ t = { "0" = 3 } }', "2024-01-01"])
def test_an_option_that_is_not_text_is_refused(tmp_path: Path, value: str) -> None:
    path = written(tmp_path, TOPIC.format(options=f"startingOffsets = {value}"))
    with pytest.raises(PipelineError, match=r"startingOffsets of \[source\.options\] is .*: give a string"):
        load_pipelines(path)
    path = written(tmp_path, TABLE.format(catalog=f"s3 = {{ a = {value} }}" if value[0] != "{" else "a = [1]"))
    with pytest.raises(PipelineError, match=r"of \[sink\.catalog\] is .*: give a string"):
        load_pipelines(path)
