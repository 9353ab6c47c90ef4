from __future__ import annotations

import os

# The tests with another default dtype of torch's, as some programs set it: networks are float32 all the same.
if dtype := os.environ.get("SENTENCODE_TEST_DTYPE"):
    import torch

    torch.set_default_dtype(getattr(torch, dtype))
