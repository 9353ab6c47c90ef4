from __future__ import annotations

import sys
from pathlib import Path

import pytest

# The eager networks are the benchmarks' peers, and these tests' references.
sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))


@pytest.fixture(autouse=True)
def _needs_torch():
    pytest.importorskip("torch")
    from sentencode._extras import nn_folders

    if not nn_folders():
        pytest.skip("without the neural half")
