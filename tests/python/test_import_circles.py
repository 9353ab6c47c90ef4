"""Which module imports which: no circles, and rooms that look one way."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "python"
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "sentencode").rglob("*.py"))
}
PACKAGES = {name for name, path in FILES.items() if path.name == "__init__.py"}

ROOMS = ("data", "metrics", "statistics", "report")  # of evaluation; each uses those before it


@functools.cache
def statements(module):
    """All imports of a module, wherever they stand: what is imported from, and the names; None for all."""
    path, found = FILES[module], []
    package = module if module in PACKAGES else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*parts, *filter(None, [node.module])])
            found += [(source, alias.name) for alias in node.names]
    return found


def homes(source, name):
    """The modules that a name comes from: what a package gives on is its modules'."""
    if f"{source}.{name}" in FILES:
        yield from {f"{source}.{name}"} - PACKAGES
    elif source in PACKAGES:
        for inner, given in statements(source):
            if given == name and inner.startswith("sentencode"):
                yield from homes(inner, name)
    elif source in FILES:
        yield source


@functools.cache
def imports():
    """Of each module that is no package, which ones it imports."""
    return {
        module: {home for source, name in statements(module) for home in homes(source, name)} - {module}
        for module in FILES
        if module not in PACKAGES
    }


def circles(edges):
    """Groups of modules of which each imports, by way of others, all of its group (Tarjan, 1972)."""
    number, low, stack, found = {}, {}, [], []

    def visit(module):
        number[module] = low[module] = len(number)
        stack.append(module)
        for other in edges[module]:
            if other not in number:
                visit(other)
            if other in stack:
                low[module] = min(low[module], low[other])
        if low[module] == number[module]:
            at = stack.index(module)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for module in edges:
        if module not in number:
            visit(module)
    return found


def test_no_module_imports_itself_by_way_of_others():
    assert circles(imports()) == []


@pytest.mark.parametrize("i", range(len(ROOMS)))
def test_rooms_of_evaluation_look_one_way(i):
    inside, below = f"sentencode.evaluation.{ROOMS[i]}.", ROOMS[: i + 1]
    for module, others in imports().items():
        if module.startswith(inside):
            rooms = {other.split(".")[2] for other in others if other.startswith("sentencode.evaluation.")}
            assert rooms <= set(below), (module, rooms)


def test_circles_are_detected():
    """Else the tests above could not fail."""
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]
    assert ("sentencode.evaluation.evaluate", "sentencode.evaluation.data.task") in {
        (module, other) for module, others in imports().items() for other in others
    }
