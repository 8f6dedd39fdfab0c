"""The tree is tidy: nothing is unused, and every reference resolves. Sizes are in ``test_shape.py``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from vulture import Vulture

from oncelog.broker.core.registry import SERVED
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.internal_records import GROUP_RECORDS

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "oncelog"

CALLED_BY_OTHERS = {
    "*.command": "click calls it",
    "*.group": "click calls it",
    "*.hookimpl": "pytest calls it",
    "*.fixture": "pytest hands it out",
    "@check": "the registry of oncelog conformance calls it",
    "@route*": "the console's server calls it",
    "@overload": "read by type checkers",
}
"""Decorators whose functions something else calls."""

NAMES_OF_OTHERS = {
    "__getattr__ __dir__ __call__ __init_subclass__": "Python calls them",
    "connection_made connection_lost buffer_updated get_buffer eof_received data_received": "asyncio's protocols",
    "do_GET do_POST do_DELETE log_message send_error": "http.server's handlers",
    "http_open https_open redirect_request handler_order": "urllib's handlers",
    "pytest_*": "pytest's hooks",
    "create_module": "importlib's loaders",
    "list_commands get_command format_commands": "click's groups",
    "onQuery*": "Spark's listeners",
    "streamReader streamWriter initialOffset getDefaultReadLimit latestOffset prepareForTriggerAvailableNow "
    "reportLatestOffset": "Spark's data sources",
}
"""Names that a framework prescribes."""

PUBLIC = {
    "aiokafka/*": "the names of aiokafka; tests/integration/aiokafka walks them",
    "client/aio/admin/*": "called by users; docs/reference/python.md",
    "client/aio/consumer/consumer.py": "called by users; docs/reference/python.md",
    "client/aio/producer/producer.py": "called by users; docs/reference/python.md",
    "client/blocking/*": "called by users; docs/reference/python.md",
    "spark/tables/sink.py": "called by users; docs/reference/python.md",
    "broker/faults/rules.py": "the methods of Faults; docs/how-to/testing.md",
    "broker/faults/embedded.py": "faults that users set inside; docs/how-to/testing.md",
    "broker/faults/interceptor.py": "faults that users set inside; docs/how-to/testing.md",
    "broker/server/embedded.py": "the embedded broker's methods; docs/how-to/testing.md",
    "testing/*": "called by users; docs/how-to/testing.md",
    "testing/simulation/*": "a loop, its transports and a clock in the place of the standard library's",
    "schemas/*": "called by users; docs/how-to/schemas.md",
    "telemetry.py": "called by users; docs/how-to/monitor.md",
    "spark/lag.py": "a listener that users add; docs/how-to/spark.md",
    "spark/pipeline/declarative.py": "called by users; docs/how-to/declarative.md",
    "spark/reporting.py": "what users add; docs/how-to/spark.md",
    "spark/session_metrics.py": "called by users; docs/how-to/monitor.md",
    "apps/console/pages/*": "templates read its properties",
    "apps/console/*": "templates read its properties",
    "embedded.py": "what a program gets that embeds a broker",
    "errors.py": "invalid_metadata is an attribute of aiokafka's errors",
}
"""Files whose public definitions are used from outside of the package."""

GENERATED_CALLS = {"protocol/struct_fields.py": "the generated messages name its defaults"}

USED_BY_TOOLS = {
    "broker/coordinator/group/states.py:CONSUMER_STATES": "drawn into docs/reference/group-states.md",
    "broker/coordinator/group/states.py:MEMBER_STATES": "drawn into docs/reference/group-states.md",
    "schemas/arrow/layout.py:MAX_COLUMN_BYTES": "imported by the compiled module",
}

COMPARED_IN_TESTS = {"request_header", "response_header"}
"""Generated messages that tests compare ``framing.py`` with, and Kafka's own classes with them."""


def sources() -> Iterator[Path]:
    for path in sorted(PACKAGE.rglob("*.py")):
        if "generated" not in path.parts:
            yield path


def around_the_package() -> list[Path]:
    return [path for folder in ("tests", "tools", "benchmarks") for path in sorted((ROOT / folder).rglob("*.py"))]


def pages() -> list[Path]:
    return [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "changes").glob("*.md")]


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@cache
def text_of(path: Path) -> str:
    return path.read_text()


