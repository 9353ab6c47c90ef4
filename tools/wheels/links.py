"""Adds the repository's address to what a package index shows: the projects' URLs, and the links of README.

usage: python tools/wheels/links.py https://github.com/OWNER/sentencode [REVISION]

It changes README.md and both pyproject.toml in place: for a checkout whose wheels are uploaded.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main(url: str, revision: str = "main") -> None:
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    for begin, form in (("!", "raw"), ("", "blob")):
        text = re.sub(
            rf"(?<!!)({begin}\[[^\]]*\]\()(?!\w+:|#)([^)]+)", rf"\1{url}/{form}/{revision}/\2", text
        )
    readme.write_text(text, encoding="utf-8")

    pages = {
        "Documentation": f"{url}/blob/{revision}/docs/index.md",
        "Changelog": f"{url}/blob/{revision}/CHANGELOG.md",
        "Source": url,
        "Issues": f"{url}/issues",
    }
    table = "[project.urls]\n" + "".join(f'{name} = "{page}"\n' for name, page in pages.items())
    for path in (ROOT / "pyproject.toml", ROOT / "tools/wheels/nn/pyproject.toml"):
        project = path.read_text(encoding="utf-8")
        if "[project.urls]" in project:
            raise SystemExit(f"{path}: has [project.urls] already")
        path.write_text(project.replace("\n[tool.", f"\n{table}\n[tool.", 1), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or not sys.argv[1].startswith("https://"):
        raise SystemExit(__doc__)
    main(sys.argv[1].rstrip("/"), *sys.argv[2:])
