"""Figure 2 of paper 000: the attention of the decoder to the mean and to the maximum."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._figures import new_figure
from .report import Report, Table
from .results_folder import Result
from .tables import TableText, number

__all__ = ["SHARE", "DecoderAttention", "attention_results"]

SENTENCES = ("the king rode to the town", "he opened the door and saw that the room was empty")
SHARE = "mean attention"  # column: percent of the attention that goes to the mean
_EXAMPLES = 200


def attention_results(encoder: Any, sentences: Sequence[Any], result: Result) -> dict[str, dict[str, float]]:
    """The share of the mean over sentences, and that of each word of `SENTENCES`, which `result` receives.

    Args:
        encoder: An autoencoder that pools by mean and maximum.
        sentences: Sentences; without known words in any of them, there is no share.
        result: Result of its row.
    """
    result["attention"] = [
        [[word, round(float(percent), 1)] for word, percent in zip(words, percents, strict=True)]
        for words, percents in _shares(encoder, SENTENCES)
    ]
    some = sentences[:: max(1, len(sentences) // _EXAMPLES)][:_EXAMPLES]
    means = [percents.mean() for _, percents in _shares(encoder, some)]
    if not means:
        return {}
    mean, margin = np.mean(means), 1.96 * np.std(means) / math.sqrt(len(means))
    interval = {"value": mean, "low": mean - margin, "high": mean + margin}
    return {SHARE: {name: round(float(percent), 3) for name, percent in interval.items()}}


def _shares(encoder: Any, sentences: Sequence[Any]) -> Iterator[tuple[list[str], Any]]:
    """The words of each sentence, and the percent of the attention to the mean; not without known words."""
    for sentence in sentences:
        with suppress(ValueError):  # no word is read
            words, weights = encoder.attention(sentence)  # [heads, words, 2]
            yield words, 100 * weights[..., 0].mean(axis=0)  # [words]


@dataclass(frozen=True)
class DecoderAttention(Table):
    """The attention to the mean, in percent, for each word that the decoder predicts.

    The rest is the attention to the maximum.

    Attributes:
        title: Title of the table.
        rows: Rows to show; the claim is about the first.
    """

    title: str
    rows: Sequence[str]

    def content(self, report: Report) -> Iterator[TableText]:
        """A table for each sentence."""
        shares = {row: shares for row in self.rows if (shares := _attention(report, row))}
        for i, words in enumerate(next(iter(shares.values()), ())):
            cells = [[row, *(number(percent) for _, percent in of[i])] for row, of in shares.items()]
            yield f"{self.title}, sentence {i + 1}", ["encoder", *(word for word, _ in words)], cells

    def notes(self, report: Report) -> Iterator[str]:
        """What was measured."""
        yield (
            "Figure 2: percent of the decoder's attention to the mean when it predicts the word, averaged "
            f"over heads; the rest goes to the maximum. The claim is about {_EXAMPLES} validation sentences. "
            "The paper's figure is a picture of two other sentences, without numbers."
        )

    def findings(self, report: Report) -> Iterator[Result]:
        """Whether the mean has more than half of the attention."""
        row = self.rows[0]
        if (share := report.intervals(row).get(SHARE)) is None:
            return
        low, high = share["low"] - 50, share["high"] - 50
        yield {
            "claim": "the mean plays a greater role than the maximum",
            "compared": f"{row}, attention to the mean",
            "unit": "percent above half",
            "tasks": [SHARE],
            "of": 1,
            "seeds": len(report.of(row)),
            "value": share["value"] - 50,
            "low": low,
            "high": high,
            "verdict": "holds" if low > 0 else "differs" if high < 0 else "undecided",
            "paper": None,
        }

    def pictures(self, report: Report) -> Iterator[tuple[str, Any]]:
        """The attention of the first row to both, as in the paper."""
        sentences = _attention(report, self.rows[0])
        if not sentences:
            return
        figure, panels = new_figure(4.5 * len(sentences), 2.2, len(sentences))
        for axes, words in zip(panels, sentences, strict=True):
            shares = np.array([percent for _, percent in words]) / 100
            axes.imshow([shares, 1 - shares], cmap="Blues", vmin=0, vmax=1, aspect="auto")
            axes.set_xticks(range(len(words)), [word for word, _ in words], rotation=45, ha="right")
            axes.set_yticks(range(2), ["mean", "max"])
        yield "fig2", figure


def _attention(report: Report, row: str) -> list[list[tuple[str, float]]]:
    """The words of each sentence, with percents, of the first seed of a row; empty if there are none."""
    attention: list[list[tuple[str, float]]] = next(
        (result["attention"] for result in report.of(row) if "attention" in result), []
    )
    return attention
