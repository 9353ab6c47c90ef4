"""Whether what stands in a file is a report: every name, type and length is looked at."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

__all__ = ["check_report"]

_RESULT = frozenset({"figures", "intervals", "judged", "details", "error"})
_JUDGED = frozenset({"places", "predicted", "gold"})


def check_report(values: Any, known: Collection[str], required: Collection[str]) -> None:
    """Looks at what a report's JSON says, all but what its version means.

    Args:
        values: What was read.
        known: The names that it may have.
        required: Those that it must have.

    Raises:
        ValueError: Something is not what a report has there; says where.
    """
    _check_keys("the report", values, known, required)
    _check(isinstance(values["encoder"], str), "encoder", "a string", values["encoder"])
    _check(isinstance(values["facts"], dict), "facts", "an object", values["facts"])
    for name in ("skipped", "results", "curves"):
        _check(isinstance(values.get(name, {}), dict), name, "an object", values.get(name))
    for name, why in values["skipped"].items():
        _check(isinstance(why, str), f"skipped.{name}", "a string", why)
    for name, result in values["results"].items():
        _check_result(f"results.{name}", result)
    for name, curve in values.get("curves", {}).items():
        _check(isinstance(curve, dict), f"curves.{name}", "an object", curve)


def _check_result(where: str, result: Any) -> None:
    _check_keys(where, result, _RESULT, _RESULT)
    for name in ("figures", "intervals", "judged", "details"):
        _check(isinstance(result[name], dict), f"{where}.{name}", "an object", result[name])
    error = result["error"]
    _check(error is None or isinstance(error, str), f"{where}.error", "a string or null", error)
    _check_figures(f"{where}.figures", result["figures"])
    for key, ends in result["intervals"].items():
        place = f"{where}.intervals.{key}"
        _check(isinstance(ends, list) and len(ends) == 2, place, "two numbers", ends)
        low, high = (_number(place, end) for end in ends)
        _check(not low > high, place, "two numbers that rise", ends)
    for split, judged in result["judged"].items():
        _check_judged(f"{where}.judged.{split}", judged)


def _check_figures(where: str, value: Any) -> None:
    if isinstance(value, dict):
        for key, one in value.items():
            _check_figures(f"{where}.{key}", one)
    elif isinstance(value, list):
        for one in value:
            _check_figures(where, one)
    else:
        _number(where, value)


def _check_judged(where: str, judged: Any) -> None:
    _check_keys(where, judged, _JUDGED | {"by_seed", "keys"}, _JUDGED)
    count = len(judged["gold"]) if isinstance(judged["gold"], list) else 0
    rows = [(name, judged[name]) for name in sorted(_JUDGED)]
    if "keys" in judged:
        rows.append(("keys", judged["keys"]))
    if "by_seed" in judged:
        seeds = judged["by_seed"]
        _check(isinstance(seeds, list) and bool(seeds), f"{where}.by_seed", "a list of lists", seeds)
        rows += [("by_seed", row) for row in seeds]
    for name, row in rows:
        place, whole = f"{where}.{name}", name in ("places", "keys")
        _check(isinstance(row, list) and len(row) == count, place, f"{count} numbers", row)
        for one in row:
            good = type(one) is int or (type(one) is float and not whole and math.isfinite(one))
            _check(good and abs(one) < 1 << 63, place, "numbers", one)
            _check(name != "places" or one >= 0, place, "numbers from 0 on", one)


def _number(where: str, value: Any) -> float:
    """A number, or the word that stands for what JSON has no number for."""
    if type(value) in (int, float) and abs(value) < 1e300:
        return float(value)
    _check(value in ("nan", "inf", "-inf"), where, "a number", value)
    return float(value)


def _check_keys(where: str, value: Any, known: Collection[str], required: Collection[str]) -> None:
    _check(isinstance(value, dict), where, "an object", value)
    for what, names in (("has no", set(required) - set(value)), ("has an unknown", set(value) - set(known))):
        if names:
            raise ValueError(f"{where} {what} {', '.join(map(repr, sorted(names)))}")


def _check(good: bool, where: str, expected: str, value: Any) -> None:
    if not good:
        raise ValueError(f"{where}: expected {expected}, got {value!r:.60}")