def lines_with(word: re.Pattern[str], path: Path) -> Iterator[tuple[int, str]]:
    """Number and text of the lines in which it stands. A search in the whole text is quicker than one in each line."""
    text = text_of(path)
    for found in word.finditer(text):
        number = text.count("\n", 0, found.start())
        yield number + 1, text.split("\n")[number]


class Contents(NamedTuple):
    names: frozenset[str]
    """Every name that the module defines, imports or assigns, attributes of its classes included."""
    constants: frozenset[str]
    """Names that it assigns outside of classes and functions."""
    docstrings: tuple[str, ...]


@cache
def contents(path: Path) -> Contents:
    """Of a module; its tree is not kept, for a million nodes cost more than the search in them."""
    module = ast.parse(text_of(path))
    names, docstrings = set(), []
    for node in ast.walk(module):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Import(names=imported) | ast.ImportFrom(names=imported):
                names.update((alias.asname or alias.name).partition(".")[0] for alias in imported)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
            case ast.Expr(value=ast.Constant(value=str(text))):
                docstrings.append(text)
    constants = {
        target.id
        for node in module.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    return Contents(frozenset(names), frozenset(constants), tuple(docstrings))


def test_every_definition_in_the_package_is_used() -> None:
    names = [name for line in NAMES_OF_OTHERS for name in line.split()]
    finder = Vulture(ignore_names=names, ignore_decorators=list(CALLED_BY_OTHERS))
    finder.scavenge([str(SOURCE)], exclude=["*/generated/*"])
    exempt = {*PUBLIC, *GENERATED_CALLS}
    unused = []
    for item in finder.get_unused_code(min_confidence=60):
        path = Path(item.filename)
        is_constant = item.typ == "variable" and item.name in contents(path).constants
        if item.typ not in ("function", "method", "class", "property") and not is_constant:
            continue
        place = name_of(path) if path.is_relative_to(PACKAGE) else path.name
        if any(Path(place).match(pattern) for pattern in exempt) or f"{place}:{item.name}" in USED_BY_TOOLS:
            continue
        unused.append(f"{place}:{item.first_lineno} {item.typ} {item.name}")
    assert not unused, "\n".join(unused)


def test_section_comments_of_modules_have_one_form() -> None:
    other = re.compile(r"^ *# *(?:-{2}|={2}|\*{2}).*", re.MULTILINE)
    files = [*sources(), *around_the_package()]
    headed = [line.strip() for path in files for line in other.findall(text_of(path))]
    assert [line for line in headed if not re.fullmatch(r"# --- \S.*[^ -]", line)] == []


def test_every_newtype_is_used() -> None:
    text = "\n".join(text_of(path) for path in sources())
    made = re.findall(r"^(\w+) = NewType\(", text, re.MULTILINE)
    assert [name for name in made if len(re.findall(rf"\b{name}\b", text)) <= 2] == []


ODD = re.compile(
    r"\banew\b|\b(?:None|empty|nothing|0|1|True|False) where (?!mistakes)|\bshall\b|\bthereby\b|\bcan not\b"
    r"|\btime-outs?\b|\bhalf-way\b|\blook-ups?\b",
    re.IGNORECASE,
)
"""Words that no native speaker writes there, or that are spelt in two ways: "again", "if", "is to", "timeout"."""


def test_what_people_read_is_plain_english() -> None:
    odd = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in [*pages(), *sources(), *around_the_package()]
        if path != Path(__file__)
        for number, line in lines_with(ODD, path)
    ]
    assert not odd, "\n".join(odd)


def test_lines_of_pages_are_at_most_120_characters() -> None:
    """Prose only: rows of tables, code, a line without a space and news fragments stay as they are."""
    long = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in pages()
        if path.parent.name != "changes"
        for line in re.sub(r"(?ms)^ *```.*?^ *```", "", text_of(path)).splitlines()
        if len(line) > 120 and not line.startswith(("|", "    ")) and " " in line.strip()
    ]
    assert not long, "\n".join(long)


