from __future__ import annotations

# For a process of its own: they register a device.
collect_ignore = ["fake_gpu.py", "families_on_fake_gpu.py"]
