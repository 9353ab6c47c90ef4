"""No import cycles; packages of evaluation import only those before them."""

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

PACKAGES_IN_ORDER = ("data", "metrics", "statistics", "report")  # of evaluation


@functools.cache
def statements(module):
    """All imports of a module, also in functions: (source, name), with None for whole modules."""
    path, imports = FILES[module], []
    package = module if module in PACKAGES else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imports += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*parts, *filter(None, [node.module])])
            imports += [(source, alias.name) for alias in node.names]
    return imports


def homes(source, name):
    """The modules that define a name, also if a package re-exports it."""
    if f"{source}.{name}" in FILES:
        yield from {f"{source}.{name}"} - PACKAGES
    elif source in PACKAGES:
        for inner, imported in statements(source):
            if imported == name and inner.startswith("sentencode"):
                yield from homes(inner, name)
    elif source in FILES:
        yield source


@functools.cache
def imports():
    """Module -> modules that it imports, without packages."""
    return {
        module: {home for source, name in statements(module) for home in homes(source, name)} - {module}
        for module in FILES
        if module not in PACKAGES
    }


def circles(edges):
    """Strongly connected components of more than one module (Tarjan, 1972)."""
    number, low, stack, components = {}, {}, [], []

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
                components.append(sorted(stack[at:]))
            del stack[at:]

    for module in edges:
        if module not in number:
            visit(module)
    return components


def test_there_are_no_import_cycles():
    assert circles(imports()) == []


@pytest.mark.parametrize("i", range(len(PACKAGES_IN_ORDER)))
def test_packages_of_evaluation_import_earlier_ones(i):
    inside, below = f"sentencode.evaluation.{PACKAGES_IN_ORDER[i]}.", PACKAGES_IN_ORDER[: i + 1]
    for module, others in imports().items():
        if module.startswith(inside):
            packages = {other.split(".")[2] for other in others if other.startswith("sentencode.evaluation.")}
            assert packages <= set(below), (module, packages)


def test_cycles_are_detected():
    """The tests above can fail."""
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]
    assert ("sentencode.evaluation.evaluate", "sentencode.evaluation.data.task") in {
        (module, other) for module, others in imports().items() for other in others
    }
