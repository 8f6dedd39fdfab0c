"""Our dashboard and alert rules: Prometheus' own tool accepts them if it is installed, and every series exists."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from tests.integration.metrics.conftest import Busy
from tests.integration.metrics.pages import Page, scrape

DEPLOY = Path(__file__).parents[3] / "deploy"
RULES = DEPLOY / "prometheus" / "oncelog-rules.yaml"
DASHBOARD = DEPLOY / "grafana" / "oncelog.json"
SERIES = re.compile(r"\b((?:oncelog|kafka|process)_\w+)\s*(?:\{([^}]*)\})?")
MATCH = re.compile(r'(\w+)(=~|!=|!~|=)"([^"]*)"')


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return [panel for panel in found if panel["type"] != "row"]


def expressions() -> Iterator[tuple[str, str]]:
    for rule in rules():
        yield rule["alert"], rule["expr"]
    for panel in panels():
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for variable in json.loads(DASHBOARD.read_text())["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["query"]["query"]


@pytest.fixture(scope="module")
def page(busy: Busy) -> Page:
    return scrape(busy.metrics)


@pytest.mark.parametrize(("where", "expression"), [*expressions()])
def test_every_series_and_label_of_our_dashboard_exists(page: Page, where: str, expression: str) -> None:
    asked = SERIES.findall(expression)
    assert asked, where
    for name, matchers in asked:
        assert name in page.names, where
        for label, how, value in MATCH.findall(matchers):
            if label == "instance" or "$" in value or how in ("!=", "!~"):
                continue  # Prometheus adds the instance, and the others have to be there without a match, too
            there = {sample.labels.get(label) for sample in page.samples if sample.name == name}
            assert any(re.fullmatch(value if how == "=~" else re.escape(value), one or "") for one in there), where


def test_every_alert_says_what_is_wrong_and_what_to_do() -> None:
    names = [rule["alert"] for rule in rules()]
    assert len(names) == len(set(names))
    for rule in rules():
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert set(rule["annotations"]) == {"summary", "description"}


def test_dashboard_panels_have_unique_ids_and_places() -> None:
    every = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in every}) == len(every)
    cells = [
        (x, y)
        for panel in every
        for place in [panel["gridPos"]]
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) < 24


GRAFANAS = {"$__rate_interval": "5m", "$__interval": "1m", "$__range": "1h"}


@pytest.mark.parametrize(("where", "expression"), [*expressions()])
def test_every_expression_is_promql(where: str, expression: str) -> None:
    """Parsed as Prometheus does, with Grafana's variables filled in; ``label_values`` is Grafana's own function."""
    asked = re.fullmatch(r"label_values\((.+), *\w+\)", expression)
    text = asked[1] if asked else expression
    for name, value in GRAFANAS.items():
        text = text.replace(name, value)
    assert promql_parser.parse(text), where


def test_the_rules_file_contains_only_valid_prometheus_rules() -> None:
    """The keys of Prometheus' ``rulefmt``, durations as it reads them, and templates in which its functions' braces
    close.
    """
    reported = yaml.safe_load(RULES.read_text())
    assert set(reported) == {"groups"}
    names = [group["name"] for group in reported["groups"]]
    assert len(names) == len(set(names))
    for group in reported["groups"]:
        assert set(group) <= {"name", "interval", "limit", "rules"}
        for rule in group["rules"]:
            assert {"alert", "expr"} <= set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
            assert "for" not in rule or promql_parser.parse_duration(rule["for"])
            for text in rule["annotations"].values():
                assert text.count("{{") == text.count("}}")
                assert set(re.findall(r"\{\{ *(\$\w+)", text)) <= {"$labels", "$value"}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed (Debian's package prometheus)")
def test_promtool_accepts_the_rules_and_a_scrape(busy: Busy) -> None:
    subprocess.run(["promtool", "check", "rules", RULES], check=True, capture_output=True)
