from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _needs_torch():
    pytest.importorskip("torch")
    from sentencode._extras import nn_folders

    if not nn_folders():
        pytest.skip("without the neural half")
