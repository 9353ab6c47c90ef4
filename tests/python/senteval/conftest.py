from __future__ import annotations

collect_ignore = ["stub_senteval"]  # no tests, and it needs torch
