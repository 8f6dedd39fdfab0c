"""What import-linter's contracts in ``pyproject.toml`` leave open: circles of imports within a layer."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "oncelog"

IN_CIRCLES = {
    "broker": 16,
}
"""How many modules of a package still import each other in a circle, imports for type checkers counted.

Lower a number when a circle is opened; none may grow, and no package may be added.
"""


def circles(imports: dict[str, set[str]]) -> list[set[str]]:
    """The strongly connected components of more than one module: each module reaches each other one."""

    def reached(start: str, edges: dict[str, set[str]]) -> set[str]:
        found: set[str] = set()
        waiting = [start]
        while waiting:
            for module in edges[waiting.pop()] - found:
                found.add(module)
                waiting.append(module)
        return found

    importers: dict[str, set[str]] = {module: set() for module in imports}
    for module, imported in imports.items():
        for name in imported:
            importers[name].add(module)
    components = []
    left = set(imports)
    while left:
        module = min(left)
        component = (reached(module, imports) & reached(module, importers)) | {module}
        left -= component
        if len(component) > 1:
            components.append(component)
    return components


def test_circles_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}, "e": set()}) == [{"b", "c"}]


def test_no_circle_of_imports_is_added() -> None:
    graph = grimp.build_graph("oncelog", exclude_type_checking_imports=False, cache_dir=None)
    imports = {module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}
    found: Counter[str] = Counter()
    for component in circles(imports):
        packages = [module.split(".")[1:-1] for module in component]
        shared = []
        for names in zip(*packages, strict=False):
            if len(set(names)) > 1:
                break
            shared.append(names[0])
        found[".".join(shared)] += len(component)
    assert found <= Counter(IN_CIRCLES), {name: found[name] for name in found if found[name] > IN_CIRCLES.get(name, 0)}


def test_the_contract_about_testing_names_every_module() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (named,) = (set(contract["source_modules"]) for contract in contracts if "imports testing" in contract["name"])
    there = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert named == {f"oncelog.{name}" for name in there - {"testing", "pytest_plugin", "__init__", "__main__"}}