RENAMED = {
    r"_shake_hands": "_handshake",
    r"\bDoor\b|doors\b": "Acceptor",
    r"(?<![A-Z])(?:MOST|LEAST)_": "MAX_, MIN_",
    r"\bturn_ends\b|_turn_used\b|\b(?:this|one|current) turn\b|\bturns? of the (?:event )?loop\b": "iteration",
    r"\bSlices\b|_in_pieces\b|\bPieces\b|\bdozens?\b": "task, chunk",
    r"\b_?PIECE_|\b_pieces\(|import piece\b": "slice, part",
    r"\bstamps?\b|\bStamped\b|\bstamp_producer\b": "producer",
    r"\b(?:done|answered)_elsewhere\b": "background",
    r"\bforget_routes\b": "forget_patterns",
    r"hand(?:s|ed)?_on(?![a-z])": "resume",
    r"time_out": "timeout",
    r"\bgo_on\b": "resume",
    r"\bis_wide\b|\bgiving_back\b": "has_many_partitions, free",
    r"\b[Ss]tor(?:y|ies)\b": "trace",
    r"\bBench\b|\bbench: ": "fixture",
    r"\bdoor_to\b|_at_home\b": "single_node, name_on_node",
    r"\b[Rr]ivals?\b|\b[Tt]ruth\b": "Spark's sink, expected",
    r"_bears_|\bHeldRecords\b": "has, BufferedRecords",
    r"(?:\b|_)[Ff]ates?(?:\b|_)": "outcome",
    r"(?i:patience)": "timeout",
    r"(?<!\.)\b_?said\b(?= *[=:|,)\]])": "message",
    r"(?<!\.)\btell\(|\btold\b(?= *[=:])": "report",
    r"\bDo\.[A-Z]|\bclass (?:Do|Each|Next|Note|Standing|Need|Goal|Disown|Looks|Right)\b": "what the class is",
    r"\b_?ambush(?:es)?\b|\b(?:Ambush|Habits|Happening)\b|\blie_in_wait\b": "trigger, model, entry",
    r"\bTroubled?[A-Z]\w*|\bTroubles?(?:\b|\()|\btroubles=": "fault",
    r"\b(?:Topic|Partition|Group)Picture\b|\bHandingOut\b|\bhanding_out\b|\bBreach\b": "image, reader, anomaly",
    r"\b_?most_(?!common\b)[a-z]|\bonly_looks?\b|\bONLY_LOOKS\b": "max_, read_only",
    r"\b_?told_\w|\b\w*_told\b|\bTOLD_\w|\b\w*_TOLD\b|\bUNTOLD\b": "reported",
    r"\b\w*_picture\b|\bpicture\b(?= *(?::?=(?!=)|: \w|\())": "image, diagram, chart",
    r"\b\w*[a-z]_gate\b|\bgate\b(?= *[=:.])|\b[A-Z]\w+Gate\b": "authenticator, interceptor",
    r"\b_?(?:new_)?learners?\b(?= *[=:.(])": "pattern cache",
    r"\b(?:Stored)?Letter(?:Outcome)?\b(?!\"|\})|redrive[./]letters\b": "dead letter",
    r"\bIntake\b|\b_?intake\b": "record appender",
}
"""Private words that are gone, and the field's."""


@cache
def different_lines() -> Mapping[str, str]:
    """Each line of the package, of tests, tools, benchmarks and pages, and the first place where it stands."""
    found: dict[str, str] = {}
    for path in [*sources(), *sorted(PACKAGE.rglob("*.pyx")), *around_the_package(), *pages()]:
        if path != Path(__file__):
            for number, line in enumerate(text_of(path).split("\n"), 1):
                found.setdefault(line, f"{path.relative_to(ROOT)}:{number}")
    return found


@cache
def text_of_different_lines() -> str:
    return "".join(f"{line}\n" for line in different_lines())


@pytest.mark.parametrize("word", RENAMED, ids=RENAMED.get)
def test_no_private_word_comes_back(word: str) -> None:
    text = text_of_different_lines()
    lines = {
        text[text.rfind("\n", 0, found.start()) + 1 : text.find("\n", found.start())]
        for found in re.finditer(word, text)
    }
    assert [f"{different_lines()[line]}: {line.strip()}: write {RENAMED[word]}" for line in lines] == []


@pytest.mark.parametrize("word", ["_shake_hands", "turn_ends", "MOST_ROWS", "a Rival", "story"])
def test_a_private_word_is_found(word: str) -> None:
    assert any(re.search(pattern, word) for pattern in RENAMED)


def test_every_generated_message_is_served_or_read() -> None:
    """By name, as a request or response of an API that is served, or as a record of ``__consumer_offsets``."""
    named = set(re.findall(r"oncelog\.protocol\.generated\.(\w+)", "\n".join(path.read_text() for path in sources())))
    served = {f"{ApiKey(key).name.lower()}_{kind}" for key in SERVED for kind in ("request", "response")}
    read = {f"{name}_{kind}" for name, _ in GROUP_RECORDS.values() for kind in ("key", "value")}
    made = {path.stem for path in (PACKAGE / "protocol" / "generated").glob("*.py")} - {"__init__"}
    assert sorted(made - named - served - read - COMPARED_IN_TESTS) == []


