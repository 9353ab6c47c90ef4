from __future__ import annotations

# These modules register a device, so they run in another process.
collect_ignore = ["fake_gpu.py", "families_on_fake_gpu.py"]
