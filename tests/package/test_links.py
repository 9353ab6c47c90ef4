"""What a package index shows has no relative links."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

tomllib = pytest.importorskip("tomllib")
ROOT = Path(__file__).parents[2]
PROJECTS = ("pyproject.toml", "tools/wheels/nn/pyproject.toml")
LINK = re.compile(r"(!?)\[[^\]]*\]\(([^)#]+)")


def test_links(tmp_path):
    (tmp_path / "tools/wheels/nn").mkdir(parents=True)
    for name in ("README.md", "tools/wheels/links.py", *PROJECTS):
        shutil.copy(ROOT / name, tmp_path / name)
    command = [sys.executable, str(tmp_path / "tools/wheels/links.py"), "https://example.org/x/", "v1"]
    subprocess.run(command, check=True)

    before = LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    after = LINK.findall((tmp_path / "README.md").read_text(encoding="utf-8"))
    assert len(before) == len(after)
    for (kind, old), (_, new) in zip(before, after, strict=True):
        if re.match(r"\w+:", old):
            assert new == old
        else:
            assert (ROOT / old).exists()
            assert new == f"https://example.org/x/{'raw' if kind else 'blob'}/v1/{old}"
    for name in PROJECTS:
        old, new = (tomllib.loads((base / name).read_text(encoding="utf-8")) for base in (ROOT, tmp_path))
        assert new["project"].pop("urls")["Source"] == "https://example.org/x"
        assert new == old
    assert subprocess.run(command, check=False, capture_output=True).returncode  # not twice
