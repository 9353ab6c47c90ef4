"""Draws README's picture, docs/quality-speed.svg, from the tables of docs/results; those name their commands.

usage: python tools/plot_quality_speed.py
"""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

DOCS = Path(__file__).parents[1] / "docs"
# Name in speed.md, encoder in evaluation.md (the others make the same rows), label, ours or not, label below.
POINTS = (
    ("SIF, float16 rows", "SIF", "SIF", True, False),
    ("weighted mean (no direction taken away)", "Average", "weighted mean", True, True),
    ("fse 1.0.0 `SIF.infer`", "SIF", "SIF by fse", False, False),
    ("model2vec 0.10.0 `encode`", "Average", "weighted mean by model2vec", False, True),
)
TRANSFORMER = "all-MiniLM-L6-v2"


def rows_of(page: str, first: str) -> dict[str, list[str]]:
    """The table whose header begins with `first`: each row's cells by its first one."""
    text = (DOCS / "results" / page).read_text(encoding="utf-8")
    table = text[text.index(f"| {first} |") :].split("\n\n")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return {row[0]: row[1:] for row in cells}


def number(text: str) -> float:
    return float(re.split(r"[ ±]", text)[0].replace(",", ""))


def quality() -> tuple[int, dict[str, float]]:
    """How many tasks of cosine similarity there are, and each encoder's mean over them."""
    table = rows_of("evaluation.md", "task")
    rows = [[number(cell) for cell in row] for task, row in table.items() if task.endswith(", cosine")]
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    return len(rows), dict(zip(table["task"], means, strict=True))


def main() -> None:
    """Writes the picture."""
    plt.rcParams.update(
        {"svg.hashsalt": "sentencode", "svg.fonttype": "none", "font.size": 9, "font.family": "sans-serif"}
    )
    (tasks, good), speed = quality(), rows_of("speed.md", "system")
    figure, axes = plt.subplots(figsize=(6.4, 3.4))
    for name, encoder, label, ours, below in POINTS:
        median, spread = speed[name]
        low, high = (number(end) for end in spread.split(" to "))
        x, y, color = number(median), good[encoder], "#1f6f8b" if ours else "#8a8a8a"
        axes.errorbar(x, y, xerr=[[x - low], [high - x]], fmt="o" if ours else "s", color=color, capsize=3)
        text = f"{label}\n{x / 1e6:.2f} M/s" if ours else f"{label}\n{x / 1e3:.0f} k/s"
        place = {"xytext": (0, -9 if below else 8), "va": "top" if below else "bottom"}
        axes.annotate(text, (x, y), textcoords="offset points", ha="center", color=color, **place)
    line = good[TRANSFORMER]
    axes.axhline(line, linestyle="--", linewidth=1, color="#b5651d")
    axes.text(
        1.1e4, line - 1, f"{TRANSFORMER}, a transformer (speed not measured)", color="#b5651d", va="top"
    )
    axes.set(
        xscale="log", xlim=(1e4, 5e6), ylim=(40, 85), xlabel="sentences a second, two cores, raw text in"
    )
    axes.set_ylabel(f"cosine similarity: mean of\n{tasks} tasks, Pearson × 100")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    figure.tight_layout()
    figure.savefig(DOCS / "quality-speed.svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
