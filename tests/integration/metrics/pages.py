"""Scraping for tests: a broker's page as samples."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as text_format

OPEN_METRICS = "application/openmetrics-text; version=1.0.0"


class Page:
    """The samples of one scrape."""

    def __init__(self, families: Any) -> None:
        self.families = {family.name: family for family in families}
        self.samples = [sample for family in self.families.values() for sample in family.samples]
        self.names = {sample.name for sample in self.samples}

    def value(self, name: str, **labels: str) -> float:
        """The value of the one sample that has these labels, whatever other labels it has."""
        (found,) = self.values(name, **labels)
        return found

    def values(self, name: str, **labels: str) -> list[float]:
        return [
            sample.value for sample in self.samples if sample.name == name and labels.items() <= sample.labels.items()
        ]


def get(address: object, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """Status, media type and body."""
    request = urllib.request.Request(f"http://{address}{path}", headers=dict(headers or {}))
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read().decode()


def scrape(address: object, *, as_open_metrics: bool = False) -> Page:
    status, media, body = get(address, "/metrics", {"Accept": OPEN_METRICS} if as_open_metrics else {})
    assert status == 200 and media.startswith(OPEN_METRICS if as_open_metrics else "text/plain; version=0.0.4")
    return Page((open_metrics if as_open_metrics else text_format)(body))


def health(address: object, what: str) -> tuple[int, dict[str, Any]]:
    status, media, body = get(address, f"/health/{what}")
    assert media == "application/json"
    return status, json.loads(body)
