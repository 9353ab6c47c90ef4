"""Validates the JSON of a report: names, types and lengths."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

__all__ = ["check_report"]

_RESULT = frozenset({"figures", "intervals", "judged", "details", "error"})
_JUDGED = frozenset({"places", "predicted", "gold"})


def check_report(values: Any, allowed: Collection[str], required: Collection[str]) -> None:
    """Check the JSON values of a report.

    Args:
        values: The values.
        allowed: Allowed keys.
        required: Required keys.
    """
    _check_keys("the report", values, allowed, required)
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
        position = f"{where}.intervals.{key}"
        _check(isinstance(ends, list) and len(ends) == 2, position, "two numbers", ends)
        low, high = (_number(position, end) for end in ends)
        _check(not low > high, position, "two rising numbers", ends)
    for split, judged in result["judged"].items():
        _check_judged(f"{where}.judged.{split}", judged)


def _check_figures(where: str, value: Any) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            _check_figures(f"{where}.{key}", item)
    elif isinstance(value, list):
        for item in value:
            _check_figures(where, item)
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
        position, integers = f"{where}.{name}", name in ("places", "keys")
        _check(isinstance(row, list) and len(row) == count, position, f"{count} numbers", row)
        for value in row:
            valid = type(value) is int or (type(value) is float and not integers and math.isfinite(value))
            _check(valid and abs(value) < 1 << 63, position, "numbers", value)
            _check(name != "places" or value >= 0, position, "numbers from 0 on", value)


def _number(where: str, value: Any) -> float:
    """A number, or the string for NaN or infinity."""
    if type(value) in (int, float) and abs(value) < 1e300:
        return float(value)
    _check(value in ("nan", "inf", "-inf"), where, "a number", value)
    return float(value)


def _check_keys(where: str, value: Any, allowed: Collection[str], required: Collection[str]) -> None:
    _check(isinstance(value, dict), where, "an object", value)
    for what, names in (
        ("has no", set(required) - set(value)),
        ("has an unknown", set(value) - set(allowed)),
    ):
        if names:
            raise ValueError(f"{where} {what} {', '.join(map(repr, sorted(names)))}")


def _check(valid: bool, where: str, expected: str, value: Any) -> None:
    if not valid:
        raise ValueError(f"{where}: expected {expected}, got {value!r:.60}")
