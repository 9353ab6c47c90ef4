"""Runs clang-tidy over the sources of a build that need no torch.

usage: python tools/tidy.py [--jobs N] BUILD [PATTERN...]

BUILD holds compile_commands.json; a PATTERN is part of a path: by default all of cpp and bindings.
clang-tidy is the system's (Debian: apt install clang-tidy-19): the one on the package index lacks the
compiler's own headers.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def sources(build: Path, patterns: list[str]) -> list[str]:
    """Those of ours that do not see torch: against it, one file takes minutes, and most findings are its."""
    files = []
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        file = str(Path(entry["directory"], entry["file"]).resolve())
        ours = file.startswith((f"{ROOT}/cpp/", f"{ROOT}/bindings/"))
        if ours and "torch/include" not in entry["command"] and any(p in file for p in patterns or [""]):
            files.append(file)
    return sorted(set(files))


def clang_tidy() -> str:
    for version in range(25, 15, -1):
        if program := shutil.which(f"clang-tidy-{version}"):
            return program
    sys.exit("tidy: there is no clang-tidy-16 or newer; on Debian: apt install clang-tidy-19")


def check(program: str, build: Path, source: str) -> str:
    command = [program, "--quiet", "-p", str(build), source]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("build", type=Path)
    parser.add_argument("patterns", nargs="*")
    arguments = parser.parse_args()
    program = clang_tidy()
    files = sources(arguments.build, arguments.patterns)
    findings: set[str] = set()
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for text in pool.map(lambda f: check(program, arguments.build, f), files):
            # A header's finding comes once for each file that includes it.
            new = {finding.strip() for finding in re.split(r"\n(?=/)", text)} - findings - {""}
            findings |= new
            for finding in new:
                print(finding, flush=True)
    print(f"{len(files)} files, {len(findings)} findings", file=sys.stderr)
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
