"""The driver of tools/gpu_check: a part that ran out of time continues in the next call."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[3] / "tools" / "gpu"
PART = """
import sys, time
sys.path.insert(0, {tools!r})
from common import Facts, options_of_part

args = options_of_part()
facts = Facts(args)
for name in ("first", "second", "third"):
    facts.attempt(name, lambda: {{"begun": time.monotonic()}})
    facts.end = time.monotonic() + {left}
facts.finish()
"""


@pytest.fixture
def check(monkeypatch, tmp_path):
    """Calls the driver; its part has `left` seconds after the first case. Returns the results of the part."""
    monkeypatch.syspath_prepend(TOOLS)
    import check as driver

    monkeypatch.setattr(driver, "TOOLS", tmp_path)
    monkeypatch.setattr(driver, "LIMITS", {"speed": 60.0})

    def call(left, work="work"):
        (tmp_path / "speed.py").write_text(PART.format(tools=str(TOOLS), left=left))
        args = {"only": None, "skip": [], "minutes": 1.0, "rehearse": False, "kit": tmp_path, "out": None}
        args |= {"resume": tmp_path / "work" / "results.json", "work": tmp_path / work}
        monkeypatch.setenv("OUT", str(tmp_path / "out"))
        one = driver.Check(argparse.Namespace(**args))
        one.run()
        return one.results["parts"]["speed"]

    yield call
    for name in ("check", "common", "page"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("work", ["work", "another"])
def test_a_part_continues_after_the_cases_of_the_last_call(check, work):
    stopped = check(left=-1)
    assert (stopped["status"], list(stopped["cases"])) == ("out of time", ["first"])
    finished = check(left=60, work=work)
    assert (finished["status"], list(finished["cases"])) == ("ok", ["first", "second", "third"])
    assert finished["cases"]["first"] == stopped["cases"]["first"]