# --- references


def docstrings() -> Iterator[tuple[Path, str]]:
    for path in sources():
        for text in contents(path).docstrings:
            yield path, text


def module_path(dotted: str) -> Path | None:
    base = PACKAGE.joinpath(*dotted.removeprefix("oncelog.").split("."))
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


@cache
def all_names() -> frozenset[str]:
    return frozenset().union(*(contents(path).names for path in sources()))


def resolves(path: Path, reference: str) -> bool:
    """``name`` of the same module, ``Class.name`` of any, or ``oncelog.module.name``."""
    first, _, rest = reference.partition(".")
    if first != "oncelog":
        names = all_names() if first[0].isupper() else contents(path).names
        return first in names and (not rest or rest.rpartition(".")[2] in all_names())
    module, _, name = reference.rpartition(".")
    found = module_path(module)
    return module_path(reference) is not None or (found is not None and name in contents(found).names)


def test_references_in_docstrings_resolve() -> None:
    role = re.compile(r":(?:class|meth|func|data|attr|mod|exc):`~?([\w.]+)`")
    broken = [
        f"{name_of(path)}: {reference}"
        for path, text in docstrings()
        for reference in role.findall(text)
        if not resolves(path, reference)
    ]
    assert not broken, "\n".join(broken)


def test_modules_that_docstrings_name_exist() -> None:
    packages = {path.name for path in PACKAGE.iterdir() if path.is_dir()} - {"spark"}
    dotted = re.compile(r"``((?:oncelog\.)?([a-z_]+)(?:\.[a-z_]+)+)``")
    broken = []
    for path, text in docstrings():
        for reference, first in dotted.findall(text):
            if first in packages or reference.startswith("oncelog."):
                name = reference.rpartition(".")[2]
                logger = f'getLogger("{reference}")' in path.read_text()
                if module_path(reference) is None and name not in all_names() and not logger:
                    broken.append(f"{name_of(path)}: {reference}")
    assert not broken, "\n".join(broken)


MAP = ["docs/architecture.md", *sorted(f"docs/internals/{path.name}" for path in ROOT.glob("docs/internals/*.md"))]


@pytest.mark.parametrize("page", MAP[1:])
def test_invariants_name_the_tests_that_hold_them(page: str) -> None:
    invariants = (ROOT / page).read_text().partition("\n## Invariants\n")[2]
    missing = []
    for invariant in re.split(r"(?m)^- ", invariants)[1:]:
        named = re.findall(r"`(tests/[\w./-]+)(?:::(\w+))?`", invariant)
        missing += [invariant.partition(".")[0]] if not named else []
        missing += [name for name, _ in named if not (ROOT / name).exists()]
        missing += [test for name, test in named if test and f"def {test}(" not in (ROOT / name).read_text()]
    assert invariants
    assert not missing


@pytest.mark.parametrize("page", [*MAP, "docs/contributing/adding.md", "docs/contributing/checks.md"])
def test_files_that_pages_name_exist(page: str) -> None:
    named = re.findall(r"`([\w./-]+\.(?:py|pyx|toml|md))`", (ROOT / page).read_text())
    places = (
        ROOT,
        SOURCE,
        PACKAGE,
        ROOT / "docs",
        PACKAGE / "broker",
        PACKAGE / "broker" / "core",
        PACKAGE / "broker" / "coordinator",
        PACKAGE / "spark",
    )
    beside = {path.name for path in ROOT.glob("src/**/*.py*")}
    placeholder = re.compile(r"NAME")
    missing = [
        name
        for name in named
        if not placeholder.search(name)
        and not any((place / name).exists() for place in places)
        and not ("/" not in name and name in beside)
    ]
    assert not missing


@pytest.mark.parametrize("page", MAP)
def test_members_that_pages_name_exist(page: str) -> None:
    """``Class.member`` of the map, also in the middle of other code."""
    code = re.findall(r"`([^`\n]+)`", (ROOT / page).read_text())
    named = {found for text in code for found in re.findall(r"\b([A-Z]\w+)\.(?!md\b)([a-z]\w+)", text)}
    assert sorted(f"{owner}.{member}" for owner, member in named if not {owner, member} <= all_names()) == []
