"""docs/results/gpu.md from results.json: what was measured on a GPU, and what was not."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from common import ROOT, read_json

PAGE = ROOT / "docs" / "results" / "gpu.md"
NONE = "not measured yet"
PARTS = {
    "machine": "what is installed",
    "build": "compile the extension modules and the kernels",
    "kernels": "attention pooling on the GPU, compared with the processor",
    "tests": "the tests that are marked `gpu`",
    "families": "one step and one encode of each family on both devices",
    "speed": "steps and encoding, compared with eager PyTorch",
    "laes": "fitting LAES, compared with the processor",
    "training": "the mean-max autoencoder at the paper's size",
}


def write(paths: list[Path]) -> None:
    results = [read_json(path) for path in paths]
    if None in results:
        raise SystemExit(f"{paths[results.index(None)]} is missing or damaged")
    PAGE.write_text(text(results), encoding="utf-8")
    print(f"wrote {PAGE}")


def text(results: list[dict[str, Any]]) -> str:
    """The page; of several results, the last one that has a part counts."""
    parts: dict[str, Any] = {}
    rehearsal = bool(results) and any(found["rehearsal"] for found in results)
    for found in results:
        for name, part in found["parts"].items():
            if name not in parts or part.get("status") == "ok" or parts[name].get("status") != "ok":
                parts[name] = part
    evaluation = next((found["evaluation"] for found in reversed(results) if "evaluation" in found), {})
    lines = [
        "# On a GPU",
        "",
        "This page is generated from the results of `tools/gpu_check`, by `tools/gpu_check --page results.json`.",
        "[Running on a GPU](../gpu.md) explains how to build for one.",
        "",
    ]
    if rehearsal:
        lines += [
            "**A rehearsal: a processor stood in for the GPU, at small sizes. No figure here is a GPU's.**",
            "",
        ]
    if not results:
        lines += ["**Nothing on this page was measured yet: the check has not run on a GPU.**", ""]
    lines += machine(parts.get("machine", {}), results)
    lines += ["## What ran", "", *table(("part", "what it does", "result", "seconds"), ran(parts)), ""]
    lines += ["## Both devices compute the same", "", *devices(parts)]
    lines += ["## Speed", "", *speed(parts.get("speed", {})), *laes(parts.get("laes", {}))]
    lines += ["## Training at the paper's size", "", *training(parts.get("training", {}), evaluation)]
    return "\n".join(lines).rstrip() + "\n"


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> list[str]:
    def line(cells: Iterable[Any]) -> str:
        return f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |"

    names = list(head)
    numbers = [name not in ("what it does", "result", "aim") for name in names]
    return [
        line(names),
        line(["---", *("---:" if of_numbers else "---" for of_numbers in numbers[1:])]),
        *map(line, rows),
    ]


def number(value: Any, form: str = ",.0f") -> str:
    return NONE if value is None else format(value, form)


def machine(found: dict[str, Any], results: list[dict[str, Any]]) -> list[str]:
    if not found:
        return []
    dates = ", ".join(sorted({call["started"][:10] for result in results for call in result["calls"]}))
    gpu = found.get("gpu") or "none"
    processor = found.get("processor", "").strip() or "a processor"
    names = {"Python": "python", "PyTorch": "torch", "CUDA": "cuda", "cuDNN": "cudnn"}
    versions = ", ".join(f"{name} {found.get(key) or 'none'}" for name, key in names.items())
    return [f"Date: {dates}. GPU: {gpu}; {found.get('processors')} cores of {processor}; {versions}.", ""]


def ran(parts: dict[str, Any]) -> list[list[Any]]:
    rows = []
    for name, what in PARTS.items():
        part = parts.get(name)
        if part is None:
            rows.append([name, what, NONE, ""])
            continue
        cases = part.get("cases", {})
        failed = [case for case, result in cases.items() if isinstance(result, dict) and "error" in result]
        outcome = part["status"]
        if cases:
            outcome += f"; {len(cases) - len(failed)} of {len(cases)} cases"
        if name == "tests" and "tests" in part:
            passed = part["tests"] - part["failures"] - part["errors"] - part["skipped"]
            outcome += (
                f"; {passed} passed, {part['failures'] + part['errors']} failed, {part['skipped']} skipped"
            )
        rows.append([name, what, outcome, number(part.get("seconds"), ",.0f") if "seconds" in part else ""])
    return rows


def errors(cases: dict[str, Any]) -> list[str]:
    found = [f"- {name}: {result['error'][:300]}" for name, result in cases.items() if "error" in result]
    return ["", "Failures:", "", *found] if found else []


def devices(parts: dict[str, Any]) -> list[str]:
    cases = parts.get("families", {}).get("cases", {})
    if not cases:
        return [f"{NONE[0].upper()}{NONE[1:]}.", ""]
    lines = [
        "One step of gradient descent and one encode of each family, from the same weights, in float32 without",
        "TF32. The columns are relative differences between the processor and the GPU: of the loss, of the vector",
        "of all gradients, and of the embedding that differs most.",
        "",
    ]
    rows = [
        [
            name,
            *(
                number(result.get(key), ".1e") if result.get(key) is not None else "none"
                for key in ("loss_apart", "gradient_apart", "embedding_apart")
            ),
        ]
        for name, result in cases.items()
        if "loss" in result
    ]
    lines += table(("family", "loss", "gradients", "embedding"), rows)
    lines += errors(cases)
    kernels = parts.get("kernels", {}).get("cases", {})
    apart = {
        dtype: [r["apart"] for name, r in kernels.items() if name.endswith(dtype) and "apart" in r]
        for dtype in ("float32", "float64")
    }
    if any(apart.values()):
        worst = ", ".join(f"{max(values):.1e} in {dtype}" for dtype, values in apart.items() if values)
        lines += [
            "",
            f"Attention pooling, forward and backward: {sum(map(len, apart.values()))} cases, at most {worst} "
            "from the processor.",
        ]
    lines += errors(kernels)
    return [*lines, ""]


def speed(part: dict[str, Any]) -> list[str]:
    cases = part.get("cases", {})
    if not cases:
        return [f"Steps and encoding: {NONE}. The aims are below.", "", *aims()]
    lines = [
        "Whole training steps (batches, forward, backward, clipping, Adam), in sentences or pairs a second. The",
        "competitor is the same model in eager PyTorch (`benchmarks/eager`), with the same weights and batches.",
        "",
    ]
    steps = {
        name[6:]: result for name, result in cases.items() if name.startswith("step: ") and "ours" in result
    }
    rows = [
        [
            name,
            number(result["ours"]["rate"]),
            number(result["eager"]["rate"]) if "eager" in result else "none",
            f"{result['ratio']:.2f}" if "ratio" in result else "",
            number(result["ours"].get("mebibytes")) if result["ours"].get("mebibytes") else "",
            number(result["eager"].get("mebibytes")) if result.get("eager", {}).get("mebibytes") else "",
        ]
        for name, result in steps.items()
    ]
    lines += table(("step", "ours", "eager", "ratio", "ours, MiB", "eager, MiB"), rows)
    lines += ["", "Encoding, from `list[str]` to a float32 array, in sentences a second.", ""]
    rows = [
        [
            name[8:],
            number(result["ours"]),
            number(result["eager"]) if "eager" in result else "none",
            f"{result['ratio']:.1f}" if "ratio" in result else "",
        ]
        for name, result in cases.items()
        if name.startswith("encode: ") and "ours" in result
    ]
    lines += table(("encode", "ours", "eager", "ratio"), rows)
    best = max(
        (result["ours"]["rate"] for name, result in steps.items() if name == "MeanMaxAAE, bfloat16"),
        default=None,
    )
    if best is not None and part.get("device") == "cuda":
        paper = part["paper_sentences_per_second"]
        lines += [
            "",
            f"The mean-max autoencoder at the paper's size, batches of 64 in bfloat16: {best:,.0f} sentences "
            f"a second, {best / paper:.0f} times the paper's {paper:.0f} (3.3 minutes for 1,000 batches).",
        ]
    lines += errors(cases)
    return [*lines, ""]


def aims() -> list[str]:
    return [
        *table(
            ("what", "aim"),
            [
                [
                    "mean-max AAE at the paper's size (2,048 units, batches of 64, 21,583 words)",
                    "16,000 sentences a second",
                ],
                ["whole steps of each family", "1.3 times eager on the same batches"],
                ["`encode` of each family", "5 times eager with the same weights"],
                ["LAES with 2,400 hidden units", "10 times the processor"],
            ],
        ),
        "",
    ]


def laes(part: dict[str, Any]) -> list[str]:
    cases = part.get("cases", {})
    if not cases or not all("seconds" in result for name, result in cases.items() if name != "compared"):
        return [f"LAES with 2,400 hidden units: {NONE}.", ""]
    seconds = {name: result["seconds"] for name, result in cases.items() if name != "compared"}
    ratio = (
        f", {cases['compared']['ratio']:.1f} times as fast" if "ratio" in cases.get("compared", {}) else ""
    )
    times = "; ".join(f"`{name}` {value:.2f} s" for name, value in seconds.items())
    return [
        f"LAES with {part['hidden']:,} hidden units on {part['sentences']:,} sentences: {times}{ratio}.",
        "",
    ]


def training(part: dict[str, Any], evaluation: dict[str, Any]) -> list[str]:
    history = part.get("history")
    if not history or not history["validations"]:
        return [f"{NONE[0].upper()}{NONE[1:]}.", ""]
    lines = [
        f"{part.get('step', history['validations'][-1]['step']):,} steps of 64 sentences in "
        f"{history['seconds'] / 60:.1f} minutes, on {part.get('examples', 0):,} sentences of books"
        + (
            f"; {part['steps_per_second']:.0f} steps a second in the last call"
            if "steps_per_second" in part
            else ""
        )
        + ". Validation is on sentences of other books; the loss is in nats a word.",
        "",
    ]
    chosen = history["validations"]
    stride = max(1, len(chosen) // 12)
    shown = [*chosen[:-1][::stride], chosen[-1]]
    rows = [[f"{v['step']:,}", number(v["loss"], ".3f"), f"{v['accuracy']:.1%}"] for v in shown]
    lines += table(("step", "validation loss", "words predicted"), rows)
    lines.append("")
    if evaluation:
        names = list(
            dict.fromkeys(
                key for tasks in evaluation.values() for task in tasks.values() for key in [task["label"]]
            )
        )
        rows = [
            [
                name,
                *(
                    {task["label"]: task for task in tasks.values()}.get(label, {}).get("value", "")
                    for label in names
                ),
            ]
            for name, tasks in evaluation.items()
        ]
        lines += [
            "Evaluated on a processor afterwards (accuracy in percent, Pearson's r):",
            "",
            *table(("encoder", *names), rows),
        ]
    else:
        lines.append(f"Its evaluation: {NONE}.")
    return [*lines, ""]
