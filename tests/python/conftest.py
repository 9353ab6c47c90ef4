from __future__ import annotations

import os
import sys
from pathlib import Path

# The tests with another default dtype of torch's, as some programs set it: networks are float32 all the same.
# What the tests themselves make has torch's usual default, because it stands for what a user passes.
if dtype := os.environ.get("SENTENCODE_TEST_DTYPE"):
    import torch
    from torch.overrides import TorchFunctionMode

    class UsualDefaultInTests(TorchFunctionMode):
        """Runs what a test calls in torch, by itself or by torch's modules, with float32 as the default."""

        library, tests = str(Path(torch.__file__).parent), str(Path(__file__).parent)

        def __torch_function__(self, function, types, args=(), kwargs=None):
            frame = sys._getframe(1)
            while frame is not None and frame.f_code.co_filename.startswith(self.library):
                frame = frame.f_back
            if frame is None or not frame.f_code.co_filename.startswith(self.tests):
                return function(*args, **(kwargs or {}))
            torch.set_default_dtype(torch.float32)
            try:
                return function(*args, **(kwargs or {}))
            finally:
                torch.set_default_dtype(getattr(torch, dtype))

    torch.set_default_dtype(getattr(torch, dtype))
    UsualDefaultInTests().__enter__()
