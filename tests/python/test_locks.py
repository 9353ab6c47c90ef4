"""ARCHITECTURE.md lists every lock of the C++ sources, with its file."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCK = re.compile(r"^\s*(?:static |inline |mutable )*std::(?:\w*mutex|once_flag) \w+;", re.MULTILINE)
ROW = re.compile(r"^\| [^|]+ \| `([\w/]+\.\w+)` \|", re.MULTILINE)


def test_every_lock_is_listed():
    page = ROOT / "ARCHITECTURE.md"
    if not page.exists():
        pytest.skip("there are no sources")
    folders = (ROOT / "cpp/include/sentencode", ROOT / "cpp/src", ROOT / "bindings")
    locks = Counter(
        {
            file.relative_to(folder).as_posix(): count
            for folder in folders
            for file in sorted(folder.rglob("*"))
            if file.suffix in (".h", ".cpp")
            and (count := len(LOCK.findall(file.read_text(encoding="utf-8"))))
        }
    )
    listed = Counter(ROW.findall(page.read_text(encoding="utf-8")))
    listed["io/file_lock.cpp"] -= 1  # the system's
    assert locks.total() >= 12
    assert locks == listed
