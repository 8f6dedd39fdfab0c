"""Dates and times as text, against Python's ``datetime`` and, beyond its years, Java's ``Instant``."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

from oncelog.records.arrow_moments import moment_texts, sql_day

EPOCH = datetime.datetime(1970, 1, 1)
US = datetime.timedelta(microseconds=1)


@pytest.mark.parametrize("beyond", [False, True])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_pythons_years_are_written(unit: str, beyond: bool) -> None:
    """With a moment of another year beside them, another way is taken, to the same text."""
    per_s = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}[unit]
    moments = [
        datetime.datetime(year, month, day, hour, 59, 1)
        for year, month, day, hour in [
            (1, 1, 1, 0), (1000, 2, 28, 23), (1582, 10, 4, 12), (1582, 10, 15, 0), (1883, 11, 18, 12), (1900, 3, 1, 0),
            (1969, 12, 31, 23), (1970, 1, 1, 0), (2000, 2, 29, 1), (2038, 1, 19, 3), (9999, 12, 31, 23),
        ]
        if unit != "ns" or 1678 < year < 2262
    ]  # fmt: skip
    digits = {"s": "", "ms": ".001", "us": ".000001", "ns": ".000000001"}[unit]
    fraction = 0 if unit == "s" else 1
    values = [(one - EPOCH) // US // 10**6 * per_s + fraction for one in moments]
    more = {"ns": []}.get(unit, [253_402_300_800 * per_s])
    column = pa.chunked_array([pa.array([None, *values, *(more if beyond else [])], pa.timestamp(unit))])
    texts = [f"{one:%m-%d %H:%M:%S}{digits}" for one in moments]
    expected = [None, *(f"{one.year:04d}-{text}" for one, text in zip(moments, texts, strict=True))]
    assert moment_texts(column).to_pylist()[: len(expected)] == expected
    zoned = moment_texts(column.cast(pa.timestamp(unit, "UTC")), between="T").to_pylist()[: len(expected)]
    assert zoned == [None if one is None else one.replace(" ", "T") + "Z" for one in expected]


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (2**63 - 1, "+294247-01-10T04:00:54.775807Z"),
        (-(2**63), "-290308-12-21T19:59:05.224192Z"),
        (253_402_300_800_000_000, "+10000-01-01T00:00:00.000000Z"),
        (-62_135_596_800_000_001, "0000-12-31T23:59:59.999999Z"),
        (-62_167_219_200_000_001, "-0001-12-31T23:59:59.999999Z"),
    ],
)
def test_timestamps_beyond_pythons_years_equal_javas_instant(us: int, text: str) -> None:
    column = pa.chunked_array([pa.array([us, 0], pa.timestamp("us", "UTC"))])
    assert moment_texts(column, between="T").to_pylist() == [text, "1970-01-01T00:00:00.000000Z"]
    assert moment_texts(column.cast(pa.timestamp("us"))).to_pylist()[0] == text.replace("T", " ")[:-1]


@pytest.mark.parametrize(
    ("day", "text"),
    [
        (0, "1970-01-01"), (2_932_896, "9999-12-31"), (2_932_897, "+10000-01-01"), (-719_162, "0001-01-01"),
        (-719_163, "0000-12-31"), (-719_529, "-0001-12-31"), (2**31 - 1, "+5881580-07-11"),
        (-(2**31), "-5877641-06-23"),
    ],
)  # fmt: skip
def test_days_of_any_year_are_written(day: int, text: str) -> None:
    for beside in (0, 2_932_897):
        column = pa.chunked_array([pa.array([day, None, beside], pa.date32())])
        assert moment_texts(column).to_pylist()[:2] == [text, None]


def test_postgresql_reads_years_before_1_as_bc_and_others_without_a_sign() -> None:
    days = pa.array([-719_163, -719_529, 2_932_897, -719_162], pa.date32())
    assert moment_texts(days, day=sql_day).to_pylist() == [
        "0001-12-31 BC", "0002-12-31 BC", "10000-01-01", "0001-01-01",
    ]  # fmt: skip
    moments = pa.array([-62_135_596_800_000_001, 2**63 - 1], pa.timestamp("us", "UTC"))
    assert moment_texts(moments, day=sql_day).to_pylist() == [
        "0001-12-31 23:59:59.999999Z BC", "294247-01-10 04:00:54.775807Z",
    ]  # fmt: skip
