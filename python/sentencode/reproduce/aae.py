"""Tables 1 to 3 and the training times of paper 000, next to the published figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from .claims import Claim, Claims
from .controls import CONTROLS, AverageOfWord2vec, Projection, of_wordnet, paragraph_vec, saved_row
from .curves import Curves
from .decoder_attention import DecoderAttention, attention_results
from .family import Family, File
from .report import Report
from .results_folder import Result, file_identity
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

    @property
    def half_hidden(self) -> int:
        """Width of each of two skip-thoughts whose embeddings are concatenated."""
        return self.hidden // 2

    @property
    def sum_rate(self) -> float:
        """Learning rate of FastSent, whose sums of word vectors change slowly."""
        return 5 * float(self.training.get("learning_rate", 1e-4))


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
        examples={"": 160_000},  # about as many as trained rows read
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


def _skip_thoughts(width: str = "hidden", **options: Any) -> Row:
    # Longer sentences are left out, as in its public code.
    row = Row("SkipThoughts", {"max_length": 30, **options}, {"hidden": width}, expanded=True)
    return replace(row, asked=True)


# Further trained rows of table 1, which are not among those that share the minutes.
_FAST_SENT = Row("FastSent", sized={"learning_rate": "sum_rate"}, expanded=True, asked=True)
_ASKED = {
    "FastSent": _FAST_SENT,
    "FastSent+AE": replace(_FAST_SENT, options={"autoencode": True}),
    "uni-skip": _skip_thoughts(),
    "bi-skip": _skip_thoughts(bidirectional=True),
    "combine-skip": Row(
        joined=(_skip_thoughts("half_hidden"), _skip_thoughts("half_hidden", bidirectional=True)),
        expanded=True,
        asked=True,
    ),
    "skip-thoughts+LN": _skip_thoughts(layer_norm=True),
}
_SAVED = {"infersent": "BiLSTM-max on NLI", "infersent_sst": "BiLSTM-max on SST"}  # Conneau et al. (2017)
_RAE = {f"{name} RAE": Row("RAE", {"pooling": pooling}) for name, pooling in _POOLINGS.items()}
_OF_SIZE = {
    **_AAE,
    **_RAE,
    "LSTM SDAE": Row("LSTMSDAE"),  # the paper's is that of Hill et al. (2016)
    "CNN-LSTM AE": Row("CNNLSTMAE", sized={"hidden": "hidden", "filters": "filters"}),  # Gan et al. (2017)
    **_ORDERED,
    **_ASKED,
    **dict.fromkeys(_SAVED.values(), saved_row(None)),
    "ParagraphVec DBOW": paragraph_vec("dbow"),
    "ParagraphVec DM": paragraph_vec("dm"),
    "DictRep": Row(trained=False, make=of_wordnet),  # Hill et al. (2016)
    **CONTROLS,
    "word2vec": Row(trained=False, make=AverageOfWord2vec, fitted=True),
    **{f"untrained {name}": untrained(row) for name, row in {**_AAE, **_RAE}.items()},
}
ROWS = {**_OF_SIZE, **_OF_WIDTHS}

_ACCURACIES = ("MR", "CR", "SST2", "TREC", "MRPC", "SICKEntailment")
_OLDER = ("MR", "CR", "TREC", "MRPC")  # that are published of the older autoencoders
_BEST = "mean-max AAE"


def _better(
    name: str, row: str, other: str, tasks: Sequence[str] = _ACCURACIES, *, net: bool = False
) -> Claim:
    return Claim(name, row, other, tasks, within=None, net=net)


_CLAIMS = (
    _better("better than the average of words, with a classifier", _BEST, "average of words"),
    _better("better than the average of words, without one", _BEST, "average of words", ("STS14",)),
    *(_better("attention is better than recurrence", f"{name} AAE", f"{name} RAE") for name in _POOLINGS),
    *(_better("mean and max together are best", _BEST, f"{name} AAE", net=True) for name in ("mean", "max")),
    *(
        _better("better than the older autoencoders", _BEST, name, _OLDER)
        for name in ("LSTM SDAE", "CNN-LSTM AE")
    ),
)
_ATTENDING = (_BEST, f"untrained {_BEST}")  # rows of figure 2
_CLAIMED = tuple(dict.fromkeys(row for claim in _CLAIMS for row in (claim.row, claim.other)))


def _measured(bench: Any, encoder: Any, result: Result) -> dict[str, dict[str, float]]:
    """The decoder's attention to the mean."""
    if result["row"] not in _ATTENDING:
        return {}
    return attention_results(encoder, bench.corpora[""][1], result)


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
                *("mean-max AAE", *_ORDERED, *_ASKED),
                *(name for name, row in _OF_SIZE.items() if not row.trained),
            ),
            printed={
                "average of words": "GloVe BOW",
                "word2vec": "word2vec BOW",
                "SIF": "SIF (GloVe + WR)",
                "ParagraphVec DBOW": "ParagraphVec (DBOW)",
                _SAVED["infersent"]: "BiLSTM-Max (on SNLI)",
                _SAVED["infersent_sst"]: "BiLSTM-Max (on SST)",
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
        "fig2": DecoderAttention("Figure 2: attention to the mean", _ATTENDING),
        "cost": Cost(
            "Section 4.4: parameters, and time of training",
            "section 4.4",
            remark='; the paper reports "about 39 million" for its own',
        ),
        "curve": Curves(("SICKRelatedness pearson", "STS14 pearson")),
    },
    remarks=("STS14 is the mean of its subsets, weighted by their sizes.",),
    ordered=True,
    options={"unit_words": False},
    claims=_CLAIMS,
    measure=_measured,
    curve=("SICKRelatedness", "STS14"),
)


def reproduce(
    *args: Any, infersent: File | None = None, infersent_sst: File | None = None, **more: Any
) -> Report:
    """Computes the paper's tables, see `Family.reproduce`.

    Args:
        *args: Arguments of `Family.reproduce`.
        infersent: A saved encoder for the row "BiLSTM-max on NLI": `reproduce pooling --rows infersent-nli`
            trains one, and writes it into the folder `encoders`.
        infersent_sst: The same for "BiLSTM-max on SST", trained by `--rows infersent-sst-2`.
        **more: Arguments of `Family.reproduce`.
    """
    both = {"infersent": infersent, "infersent_sst": infersent_sst}
    given = {name: path for name, path in both.items() if path is not None}
    rows = {**ROWS, **{_SAVED[name]: saved_row(path) for name, path in given.items()}}
    facts = {name: file_identity(path) for name, path in given.items()}
    return replace(FAMILY, rows=rows, facts=facts).reproduce(*args, **more)
