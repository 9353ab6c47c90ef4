"""Tables 1 to 3 and the training times of paper 000, next to the published figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ..paragraph_vec import ParagraphVec
from .claims import Claim, Claims
from .controls import CONTROLS, AverageOfWord2vec, Projection, of_wordnet
from .family import Family
from .rows import Row, untrained
from .rows import Size as CommonSize
from .score_tables import Averages, Cost, Scores
from .widths import Widths

__all__ = ["FAMILY", "ROWS", "SIZES", "Size", "reproduce"]


@dataclass(frozen=True, kw_only=True)
class Size(CommonSize):
    """Sizes of the networks.

    Attributes:
        hidden: Width of the embedding of one pooling, and of the baselines' states.
        filters: Filters of the convolutional baseline for each window.
    """

    hidden: int
    filters: int


SIZES = {
    "cpu": Size(
        hidden=512,
        filters=200,
        training={
            "vocabulary_size": 15_000,
            "learning_rate": 1e-3,
            "schedule": "linear",
            "warmup": 300,
            "sampled_words": 2000,
            "label_smoothing": 0.0,  # in both presets: a sampled softmax excludes it
        },
        minutes=105,
    ),
    "paper": Size(hidden=2048, filters=800, steps=100_000),
}


_POOLINGS = {"mean": "mean", "max": "max", "mean-max": "mean_max"}
# The public code, which has the AAE only, normalises the embedding of each pooling.
_HALVES = {"reference": "halves"}
_AAE = {
    f"{name} AAE": Row("MeanMaxAAE", {"pooling": pooling}, normalize=_HALVES)
    for name, pooling in _POOLINGS.items()
}
# Rows whose embeddings have other widths than those of the size.
_WIDTHS = (512, 1024, 2048, 4096)
_UNTRAINED, _PROJECTED = (
    {f"{name}, {width:,} dimensions": width for width in _WIDTHS}
    for name in ("untrained mean-max AAE", "projected mean and max of words")
)
_OF_WIDTHS = {
    **{
        name: Row(
            "MeanMaxAAE", {"pooling": "mean_max", "hidden": width // 2}, {}, trained=False, normalize=_HALVES
        )
        for name, width in _UNTRAINED.items()
    },
    **{name: Row(trained=False, make=partial(Projection, width=width)) for name, width in _PROJECTED.items()},
}
# The models of Gan et al. (2017) that learn from ordered text; their LSTMs are narrower.
_ORDERED = {
    f"{name}-CNN": Row(f"{name.capitalize()}CNN", sized={"filters": "filters"}, expanded=True)
    for name in ("hierarchical", "composite")
}
_ORDERED["combine-CNN"] = Row(joined=tuple(_ORDERED.values()), expanded=True)
_OF_SIZE = {
    **_AAE,
    **{f"{name} RAE": Row("RAE", {"pooling": pooling}) for name, pooling in _POOLINGS.items()},
    "LSTM SDAE": Row("LSTMSDAE"),  # the paper's is that of Hill et al. (2016)
    "CNN-LSTM AE": Row("CNNLSTMAE", sized={"hidden": "hidden", "filters": "filters"}),  # Gan et al. (2017)
    **_ORDERED,
    "ParagraphVec DBOW": Row(trained=False, make=lambda _: ParagraphVec("dbow"), fitted=True),
    "ParagraphVec DM": Row(trained=False, make=lambda _: ParagraphVec("dm"), fitted=True),
    "DictRep": Row(trained=False, make=of_wordnet),  # Hill et al. (2016)
    **CONTROLS,
    "word2vec": Row(trained=False, make=AverageOfWord2vec, fitted=True),
    "untrained mean-max AAE": untrained(_AAE["mean-max AAE"]),
}
ROWS = {**_OF_SIZE, **_OF_WIDTHS}

_ACCURACIES = ("MR", "CR", "SST2", "TREC", "MRPC", "SICKEntailment")
_OLDER = ("MR", "CR", "TREC", "MRPC")  # that are published of the older autoencoders
_BEST = "mean-max AAE"


def _better(name: str, row: str, other: str, tasks: Sequence[str] = _ACCURACIES) -> Claim:
    return Claim(name, row, other, tasks, within=None)


_CLAIMS = (
    _better("better than the average of words, with a classifier", _BEST, "average of words"),
    _better("better than the average of words, without one", _BEST, "average of words", ("STS14",)),
    *(_better("attention is better than recurrence", f"{name} AAE", f"{name} RAE") for name in _POOLINGS),
    *(_better("mean and max together are best", _BEST, f"{name} AAE") for name in ("mean", "max")),
    *(
        _better("better than the older autoencoders", _BEST, name, _OLDER)
        for name in ("LSTM SDAE", "CNN-LSTM AE")
    ),
)
_CLAIMED = tuple(dict.fromkeys(row for claim in _CLAIMS for row in (claim.row, claim.other)))

FAMILY = Family(
    name="aae",
    rows=ROWS,
    sizes=SIZES,
    # Those of tables 1 and 3, and two more.
    tasks=(
        *("MR", "CR", "SUBJ", "MPQA", "SST2", "SST5", "TREC", "MRPC", "SICKEntailment"),
        *("SICKRelatedness", "STSBenchmark", "STS14"),
    ),
    columns=(
        *("MR accuracy", "CR accuracy", "SUBJ accuracy", "MPQA accuracy", "SST2 accuracy", "TREC accuracy"),
        *("MRPC accuracy", "MRPC f1", "SICKEntailment accuracy", "SICKRelatedness pearson"),
        *("STS14 pearson", "STS14 spearman", "SST5 accuracy", "STSBenchmark pearson"),
    ),
    names={
        "SICKEntailment accuracy": "SICK-E",
        "SICKRelatedness pearson": "SICK-R, learnt",
        "STSBenchmark pearson": "STSB, learnt",
        "STS14 pearson": "STS14 r, cosine",
        "STS14 spearman": "STS14 rho, cosine",
        "MRPC f1": "MRPC F1",
    },
    tables={
        "1": Scores(
            "Table 1: SentEval's tasks, accuracy and F1 in percent, Pearson's r",
            "1",
            rows=(
                *("mean-max AAE", *_ORDERED),
                *(name for name, row in _OF_SIZE.items() if not row.trained),
            ),
            printed={
                "average of words": "GloVe BOW",
                "word2vec": "word2vec BOW",
                "SIF": "SIF (GloVe + WR)",
                "ParagraphVec DBOW": "ParagraphVec (DBOW)",
            },
        ),
        "2": Averages("Table 2: macro and micro averages of accuracy", "2", of="1", rows=tuple(_OF_SIZE)),
        "3": Scores(
            "Table 3: poolings, and recurrent networks in place of attention", "3", rows=tuple(_OF_SIZE)
        ),
        "widths": Widths(
            "Width of the embedding",
            {
                "untrained mean-max AAE": tuple(_UNTRAINED),
                "projected mean and max of words": tuple(_PROJECTED),
            },
            others=(
                *(name for name, row in _OF_SIZE.items() if row.trained),
                *("average of words", "mean and max of words"),
            ),
            tasks=_ACCURACIES,
        ),
        "findings": Claims("The paper's findings, and whether they hold here", _CLAIMED),
        "cost": Cost(
            "Section 4.4: parameters, and time of training",
            "section 4.4",
            remark='; the paper reports "about 39 million" for its own',
        ),
    },
    remarks=("STS14 is the mean of its subsets, weighted by their sizes.",),
    ordered=True,
    options={"unit_words": False},
    claims=_CLAIMS,
)
reproduce = FAMILY.reproduce
