"""All benchmarks, one after the other. Options are handed on: see each with --help."""

from __future__ import annotations

import subprocess
import sys

from common import HERE

ORDER = ("import_time", "parse", "encode", "laes")


def main() -> None:
    for name in ORDER:
        print(f"\n== benchmarks/{name}.py\n", flush=True)
        subprocess.run([sys.executable, HERE / f"{name}.py", *sys.argv[1:]], check=True)


if __name__ == "__main__":
    main()
