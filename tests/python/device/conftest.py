from __future__ import annotations

collect_ignore = ["fake_gpu.py", "families_on_fake_gpu.py"]  # for a process of its own: they register a device
