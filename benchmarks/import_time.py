"""How long `import sentencode` takes, beside NumPy alone: medians over fresh processes, in turn.

usage: python benchmarks/import_time.py [--runs 15]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

STATEMENTS = {
    "nothing": "pass",
    "import numpy": "import numpy",
    "import sentencode": "import sentencode",
    "... and its compiled core": "import sentencode._core",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    seconds: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for run in range(runs + 1):
        for name, statement in STATEMENTS.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True)
            if run:  # the first one warms the file cache
                seconds[name].append(time.perf_counter() - start)
    nothing = statistics.median(seconds["nothing"])
    print("milliseconds, and without the interpreter's own start")
    for name, times in seconds.items():
        total = statistics.median(times)
        print(f"{name:26} {1000 * total:6.0f} {1000 * (total - nothing):6.0f}")


if __name__ == "__main__":
    main()
