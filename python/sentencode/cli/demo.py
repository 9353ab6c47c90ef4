"""Runs every linear encoder on built-in word vectors and sentences of public-domain books.

It ranks and searches sentences, and draws a picture. It is no benchmark: its scores do not show how good an
encoder is.
"""

from __future__ import annotations

import argparse
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from ..files import whole_file

__all__ = ["EXAMPLE", "HELP", "NAME", "add_arguments", "run"]

NAME = "demo"
HELP = "every linear encoder on built-in data: a ranking, a search, a picture"
EXAMPLE = """
sentencode demo --out demo
"""

QUERY = "The ship went down in the storm and all the sailors were drowned."
EXAMPLES = [
    "The ship was lost in the storm.",
    "A great gale wrecked the vessel on the rocks.",
    "The captain and his crew were drowned in the sea.",
    "She was happy to see her brother again.",
    "The young woman wept with joy when her sister came home.",
    "He counted his money and put the gold in a box.",
    "The miser kept all his coins locked in a chest.",
    "The horse galloped down the road.",
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("demo"),
        metavar="FOLDER",
        help="folder for the picture (default: demo)",
    )


def run(options: argparse.Namespace) -> None:
    import sentencode as se

    vectors = se.WordVectors.default()
    text = resources.files("sentencode").joinpath("data/demo_sentences.txt").read_text(encoding="utf-8")
    sentences = [line for line in text.splitlines() if line]
    print("A demonstration of Sentencode. The scores are cosines, not benchmarks.\n")
    print(f"vectors    {len(vectors):,} words, {vectors.dim} dimensions, built in")
    print(f"sentences  {len(sentences):,} from public-domain books\n")

    encoders = {
        "Average": se.Average(vectors),
        "SIF": se.SIF(vectors),
        "uSIF": se.USIF(vectors),
        "LAES hidden": se.LAES(vectors, hidden=150, mode="hidden"),
        "LAES reconstruction": se.LAES(vectors, hidden=150, mode="reconstruction"),
        "LAES residual": se.LAES(vectors, hidden=20, mode="residual"),
        "LAES residual, both directions": se.LAES(vectors, hidden=20, mode="residual", direction="both"),
    }
    for encoder in encoders.values():
        encoder.fit(sentences)

    print(f"Most similar to: {EXAMPLES[0]!r}")
    for name, encoder in encoders.items():
        index, score = (values[0] for values in encoder.semantic_search(EXAMPLES[0], EXAMPLES[1:], top_k=1))
        print(f"  {name:<31} {score:6.3f}  {EXAMPLES[1:][index]}")

    print(f"\nNearest in the books, by Average, to: {QUERY!r}")
    for index, score in zip(*encoders["Average"].semantic_search(QUERY, sentences, top_k=5), strict=True):
        print(f"  {score:6.3f}  {_shortened(sentences[index])}")

    picture = options.out / "similarity.png"
    if _draw(encoders["Average"].similarity(EXAMPLES, EXAMPLES), picture):
        print(f"\nSimilarities of those {len(EXAMPLES)} sentences, by Average: {picture}")
    else:
        print("\nNo picture without matplotlib: pip install 'sentencode[plot]'")


def _shortened(sentence: str, width: int = 100) -> str:
    return sentence if len(sentence) <= width else sentence[: width - 3] + "..."


def _draw(similarities: np.ndarray[Any, np.dtype[np.float32]], path: Path) -> bool:
    """Draws a heat map of similarities; False without matplotlib."""
    try:
        from matplotlib.figure import Figure  # not pyplot: no window, no state
    except ImportError:
        return False
    figure = Figure(figsize=(11, 5.5), layout="constrained")
    axes = figure.add_subplot()
    # With aspect="equal", the layout reserves room for axes that are not drawn, and truncates labels.
    picture = axes.imshow(similarities, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    axes.set_yticks(range(len(EXAMPLES)), [f"{text}  {i}" for i, text in enumerate(EXAMPLES, 1)])
    axes.set_xticks(range(len(EXAMPLES)), [str(i + 1) for i in range(len(EXAMPLES))])
    for (i, j), value in np.ndenumerate(similarities):
        axes.text(
            j, i, f"{value:.2f}", ha="center", va="center", color="white" if abs(value) > 0.6 else "black"
        )
    figure.suptitle("Cosine similarity, averages of built-in vectors (a demonstration, no benchmark)")
    figure.colorbar(picture, ax=axes, shrink=0.8)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path, follow_link=True) as file:
        figure.savefig(file, format=path.suffix.removeprefix(".") or "png", dpi=120)
    return True
