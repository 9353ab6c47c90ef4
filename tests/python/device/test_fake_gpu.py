"""Every family's training, encoding and decoding on a fake GPU (fake_gpu.py).

It detects tensors left on the CPU and synchronisation within a step, without a GPU.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("families_on_fake_gpu.py")


@pytest.fixture(scope="module")
def results():
    pytest.importorskip("torch")
    run = subprocess.run([sys.executable, str(PROGRAM)], capture_output=True, text=True, timeout=900)
    assert run.returncode == 0, run.stderr[-3000:]
    return {case.pop("case"): case for case in map(json.loads, run.stdout.splitlines())}


def each(results, problem):
    """The results of `problem` that are not None, by case."""
    return {name: text for name, case in results.items() if (text := problem(case)) is not None}


def test_no_operator_mixes_devices(results):
    assert each(results, lambda case: case.get("error")) == {}
    assert len(results) > 70


def test_a_step_does_not_synchronise(results):
    # The optimiser sums the gradients of equal rows, and reads how many rows there are.
    waits = each(results, lambda case: list(case["waits"]) or None)
    assert waits == {"MeanMaxAAE, sparse rows": ["_coalesce"]}


def test_a_batch_travels_in_few_copies(results):
    # Ids, lengths and labels together; positions, if words are packed or share rows.
    assert each(results, lambda case: c if (c := case["copies"].get("to device", 0)) > 5 else None) == {}
    assert each(results, lambda case: case["copies"].get("to host")) == {}


def test_losses_equal_the_cpu(results):
    assert each(results, lambda case: a if not (a := case["apart"]) < 1e-4 else None) == {}


def test_embeddings_equal_the_cpu(results):
    assert each(results, lambda case: a if not (a := case.get("rows apart", 0)) < 1e-4 else None) == {}


def test_texts_and_labels_equal_the_cpu(results):
    assert each(results, lambda case: True if case.get("translations") is False else None) == {}


def test_encoding_waits_only_for_its_results(results):
    def problem(case):
        waits = case.get("encoding", {}).get("waits", {})
        return waits if sum(waits.values()) > 6 else None

    assert each(results, problem) == {}
