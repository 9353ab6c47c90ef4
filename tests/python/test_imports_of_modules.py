"""No module is imported, at once or later, by what it imports itself."""

from __future__ import annotations

import ast
from pathlib import Path

import sentencode

ROOT = Path(sentencode.__file__).parent
# The rooms that have no circle. A lazy import counts: it would only hide one.
ROOMS = ("text", "vectors", "linear", "reproduce", "saved", "core_encoder", "encoder", "distill")
# `WordVectors.distill`: a method of the lowest layer that asks teachers as evaluation does.
UPWARD = {("vectors.word_vectors", "distillation")}


def modules():
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports(name, path, known):
    """The modules of ours that a module imports anywhere, and the packages that come with them."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1] + (node.module or "").split(".")
            base = ".".join(filter(None, base))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "sentencode":
            base = node.module.partition(".")[2]
        else:
            continue
        for alias in node.names:
            full = f"{base}.{alias.name}".lstrip(".")
            target = full if full in known else base
            while target:
                # A package is there before its modules: that these import it first is no circle.
                if target in known and not f"{name}.".startswith(f"{target}."):
                    found.add(target)
                target = target.rpartition(".")[0]
    return found


def test_there_are_no_circles():
    known = dict(modules())
    graph = {name: imports(name, path, known) for name, path in known.items()}
    for one, other in UPWARD:
        graph[one].remove(other)

    def reached(start):
        seen, todo = set(), [start]
        while todo:
            for name in graph[todo.pop()] - seen:
                seen.add(name)
                todo.append(name)
        return seen

    ours = [name for name in known if name.partition(".")[0] in ROOMS]
    assert len(ours) > 30
    assert [name for name in ours if name in reached(name)] == []
