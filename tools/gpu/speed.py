"""Steps and encoding of every family on the GPU, against eager PyTorch with the same weights and batches.

Steps are whole ones: batches from the loader, forward, backward, clipping, Adam. Encoding is from list[str]
to an array. Libraries of CUDA load a kernel when it is first used, and lengths choose kernels: therefore
batches of all lengths go before what is measured. Eager PyTorch does without cuDNN's attention, as ours does:
cuDNN compiles a program for each length, so that eager would be slower still.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any

from cases import Case, Data, Recorder, cases, eager_encoder, twin_of
from common import Facts, gpu, options_of_part, synchronize

PAPER = 1000 * 64 / (3.3 * 60)  # sentences a second of paper 000: 3.3 minutes for 1,000 batches of 64

APART = 1e-2  # relative, of embeddings: cuDNN's layers may use TF32


def main() -> None:
    import numpy as np
    import torch

    from sentencode.training import Callback

    args = options_of_part()
    facts, device = Facts(args), gpu(args)
    small = args.rehearse
    warm, steps = (2, 4) if small else (64, 64)  # an epoch each
    data = Data(args, *((2_000, 500) if small else (30_000, 64 * 64, 64 * 64)))
    torch.backends.cuda.enable_cudnn_sdp(False)
    recorder = Recorder()
    facts.put(paper_sentences_per_second=PAPER, device=device, warm=warm, steps=steps)

    class Clock(Callback):
        """Sentences a second of the steps after the first ones; steps are reported `warm` at a time."""

        begin = end = 0.0
        examples = tokens = 0

        def on_step(self, trainer: Any, step: Any) -> None:
            if step.step == warm:
                self.begin = time.perf_counter()
            elif step.step > warm:
                self.examples += step.examples
                self.tokens += step.tokens
                self.end = time.perf_counter()

    def memory() -> float | None:
        if device != "cuda":
            return None
        peak = torch.cuda.max_memory_allocated() / 2**20
        torch.cuda.reset_peak_memory_stats()
        return round(peak)

    def ours(case: Case, **training: Any) -> tuple[Any, dict[str, Any]]:
        sizes = case.small if small else case.paper
        if case.family == "GeneralizedPooling":  # characters have no eager twin here
            sizes = {**sizes, "characters": False}
        if case.data == "sentences" and not small:
            training["vocabulary"] = data.vocabulary
            # Batches are of similar lengths: of few sentences, large ones would not be full.
            data.trained = data.sentences[: warm * training.get("batch_size", 64)]
        options = {"read_every": warm, "max_steps": warm + steps, "schedule": "constant", **training}
        encoder, clock = data.make(case, sizes, device, **options), Clock()
        memory()
        data.fit(case, encoder, callbacks=[clock])
        rate = clock.examples / (clock.end - clock.begin)
        return encoder, {
            "rate": rate,
            "tokens": clock.tokens / (clock.end - clock.begin),
            "mebibytes": memory(),
        }

    def eager(case: Case, encoder: Any, autocast: bool) -> tuple[Any, dict[str, Any]]:
        twin, loss_of = twin_of(case, encoder, device)
        twin.train()
        trained = [p for p in twin.parameters() if p.requires_grad]
        optimizer = torch.optim.Adam(trained, lr=1e-4)
        memory()
        examples, begin = 0, 0.0
        for number, batch in zip(range(1, warm + steps + 1), recorder.again(), strict=False):
            optimizer.zero_grad()
            with torch.autocast(device, torch.bfloat16) if autocast else contextlib.nullcontext():
                total, count = loss_of(batch)
            (total / count).backward()
            torch.nn.utils.clip_grad_norm_(trained, 5.0)
            optimizer.step()
            if number == warm:
                synchronize(device)
                begin = time.perf_counter()
            elif number > warm:
                examples += len(batch)
        synchronize(device)
        return twin, {"rate": examples / (time.perf_counter() - begin), "mebibytes": memory()}

    def step(case: Case, **training: Any) -> dict[str, Any]:
        encoder, mine = ours(case, **training)
        result: dict[str, Any] = {"ours": mine}
        encoders[case.family] = (case, encoder)
        if case.twin is not None:
            _, result["eager"] = eager(case, encoder, "autocast" in training)
            result["ratio"] = mine["rate"] / result["eager"]["rate"]
        if case.family == "MeanMaxAAE" and not small:
            result["times_the_paper"] = mine["rate"] / PAPER
        return result

    def encode(case: Case, **training: Any) -> dict[str, Any]:
        of, encoder = encoders.get(case.family, (None, None))
        if of is not case:  # an earlier call has timed its steps
            encoder, _ = ours(case, **training)
        lines = data.encoded(case, 300 if small else 20_000)
        encoder.encode(lines[:500])
        rates = []
        for _ in range(3):
            begin = time.perf_counter()
            rows = encoder.encode(lines)
            rates.append(len(lines) / (time.perf_counter() - begin))
        result: dict[str, Any] = {"ours": sorted(rates)[1], "sentences": len(lines)}
        if case.twin is not None:
            twin, _ = twin_of(case, encoder, device)
            twin.eval()
            call, some = eager_encoder(case, encoder, twin, device), lines[: 200 if small else 5_000]
            call(some)
            begin = time.perf_counter()
            expected = call(some)
            result["eager"] = len(some) / (time.perf_counter() - begin)
            result["ratio"] = result["ours"] / result["eager"]
            lengths = np.maximum(np.linalg.norm(expected, axis=1), 1e-6)
            result["apart"] = float((np.linalg.norm(rows[: len(some)] - expected, axis=1) / lengths).max())
            if not result["apart"] < APART:
                result["error"] = f"embeddings differ from eager's by {result['apart']:.1e}"
        return result

    def profile(case: Case, **training: Any) -> dict[str, Any]:
        """Where the time of a step goes: milliseconds on the device by kernel, and launches."""
        from torch.profiler import ProfilerActivity
        from torch.profiler import profile as recorded

        count = 4 if small else 48
        options = {"read_every": count, "max_steps": count, "schedule": "constant", **training}
        if not small:
            options["vocabulary"] = data.vocabulary
        encoder = data.make(case, case.small if small else case.paper, device, **options)
        kinds = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device == "cuda" else [])]
        with recorded(activities=kinds) as recording:
            data.fit(case, encoder)
        kernels: dict[str, list[float]] = {}
        calls: dict[str, list[float]] = {}
        for event in recording.key_averages():
            there = event.device_type != torch.autograd.DeviceType.CPU
            time_of = event.self_device_time_total if there else event.self_cpu_time_total
            (kernels if there else calls)[event.key[:100]] = [
                round(event.count / count, 2),
                round(time_of / count / 1000, 4),
            ]

        def largest(of: dict[str, list[float]], shown: int) -> dict[str, list[float]]:
            return dict(sorted(of.items(), key=lambda item: -item[1][1])[:shown])

        return {
            "milliseconds on the device": round(sum(of[1] for of in kernels.values()), 3),
            "launches": round(sum(of[0] for of in kernels.values()), 1),
            "kernels": largest(kernels, 40),
            "calls": largest(calls, 40),
        }

    encoders: dict[str, tuple[Case, Any]] = {}
    timed = {name: case for name, case in cases().items() if case.timed}
    mean_max = timed["MeanMaxAAE"]
    bfloat16 = {"autocast": "bfloat16"}
    runs: dict[str, Any] = {}
    # What the aims are about comes first; then one case of each family; then variants.
    runs["step: MeanMaxAAE, bfloat16"] = lambda: step(mean_max, **bfloat16)
    runs["encode: MeanMaxAAE"] = lambda: encode(mean_max, **bfloat16)
    runs["profile: MeanMaxAAE, bfloat16"] = lambda: profile(mean_max, **bfloat16)
    runs["step: MeanMaxAAE, float32"] = lambda: step(mean_max)
    for size in (256, 1024):
        runs[f"step: MeanMaxAAE, bfloat16, batches of {size}"] = lambda size=size: step(
            mean_max, batch_size=size, **bfloat16
        )
    for name, case in reversed(timed.items()):
        if name != "MeanMaxAAE":
            runs[f"step: {name}"] = lambda case=case: step(case)
            if name == "CompoundNMT, attn":  # no embedding
                continue
            if name.split(", ")[0] == name or name.endswith((", cnn", ", generalized", ", attn_attn")):
                runs[f"encode: {name}"] = lambda case=case: encode(case)
    runs["step: RAE, bfloat16"] = lambda: step(timed["RAE"], **bfloat16)
    for name, run in runs.items():
        facts.attempt(name, run)
        if device == "cuda":
            torch.cuda.empty_cache()
    facts.finish()


if __name__ == "__main__":
    main()
