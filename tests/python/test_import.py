from __future__ import annotations

import subprocess
import sys

import pytest

import sentencode as se

HEAVY = ("torch", "sklearn", "scipy", "matplotlib", "pandas", "tqdm")


def test_import_is_light():
    code = f"import sys, sentencode; print([m for m in {HEAVY!r} if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize("name", se.__all__)
def test_every_public_name_exists(name):
    assert getattr(se, name) is not None
    assert name in dir(se)


def test_unknown_name_is_named():
    with pytest.raises(AttributeError, match="'sentencode' has no attribute 'nothing'"):
        se.nothing  # noqa: B018
