"""Every example of the README and of ``docs/`` does what it says.

``console`` blocks run command by command against a broker, and print what they show (``...`` stands for anything).
Python blocks run; pipeline files are loaded; commands elsewhere must at least be commands with these options. Programs
for Spark are only compiled here: ``tests/integration/spark`` runs their like.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
import yaml

import oncelog
import oncelog.broker.faults.embedded
import oncelog.pytest_plugin
from oncelog.cli.main import command
from oncelog.types import java_hash_partition
from tests.integration.cli.conftest import call

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ADDRESS = re.compile(r"(127\.0\.0\.1|localhost):9092")
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^    .*\n|^\n(?=    ))+", re.MULTILINE)


class Example(NamedTuple):
    """A block of a page: its language, its text, and the line it starts at."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def _examples() -> Iterator[Example]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in FENCED.finditer(text):
            yield Example(page, text[: match.start()].count("\n") + 1, match[1], match[2])
        bare = FENCED.sub(lambda match: "\n" * match[0].count("\n"), text)
        for match in INDENTED.finditer(bare):
            block = inspect.cleandoc(match[0])
            language = (
                "python" if re.match(r"import |from ", block) else "fragment" if block.startswith("df.") else "sh"
            )
            yield Example(page, bare[: match.start()].count("\n") + 1, language, block + "\n")


EXAMPLES = list(_examples())
NAMES = {example: example.name for example in EXAMPLES}


def _of(*languages: str) -> list[Any]:
    return [pytest.param(example, id=example.name) for example in EXAMPLES if example.language in languages]


def test_every_code_block_has_a_language_that_is_checked() -> None:
    known = {
        "console",
        "python",
        "toml",
        "sh",
        "fragment",
        "text",
        "mermaid",
        "yaml",
        "ini",
        "diff",
        "sql",
        "java",
        "go",
    }
    assert not [example.name for example in EXAMPLES if example.language not in known]
    assert {"console", "python", "toml", "sh"} <= {example.language for example in EXAMPLES}


