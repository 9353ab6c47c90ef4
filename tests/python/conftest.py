from __future__ import annotations

import lzma
import os
import sys
from itertools import islice
from pathlib import Path

import pytest


@pytest.fixture
def local_text():
    """The lines of each local corpus: every tenth, with SENTENCODE_ALL_TEXT all (2.8 million)."""
    files = sorted(Path(os.environ.get("SENTENCODE_DATA", ""), "text").glob("*.txt.xz"))
    if not files:
        pytest.skip("needs SENTENCODE_DATA")
    step = 1 if os.environ.get("SENTENCODE_ALL_TEXT") else 10

    def of(path):
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            return [line.rstrip("\n") for line in islice(lines, 0, None, step)]

    return map(of, files)


# Runs the tests with another default dtype of torch, as some programs set it; networks are float32 anyway.
# Tensors that tests create have torch's usual default, because they stand for a user's tensors.
if dtype := os.environ.get("SENTENCODE_TEST_DTYPE"):
    import torch
    from torch.overrides import TorchFunctionMode

    import sentencode

    class UsualDefaultOutside(TorchFunctionMode):
        """Runs torch functions that code outside of the package calls with float32 as the default."""

        library, package = (str(Path(module.__file__).parent) for module in (torch, sentencode))

        def __torch_function__(self, function, types, args=(), kwargs=None):
            frame = sys._getframe(1)
            while frame is not None and frame.f_code.co_filename.startswith(self.library):
                frame = frame.f_back
            if frame is not None and frame.f_code.co_filename.startswith(self.package):
                return function(*args, **(kwargs or {}))
            torch.set_default_dtype(torch.float32)
            try:
                return function(*args, **(kwargs or {}))
            finally:
                torch.set_default_dtype(getattr(torch, dtype))

    torch.set_default_dtype(getattr(torch, dtype))
    UsualDefaultOutside().__enter__()
