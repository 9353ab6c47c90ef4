"""Every family's training, encoding and decoding on a GPU that is not there (fake_gpu.py).

A tensor left on the CPU, and whatever makes the host wait within a step, is found on machines without a GPU.
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
    return {found.pop("case"): found for found in map(json.loads, run.stdout.splitlines())}


def each(results, wrong):
    """What `wrong` says of the cases that it does not return None for."""
    return {name: said for name, found in results.items() if (said := wrong(found)) is not None}


def test_no_operator_mixes_devices(results):
    assert each(results, lambda found: found.get("error")) == {}
    assert len(results) > 25


def test_a_step_makes_the_host_wait_for_nothing(results):
    assert each(results, lambda found: found["waits"] or None) == {}


def test_a_batch_travels_in_few_copies(results):
    # Ids, lengths and labels together; where words are packed, and where words share rows, their places.
    assert each(results, lambda found: c if (c := found["copies"].get("to device", 0)) > 5 else None) == {}
    assert each(results, lambda found: found["copies"].get("to host")) == {}


def test_losses_are_those_of_the_cpu(results):
    assert each(results, lambda found: a if not (a := found["apart"]) < 1e-4 else None) == {}


def test_embeddings_are_those_of_the_cpu(results):
    assert each(results, lambda found: a if not (a := found.get("rows apart", 0)) < 1e-4 else None) == {}


def test_texts_and_labels_are_those_of_the_cpu(results):
    assert each(results, lambda found: True if found.get("translations") is False else None) == {}


def test_encoding_waits_for_its_results_alone(results):
    def wrong(found):
        waits = found.get("encoding", {}).get("waits", {})
        return waits if sum(waits.values()) > 6 else None

    assert each(results, wrong) == {}
