"""Local processes: errors when one of them fails."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from sentencode.scale.engines import Failure
from sentencode.scale.local import LocalEngine


def test_work_that_workers_do_not_find(monkeypatch):
    """Work defined in a notebook cannot be imported; the error says so."""
    nowhere = ModuleType("nowhere")
    exec("class Work:\n    def __call__(self, task):\n        return task", vars(nowhere))
    monkeypatch.setitem(sys.modules, "nowhere", nowhere)
    for _, result in LocalEngine(2).run(nowhere.Work(), [1, 2, 3]):
        assert isinstance(result, Failure)
        assert isinstance(result.error, ModuleNotFoundError)
        assert "nowhere" in str(result.error)


class Leaving:
    """Work that ends its process."""

    def __call__(self, task):
        sys.exit(3)


def test_a_worker_that_leaves_is_not_called_killed():
    with pytest.raises(RuntimeError, match=r"3 workers were lost on it, the last one with status 3$"):
        list(LocalEngine(2).run(Leaving(), ["one task"]))


@pytest.mark.parametrize("options", [{"workers": -1}, {"workers": 0}, {"workers": 1, "threads": -3}])
def test_invalid_numbers(options):
    with pytest.raises(ValueError, match=r"LocalEngine: \w+ must be"):
        LocalEngine(**options)
