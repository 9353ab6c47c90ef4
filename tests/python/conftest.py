from __future__ import annotations

import os
import sys
from pathlib import Path

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
