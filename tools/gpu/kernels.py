"""Attention pooling on the GPU, at the borders of its kernel: compared with the processor, and timed."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from typing import Any

from common import ROOT, Facts, gpu, options_of_part, synchronize

LENGTHS = {
    "no words": (0, 0, 0),
    "one word": (1,),
    "some": (3, 0, 1, 40, 7),
    "around a block": (127, 128, 129, 31, 32, 33),
    "5,000 words": (5000, 1),
    "many": tuple(1 + i * 7 % 60 for i in range(300)),
}
SIZES = ((1, 1, 1), (37, 35, 3), (128, 64, 5), (600, 300, 5))  # features, hidden, heads


def main() -> None:
    import torch

    args = options_of_part()
    facts, device = Facts(args), gpu(args)
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False

    if not args.rehearse:
        facts.attempt("the kernel's own check", lambda: own_check(args))

    def compare(
        lengths: tuple[int, ...], sizes: tuple[int, int, int], scores: str, dtype: Any
    ) -> dict[str, Any]:
        from sentencode.nn import AttentionPooling

        torch.manual_seed(1)
        features, hidden, heads = sizes
        pooling = AttentionPooling(features, hidden, heads, scores=scores).to(dtype)
        h = torch.randn(len(lengths), max(*lengths, 1), features, dtype=dtype)
        counts = torch.tensor(lengths)
        weights = torch.randn(len(lengths), heads * features, dtype=dtype)
        results = []
        for where in ("cpu", device):
            layer, inputs = pooling.to(where), h.to(where, copy=True).requires_grad_()
            layer.zero_grad()
            z = layer(inputs, counts.to(where))
            (z * weights.to(where)).sum().backward()
            outputs = [z, inputs.grad, *(p.grad for p in layer.parameters())]
            results.append([None if t is None else t.detach().double().cpu().clone() for t in outputs])
        bound = 1e-4 if dtype == torch.float32 else 1e-10
        worst = 0.0
        for expected, measured in zip(*results, strict=True):
            if expected is None or measured is None:
                if any(t is not None and t.any() for t in (expected, measured)):
                    raise AssertionError("one device has no gradient")
                continue
            scale = max(1.0, float(expected.abs().max()))
            worst = max(worst, float((measured - expected).abs().max()) / scale)
        result: dict[str, Any] = {"apart": worst}
        if not worst <= bound:
            raise AssertionError(f"differs from the processor by {worst:.2e}, more than {bound:.0e}")
        return result

    for (name, lengths), sizes, scores in itertools.product(LENGTHS.items(), SIZES, ("vector", "scalar")):
        if name == "5,000 words" and sizes[0] == 600:
            continue
        for dtype in (torch.float32, torch.float64):
            label = f"{name}, {sizes}, {scores}, {str(dtype)[6:]}"
            facts.attempt(label, lambda a=lengths, b=sizes, c=scores, d=dtype: compare(a, b, c, d))

    def speed() -> dict[str, Any]:
        """Milliseconds forward and backward of 64 sentences: as built, and by torch's operators.

        Scalar scores have no kernel.
        """
        import time

        from sentencode.nn import AttentionPooling

        torch.manual_seed(1)
        pooling = AttentionPooling(600, 300, 5, scores="vector").to(device)
        lengths = torch.randint(5, 40, (64,))
        h = torch.randn(64, int(lengths.max()), 600, device=device, requires_grad=True)
        lengths = lengths.to(device)
        ways = {"built": lambda: pooling(h, lengths)}
        if hasattr(pooling._cpp, "composed"):
            ways["operators"] = lambda: pooling._cpp.composed(h, lengths, kernel=False)
        times: dict[str, Any] = {}
        for way, call in ways.items():
            for repeat in range(3):
                synchronize(device)
                begin = time.perf_counter()
                for _ in range(2 if args.rehearse else 50):
                    call().sum().backward()
                synchronize(device)
                if repeat == 2:
                    times[way] = 1e3 * (time.perf_counter() - begin) / (2 if args.rehearse else 50)
        return {"milliseconds": times}

    facts.attempt("speed, vector", speed)
    facts.finish()


def own_check(args: Any) -> dict[str, Any]:
    """The kernel's file alone, compiled by one line."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    program = args.work / "pooling"
    source = ROOT / "cpp" / "src" / "cuda" / "generalized_pooling.cu"
    command = [
        nvcc,
        "-O3",
        "-std=c++17",
        "-arch=native",
        "-DSELF_TEST",
        f"-I{ROOT / 'cpp' / 'src'}",
        "-o",
        program,
        source,
    ]
    subprocess.run([str(part) for part in command], check=True, timeout=60)
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60)
    lines = (done.stdout + done.stderr).splitlines()
    if done.returncode != 0:
        raise AssertionError("\n".join(lines[-30:]))
    return {"lines": lines[-40:]}


if __name__ == "__main__":
    main()
