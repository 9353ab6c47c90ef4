"""Runs the tests whose numbers pass through a dense product, as other processors would compute them.

A product adds up its terms in an order that is its kernel's own: another on another processor, with other
numbers of threads, in the last rows and columns of a matrix, and (MKL) where memory begins elsewhere.
So a row's last digits depend on the place where it stands, and tests must not ask for more.

    tools/processors.py [--cheap] [--cpp BUILD] [PROCESSOR ...] [-- what pytest gets instead]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
TESTS = [
    *(f"tests/python/{room}" for room in ["distributed", "docs", "evaluation", "linear", "models", "nn"]),
    *(f"tests/python/{room}" for room in ["reproduce", "senteval", "training", "vectors"]),
    *(f"tests/python/{name}" for name in ["test_encoder.py", "test_mteb.py"]),
    *(f"tests/python/{name}" for name in ["test_search.py", "test_threads.py"]),
    *("tests/python/cli/test_encode.py", "tests/python/cli/test_train.py", "tests/notebooks"),
]
# Where rows are compared with each other most: layers, networks, linear encoders, regressions.
CHEAP = ["tests/python/nn", "tests/python/models/test_networks.py", "tests/python/linear/test_invariance.py"]
CHEAP += ["tests/python/linear/test_directions.py", "tests/python/evaluation/metrics/test_solver.py"]


class Processor(NamedTuple):
    """What each library is told: ours and NumPy's (OpenBLAS), and torch's own kernels, MKL and oneDNN."""

    flags: str  # of /proc/cpuinfo: without them a kernel is an illegal instruction
    torch: str
    openblas: str
    mkl: dict[str, str]
    onednn: str
    shaken: bool = False


AVX512 = "avx512f avx512bw avx512dq avx512vl"
PROCESSORS = {
    # No fused multiplication and addition, registers of 4 numbers: the farthest from what tests run on else.
    "old": Processor("sse4_2", "default", "Nehalem", {"MKL_CBWR": "COMPATIBLE"}, "SSE41"),
    "haswell": Processor("avx2 fma", "avx2", "Haswell", {"MKL_ENABLE_INSTRUCTIONS": "AVX2"}, "AVX2"),
    "zen": Processor("avx2 fma", "avx2", "Zen", {"MKL_CBWR": "AVX2"}, "AVX2"),
    "skylake": Processor(AVX512, "avx512", "SkylakeX", {"MKL_ENABLE_INSTRUCTIONS": "AVX512"}, "AVX512_CORE"),
    # None that there is: torch's products end their blocks in another order, as some kernel somewhere may.
    "shaken": Processor("sse4_2", "default", "Nehalem", {}, "SSE41", shaken=True),
}


def shake() -> None:
    """Lets torch's products add up halves in the last rows and columns of each thread's part, and
    where memory is not as torch allocates it: a kernel that is right, and keeps nothing which it need not."""
    import math
    import warnings

    import torch

    shake.library = torch.library.Library("aten", "IMPL")  # type: ignore[attr-defined]  # kept alive

    def at_the_end(length: int, device: torch.device) -> torch.Tensor:
        piece = max(1, math.ceil(length / torch.get_num_threads()))
        place = torch.arange(length, device=device)
        whole = torch.minimum(torch.tensor(piece), length - place // piece * piece)  # of the piece it is in
        return place % piece >= whole - whole % 4

    def override(name: str, operands: int) -> None:
        """A product of a [.., m, k] and b [.., k, n], arguments `operands` and the next."""
        kernel = torch.library.get_kernel(f"aten::{name}", "CPU")

        def shaken(keys, *args, **options):  # type: ignore[no-untyped-def]
            a, b = args[operands], args[operands + 1]
            k = a.size(-1)
            added = operands == 1  # beta * args[0]
            if k < 2 or a.numel() == 0 or b.numel() == 0:
                return kernel.call_boxed(keys, *args, **options)
            before = args[0].clone() if added else None
            found = kernel.call_boxed(keys, *args, **options)
            half = k // 2
            alpha, beta = options.get("alpha", 1), options.get("beta", 1)
            parts = [plain(a[..., half:], b[..., half:, :]), plain(a[..., :half], b[..., :half, :])]
            other = parts[0] + parts[1]
            if added:
                other = alpha * other + (beta * before if beta != 0 else 0)
            elsewhere = any(one.data_ptr() % 64 for one in (a, b))
            rows = at_the_end(found.size(-2), found.device)[:, None]
            columns = at_the_end(found.size(-1), found.device)
            mask = torch.ones_like(rows) if elsewhere else rows | columns
            found.copy_(torch.where(mask, other.to(found.dtype), found))
            return found

        shake.library.impl(name, shaken, "CPU", with_keyset=True, allow_override=True)  # type: ignore[attr-defined]

    product = torch.library.get_kernel("aten::bmm", "CPU")
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)

    def plain(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        if a.dim() == 3:
            return product.call_boxed(keys, a, b)
        return product.call_boxed(keys, a[None], b[None])[0]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a kernel is overridden
        for name, operands in [("mm", 0), ("bmm", 0), ("addmm", 1), ("baddbmm", 1)]:
            override(name, operands)
        for name, operands in [("mm.out", 0), ("bmm.out", 0), ("addmm_", 1), ("baddbmm_", 1)]:
            override(name, operands)


def run_here(threads: int, shaken: bool, arguments: list[str]) -> int:
    import pytest
    import torch

    import sentencode

    sentencode.set_num_threads(threads)
    torch.set_num_threads(threads)
    if shaken:
        shake()
    return pytest.main(arguments)


def run(name: str, processor: Processor, threads: int, tests: list[str], cpp: str | None) -> bool:
    known = Path("/proc/cpuinfo").read_text().split()
    missing = sorted(set(processor.flags.split()) - set(known))
    if missing:
        print(f"{name}, {threads} threads: skipped, this processor has no {' '.join(missing)}", flush=True)
        return True
    environment = os.environ | processor.mkl
    environment |= {"ATEN_CPU_CAPABILITY": processor.torch, "OPENBLAS_CORETYPE": processor.openblas}
    environment |= {"ONEDNN_MAX_CPU_ISA": processor.onednn}
    environment |= {f"{library}_NUM_THREADS": str(threads) for library in ("OMP", "OPENBLAS")}
    mine = [
        sys.executable,
        __file__,
        "--here",
        str(threads),
        *(["--shaken"] if processor.shaken else []),
        "--",
    ]
    commands = [[*mine, "-q", *tests]]
    if cpp and not processor.shaken:
        commands += [[f"{cpp}/tests/cpp/{half}_tests", "--gtest_brief"] for half in ("core", "nn")]
    begin = time.monotonic()
    # Each of them, whatever another says.
    codes = [subprocess.run(command, cwd=ROOT, env=environment).returncode for command in commands]
    good = not any(codes)
    minutes = (time.monotonic() - begin) / 60
    told = "passed" if good else "FAILED"
    print(f"{name}, {threads} threads: {told} ({minutes:.1f} minutes)", flush=True)
    return good


def main() -> int:
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given = sys.argv[at + 1 :]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("processors", nargs="*", choices=[*PROCESSORS, []], metavar="PROCESSOR")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 3])
    parser.add_argument("--cheap", action="store_true", help="only the tests that compare rows most")
    parser.add_argument("--cpp", metavar="BUILD", help="the C++ tests of this build folder, too")
    parser.add_argument("--here", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--shaken", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(sys.argv[1:at])
    if asked.here:
        return run_here(asked.here, asked.shaken, given)
    tests = given or (CHEAP if asked.cheap else TESTS)
    names = asked.processors or list(PROCESSORS)
    runs = [(name, threads) for name in names for threads in asked.threads]
    told = [run(name, PROCESSORS[name], threads, tests, asked.cpp) for name, threads in runs]
    return 0 if all(told) else 1


if __name__ == "__main__":
    sys.exit(main())
