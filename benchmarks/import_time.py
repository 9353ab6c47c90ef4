"""Time of `import sentencode`, compared with NumPy alone: medians over new processes, in turns.

Public names are imported when they are used; the last two lines say what that costs then.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

from common import arguments_of, machine, verdict, write_json

TARGET = 150  # milliseconds, the interpreter's own start included
STATEMENTS = {
    "nothing": "pass",
    "import numpy": "import numpy",
    "import sentencode": "import sentencode",
    "... and its compiled core": "import sentencode._core",
    "... and the linear encoders": "import sentencode as se; se.WordVectors, se.SIF, se.LAES",
}
HEAVY = ("torch", "sklearn", "matplotlib", "scipy", "gensim")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments_of(parser, rounds=15)
    args = parser.parse_args()
    seconds: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for i in range(args.rounds + 1):
        for name, statement in STATEMENTS.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True)
            if i:  # the first one warms the file cache
                seconds[name].append(time.perf_counter() - start)
    statement = STATEMENTS["... and the linear encoders"]
    check = f"{statement}; import sys; assert not {{*{HEAVY}}} & {{*sys.modules}}, 'a heavy import'"
    subprocess.run([sys.executable, "-c", check], check=True)

    print(machine())
    print(f"median of {args.rounds} rounds in milliseconds, and without the interpreter's own start\n")
    milliseconds = {name: 1000 * statistics.median(times) for name, times in seconds.items()}
    for name, total in milliseconds.items():
        aim = verdict(total, TARGET, at_least=False) if name == "import sentencode" else ""
        print(f"{name:28} {total:6.0f} {total - milliseconds['nothing']:6.0f} {aim}".rstrip())
    write_json(args.json, seconds=seconds)


if __name__ == "__main__":
    main()
