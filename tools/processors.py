"""Runs the tests that use matrix products with the kernels of other processors.

The order of summation in a product depends on the processor, the number of threads, the position in the
matrix (last rows and columns) and, in MKL, the alignment of memory. So the last digits of a row depend on its
position, and tests must tolerate that.

    tools/processors.py [--cheap] [--cpp BUILD] [PROCESSOR ...] [-- arguments of pytest]
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
# The tests that compare rows most: layers, networks, linear encoders, regressions.
CHEAP = ["tests/python/nn", "tests/python/models/test_networks.py", "tests/python/linear/test_invariance.py"]
CHEAP += ["tests/python/linear/test_directions.py", "tests/python/evaluation/metrics/test_solver.py"]


class Processor(NamedTuple):
    """Settings of a processor in OpenBLAS (Sentencode's and NumPy's), torch, MKL and oneDNN."""

    flags: str  # of /proc/cpuinfo that its kernels need
    torch: str
    openblas: str
    mkl: dict[str, str]
    onednn: str
    shaken: bool = False


AVX512 = "avx512f avx512bw avx512dq avx512vl"
PROCESSORS = {
    # No FMA and 4-lane registers: the most different from current processors.
    "old": Processor("sse4_2", "default", "Nehalem", {"MKL_CBWR": "COMPATIBLE"}, "SSE41"),
    "haswell": Processor("avx2 fma", "avx2", "Haswell", {"MKL_ENABLE_INSTRUCTIONS": "AVX2"}, "AVX2"),
    "zen": Processor("avx2 fma", "avx2", "Zen", {"MKL_CBWR": "AVX2"}, "AVX2"),
    "skylake": Processor(AVX512, "avx512", "SkylakeX", {"MKL_ENABLE_INSTRUCTIONS": "AVX512"}, "AVX512_CORE"),
    # No real processor: torch's products sum the ends of their blocks in another order, as a kernel may.
    "shaken": Processor("sse4_2", "default", "Nehalem", {}, "SSE41", shaken=True),
}


def shake() -> None:
    """Makes torch's products sum halves in the last rows and columns of each thread's part, and for unaligned
    memory: a correct kernel with the weakest guarantees."""
    import math
    import warnings

    import torch

    shake.library = torch.library.Library("aten", "IMPL")  # type: ignore[attr-defined]  # kept alive

    def at_the_end(length: int, device: torch.device) -> torch.Tensor:
        piece = max(1, math.ceil(length / torch.get_num_threads()))
        i = torch.arange(length, device=device)
        size = torch.minimum(torch.tensor(piece), length - i // piece * piece)  # of the piece of row i
        return i % piece >= size - size % 4

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
            product = kernel.call_boxed(keys, *args, **options)
            half = k // 2
            alpha, beta = options.get("alpha", 1), options.get("beta", 1)
            parts = [plain(a[..., half:], b[..., half:, :]), plain(a[..., :half], b[..., :half, :])]
            other = parts[0] + parts[1]
            if added:
                other = alpha * other + (beta * before if beta != 0 else 0)
            unaligned = any(one.data_ptr() % 64 for one in (a, b))
            rows = at_the_end(product.size(-2), product.device)[:, None]
            columns = at_the_end(product.size(-1), product.device)
            mask = torch.ones_like(rows) if unaligned else rows | columns
            product.copy_(torch.where(mask, other.to(product.dtype), product))
            return product

        shake.library.impl(name, shaken, "CPU", with_keyset=True, allow_override=True)  # type: ignore[attr-defined]

    bmm = torch.library.get_kernel("aten::bmm", "CPU")
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)

    def plain(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        if a.dim() == 3:
            return bmm.call_boxed(keys, a, b)
        return bmm.call_boxed(keys, a[None], b[None])[0]

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
    flags = Path("/proc/cpuinfo").read_text().split()
    missing = sorted(set(processor.flags.split()) - set(flags))
    if missing:
        print(f"{name}, {threads} threads: skipped, this processor has no {' '.join(missing)}", flush=True)
        return True
    environment = os.environ | processor.mkl
    environment |= {"ATEN_CPU_CAPABILITY": processor.torch, "OPENBLAS_CORETYPE": processor.openblas}
    environment |= {"ONEDNN_MAX_CPU_ISA": processor.onednn}
    environment |= {f"{library}_NUM_THREADS": str(threads) for library in ("OMP", "OPENBLAS")}
    python = [
        sys.executable,
        __file__,
        "--here",
        str(threads),
        *(["--shaken"] if processor.shaken else []),
        "--",
    ]
    commands = [[*python, "-q", *tests]]
    if cpp and not processor.shaken:
        commands += [[f"{cpp}/tests/cpp/{half}_tests", "--gtest_brief"] for half in ("core", "nn")]
    begin = time.monotonic()
    codes = [subprocess.run(command, cwd=ROOT, env=environment).returncode for command in commands]
    passed = not any(codes)
    minutes = (time.monotonic() - begin) / 60
    text = "passed" if passed else "FAILED"
    print(f"{name}, {threads} threads: {text} ({minutes:.1f} minutes)", flush=True)
    return passed


def main() -> int:
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    pytest_arguments = sys.argv[at + 1 :]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("processors", nargs="*", choices=[*PROCESSORS, []], metavar="PROCESSOR")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 3])
    parser.add_argument("--cheap", action="store_true", help="only the tests that compare rows most")
    parser.add_argument("--cpp", metavar="BUILD", help="the C++ tests of this build folder, too")
    parser.add_argument("--here", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--shaken", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(sys.argv[1:at])
    if options.here:
        return run_here(options.here, options.shaken, pytest_arguments)
    tests = pytest_arguments or (CHEAP if options.cheap else TESTS)
    names = options.processors or list(PROCESSORS)
    runs = [(name, threads) for name in names for threads in options.threads]
    results = [run(name, PROCESSORS[name], threads, tests, options.cpp) for name, threads in runs]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
