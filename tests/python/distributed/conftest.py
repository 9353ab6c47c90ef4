from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _needs_torch():
    pytest.importorskip("torch")
    from sentencode import _core

    if not _core.build_info()["torch"]:
        pytest.skip("built without torch")
