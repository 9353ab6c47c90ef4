from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

import sentencode as se
from sentencode import _core

CLASSES = ("DivergedError", "FormatError", "NotFittedError")


@pytest.mark.parametrize("name", CLASSES)
def test_compiled_modules_raise_the_public_classes(name):
    raised = getattr(_core, name)
    assert raised is getattr(se, name)
    assert (raised.__module__, raised.__qualname__) == ("sentencode.errors", name)
    assert raised.__doc__
    again = pickle.loads(pickle.dumps(raised("why", 3)))
    assert isinstance(again, raised)
    assert again.args == ("why", 3)


def test_they_are_there_without_the_compiled_half():
    code = (
        "import sys; sys.modules['sentencode._core'] = None\n"
        "from sentencode import errors; print(errors.FormatError.__mro__[1].__name__)"
    )
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert shown.stdout.strip() == "ValueError"