@pytest.mark.parametrize("page", sorted({example.page for example in EXAMPLES if example.language == "console"}))
def test_commands_print_what_the_page_shows(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    with oncelog.Broker(settings={"group.initial.rebalance.delay.ms": 0}) as broker:
        monkeypatch.setenv("ONCELOG_BOOTSTRAP_SERVER", broker.bootstrap_servers)
        for example in EXAMPLES:
            if example.page == page and example.language == "console":
                for line, shown in _commands(example.text):
                    printed = "".join(f"{part.rstrip()}\n" for part in _printed(line).splitlines())
                    assert _matches(shown, printed), f"{example.name}: $ {line}\n{printed}"


PIPED = re.compile(r"(?:(?P<before>[^|]*)\| )?oncelog (?P<words>[^|<>]*)")


def _printed(line: str) -> str:
    """What a command line prints; if it ends in our command, that runs without a process of its own."""
    piped = PIPED.fullmatch(line)
    if piped is None:
        ended = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
        return ended.stdout + ended.stderr
    before = piped["before"]
    given = subprocess.run(["bash", "-c", before], capture_output=True, check=True).stdout if before else b""
    outcome = call(*shlex.split(piped["words"]), stdin=given)
    return outcome.out + outcome.err


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """Commands with their output."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        yield line, shown


def _matches(shown: str, printed: str) -> bool:
    lines = "".join(f"{line.rstrip()}\n" for line in shown.splitlines())
    pattern = re.escape(lines).replace(re.escape("..."), ".*?")
    # columns are as wide as what stands in them
    return re.fullmatch(re.sub(r"(\\ )+", r"\\s+", pattern), printed, re.DOTALL) is not None


@pytest.mark.parametrize("example", _of("python"))
def test_python_examples_run(
    example: Example, oncelog_broker: oncelog.Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(ROOT / "examples")
    source = ADDRESS.sub(oncelog_broker.bootstrap_servers, example.text)
    code = compile(source, example.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if example.page.stem in ("simulation", "failed-seed"):  # tests/simulation: test_how_to, test_service
        return
    if example.page.stem == "spark" or re.search(r"spark|pipeline", source, re.IGNORECASE):
        return
    if "def test_" in source:
        file = tmp_path / "test_example.py"
        file.write_text(source)
        if "from helpers import" in source:
            first = next(other for other in EXAMPLES if other.page == example.page and other.language == "python")
            (tmp_path / "helpers.py").write_text(first.text)
        subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file], cwd=tmp_path, check=True)
        return
    result = eval(code, {"run_my_code": lambda servers: None})
    if inspect.iscoroutine(result):
        asyncio.run(result)


def test_the_two_phase_commit_page_shows_the_example_unchanged() -> None:
    page = (ROOT / "docs" / "how-to" / "two-phase-commit.md").read_text(encoding="utf-8")
    assert (ROOT / "examples" / "row_and_record.py").read_text(encoding="utf-8") in page


@pytest.mark.parametrize("example", _of("toml"))
def test_pipeline_files_can_be_loaded(example: Example, tmp_path: Path) -> None:
    from oncelog.spark.pipeline.file import load_pipelines

    (tmp_path / "pipeline.toml").write_text(example.text)
    (tmp_path / "airlines.csv").write_text("carrier,name\nAA,American\n")
    assert load_pipelines(tmp_path / "pipeline.toml")


@pytest.mark.parametrize("example", _of("yaml"))
def test_yaml_files_can_be_read(example: Example) -> None:
    found = yaml.safe_load(example.text)
    assert found["scrape_configs"], "another program's file needs a check of its own here"


@pytest.mark.parametrize("example", _of("ini"))
def test_each_documented_systemd_unit_starts_an_existing_command(example: Example, tmp_path: Path) -> None:
    unit = ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(example.text)
    (tmp_path / "server.properties").touch()
    program, *words = unit["Service"]["ExecStart"].split()
    assert Path(program).name == "oncelog"
    named = [str(tmp_path / "server.properties") if word.endswith(".properties") else word for word in words]
    _parse(command, "oncelog", named)


COMMAND = re.compile(r"(?:^|\| )(?:\.venv/bin/)?oncelog ([^|#>\n]*)", re.MULTILINE)


@pytest.mark.parametrize("example", _of("sh"))
def test_commands_in_shell_blocks_exist_with_their_options(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()  # what the reader of these pages has by then
    for name in ("server.properties", "admin.properties", "registry.properties", "order.avsc"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    for match in COMMAND.finditer(example.text):
        words = match[1].split()
        if "COMMAND" not in words:
            _parse(command, "oncelog", words)


def test_messages_name_commands_that_exist() -> None:
    """Users copy the next step from a message into their shell."""
    context = click.Context(command)
    found = {name: command.get_command(context, name) for name in command.list_commands(context)}
    groups = {name: one.commands for name, one in found.items() if isinstance(one, click.Group)}
    named = re.compile(rf"oncelog ({'|'.join(groups)}) ([a-z][a-z-]*)")
    unknown = {}
    for path in sorted((ROOT / "src" / "oncelog").rglob("*.py")):
        for group, word in named.findall(path.read_text(encoding="utf-8")):
            if word not in groups[group]:
                unknown[f"oncelog {group} {word}"] = path
    assert unknown == {}


def test_the_dumped_file_has_the_transactional_id_of_the_page() -> None:
    """In another partition of ``__transaction_state`` there is nothing to see."""
    page = (ROOT / "docs" / "how-to" / "command-line.md").read_text(encoding="utf-8")
    assert "--transactional-id load-1" in page
    assert re.findall(r"__transaction_state-(\d+)/", page) == [str(java_hash_partition("load-1", 50))]


def _parse(group: click.Command, name: str, words: list[str], parent: click.Context | None = None) -> None:
    """Fails if click would refuse the words; nothing is run."""
    with group.make_context(name, list(words), parent=parent) as context:
        if isinstance(group, click.Group):
            rest = [*context._protected_args, *context.args]
            inner, found, left = group.resolve_command(context, rest)
            assert found is not None, words
            _parse(found, str(inner), left, context)


def test_the_readme_s_figures_are_those_of_the_benchmarks() -> None:
    """Two of them stayed behind when the page had a new run."""
    readme, benchmarks = ((ROOT / name).read_text() for name in ("README.md", "docs/reference/benchmarks.md"))
    section = readme.partition("\n## The proof\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    shown = [number for row in rows[1:] for cell in row[1:3] for number in re.findall(r"\d[\d.,]*\d|\d+", cell)]
    elsewhere = {"0.19": "190 ms", "2.9": "2,892 ms", "4.4.0": "4.4.0", "0": "none with ours"}
    assert len(rows) == 6
    wanted = {number: re.escape(elsewhere.get(number, number)) for number in shown}
    behind = [one for one, text in wanted.items() if not re.search(rf"(?<![\d.,]){text}(?!\d|[.,]\d)", benchmarks)]
    assert behind == []
    for shown_command in {row[3].strip(" `") for row in rows[1:]} - {"the same"}:
        assert re.fullmatch(r"python -m benchmarks(\.\w+)?( --(only \w+|quick))*", shown_command), shown_command


@pytest.mark.parametrize("name", ["benchmarks", "limits"])
def test_pages_with_figures_show_no_outdated_figure(name: str) -> None:
    """They show what holds now and how to measure it; what held before is in the repository's history."""
    page = (ROOT / "docs" / "reference" / f"{name}.md").read_text()
    assert re.findall(r"^#+ History|^\|.*\| (?:before|after|now) \|", page, re.MULTILINE | re.IGNORECASE) == []
    assert re.findall(r"\d \w+ before\)", page) == []


def test_programs_that_start_a_query_wait_for_it() -> None:
    """A script that ends right after ``start()`` ends the query, with status 0 and nothing written."""
    whole = [example for example in EXAMPLES if example.language == "python" and "= session(" in example.text]
    assert whole
    assert not [e.name for e in whole if ".start()" in e.text and ".awaitTermination()" not in e.text]


def test_every_table_row_follows_a_table_header() -> None:
    """After a blank line inside a table, the remaining rows are plain text."""
    ruler = re.compile(r"\|(?: *:?-+:? *\|)+")
    for page in PAGES:
        text = FENCED.sub("", page.read_text(encoding="utf-8"))
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            rows = table.splitlines()
            assert len(rows) > 1 and ruler.fullmatch(rows[1]), f"{page.relative_to(ROOT)}: {rows[0]}"


def test_no_page_repeats_a_heading() -> None:
    """A merge can duplicate a section, with the figures of two days."""
    for page in PAGES:
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        headings = re.findall(r"^#{2,3} (.*)", text, re.MULTILINE)
        assert sorted(headings) == sorted(set(headings)), page


def test_every_fault_in_the_tables_has_an_example_that_finds_a_bug() -> None:
    """``docs/how-to/faults.md`` has a test for each fault that ``docs/how-to/testing.md`` names."""
    folder = ROOT / "docs" / "how-to"
    rows = re.findall(r"^\| (`[a-z_]+\(?.*?) \|", (folder / "testing.md").read_text(), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([a-z_]+)", row)}
    faults = {name for name in named if hasattr(oncelog.broker.faults.embedded.BrokerFaults, name)} - {"release"}
    page = (folder / "faults.md").read_text()
    assert len(faults) >= 18
    assert {name for name in faults if f".{name}(" not in page and f'"{name}"' not in page} == set()


def test_the_page_for_tests_names_every_fixture_of_the_plugin() -> None:
    plugin = ast.parse(Path(oncelog.pytest_plugin.__file__).read_text(encoding="utf-8"))
    functions = [node for node in plugin.body if isinstance(node, ast.FunctionDef)]
    fixtures = {
        function.name
        for function in functions
        if any("pytest.fixture" in ast.unparse(decorator) for decorator in function.decorator_list)
    }
    public = {name for name in fixtures if not name.startswith("_")}
    page = (ROOT / "docs" / "how-to" / "testing.md").read_text(encoding="utf-8")
    assert "oncelog_broker" in public
    assert {name for name in public if f"\n| `{name}` |" not in page} == set()
