"""Tables 1 to 3 of paper 001, its findings on decoders, and its hyperparameters."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..checks import checked_int
from ..evaluation import Task
from .claims import Claim, Claims
from .controls import CONTROLS, AverageOfWord2vec, of_wordnet, paragraph_vec, saved_row
from .curves import Curves
from .family import Family
from .labelled import labels_of_files
from .loss_floors import FLOORS, floor_of
from .report import Report
from .results_folder import Result, file_identity
from .rows import Row, untrained
from .rows import Size as CommonSize
from .score_tables import Cost, Scores

__all__ = ["FAMILY", "ROWS", "SIZES", "Size", "reproduce"]

File = str | os.PathLike[str]
_HELD_OUT = 1000  # pairs


@dataclass(frozen=True, kw_only=True)
class Size(CommonSize):
    """Sizes of the networks.

    Attributes:
        small: Units of each direction of the small encoder.
        double: Units of each direction of "double-sized" encoders.
        large: Units of each direction of the large encoder.
        channels: Channels of a decoder's feature maps, for each word.
        inner: Channels of a decoder's first convolution.
        skip: Width of skip-thoughts, as wide as the small encoder's embeddings.
        aae: Width of one pooling of the mean-max autoencoder, half as wide as the small encoder's embeddings.
        sum_rate: Learning rate of FastSent, whose sums of word vectors change slowly.
    """

    small: int
    double: int
    large: int
    channels: int
    inner: int
    skip: int
    aae: int
    sum_rate: float = 5e-4

    @property
    def half_skip(self) -> int:
        """Width of each of two skip-thoughts whose embeddings are concatenated."""
        return self.skip // 2

    @property
    def wide_channels(self) -> int:
        """Channels of a decoder that is twice as wide."""
        return 2 * self.channels

    @property
    def wide_inner(self) -> int:
        """Channels of its first convolution."""
        return 2 * self.inner


SIZES = {
    "cpu": Size(
        small=150,
        double=300,
        large=600,
        channels=200,
        inner=100,
        skip=600,
        aae=304,  # a multiple of the heads
        sum_rate=5e-3,
        training={"vocabulary_size": 8000, "max_length": 40, "learning_rate": 1e-3, "clip_norm": 5.0},
        steps=1500,
        examples={"": 96_000},  # as many as trained rows read
        word_dim=100,
        valid_sentences=1000,  # always sampling generates word by word in validation, too
    ),
    "paper": Size(
        small=300,
        double=600,
        large=1200,
        channels=600,
        inner=300,
        skip=1200,
        aae=600,
        training={"vocabulary_size": 20_000, "max_length": 60},
        steps=100_000,
    ),
}

_WIDE = {"channels": "channels", "inner": "inner"}
_SMALL = {"hidden": "small", **_WIDE}
_DOUBLE = {"hidden": "double", **_WIDE}
_LARGE = {"hidden": "large", **_WIDE}
_INPUT_MODES = {
    "Teacher-Forcing": "teacher_forcing",
    "Always Sampling": "always_sampling",
    "Uniform Sampling": "uniform_sampling",
}


def _rnn_cnn(sized: dict[str, str] = _SMALL, **options: Any) -> Row:
    # Unlike eq. 2 and the preset, the published rows have a bias of words.
    return Row("RNNCNN", {"word_bias": True, **options}, sized, expanded=True)


def _skip_thoughts(width: str = "skip", **options: Any) -> Row:
    # Longer sentences are left out, as in its public code, whatever the others' length is.
    return Row("SkipThoughts", {"max_length": 30, **options}, {"hidden": width}, expanded=True)


_FAST_SENT = Row("FastSent", sized={"learning_rate": "sum_rate"}, expanded=True)
# The rows of table 1.
_TABLE_1 = {
    **{
        f"autoregressive {kind.upper()}, {name}": _rnn_cnn(decoder=f"autoregressive_{kind}", feeding=feeding)
        for kind in ("rnn", "cnn")
        for name, feeding in _INPUT_MODES.items()
    },
    "predict-all-words RNN": _rnn_cnn(decoder="rnn"),
    "predict-all-words CNN": _rnn_cnn(),
    "predict-all-words CNN, max only": _rnn_cnn(pooling="max"),
    "predict-all-words CNN, double-sized encoder": _rnn_cnn(_DOUBLE),
    "predict-all-words CNN, max only, double-sized encoder": _rnn_cnn(_DOUBLE, pooling="max"),
}
# Test sets of classifiers that are trained on fewer pairs than SNLI's: SNLI's, and revised pairs.
_NLI = {"NLI": "SNLI's test, few pairs", "revised NLI": "revised pairs, few pairs"}
# Further rows of table 2; its small encoder on books is table 1's predict-all-words CNN.
_TABLE_2 = {
    "large RNN-CNN": replace(_rnn_cnn(_LARGE), further=True),
    "small RNN-CNN, reviews": replace(_rnn_cnn(), corpus="reviews"),
    "large RNN-CNN, reviews": replace(_rnn_cnn(_LARGE), corpus="reviews", further=True),
    "skip-thoughts": replace(_skip_thoughts(), further=True),
    "skip-thoughts, two directions": _skip_thoughts(bidirectional=True),
    "skip-thoughts, combined": Row(
        joined=[_skip_thoughts("half_skip"), _skip_thoughts("half_skip", bidirectional=True)], expanded=True
    ),
    "skip-thoughts, layer norm": _skip_thoughts(layer_norm=True),
    "skip-thoughts, tied": _skip_thoughts(tied=True),
    "FastSent": _FAST_SENT,
    "FastSent+AE": replace(_FAST_SENT, options={"autoencode": True}),
    # Without a warm-up, attention scores below its untrained control.
    "mean-max AAE": Row("MeanMaxAAE", {"label_smoothing": 0.0, "warmup": 300}, {"hidden": "aae"}),
}
# Section 3.4; its table is in the paper's supplement, which is not available.
_BASE = "predict-all-words CNN"
_WIDER = {"hidden": "small", "channels": "wide_channels", "inner": "wide_inner"}
_HYPER = {
    "the next sentence": _rnn_cnn(targets="sentence"),
    **{f"{n} words": _rnn_cnn(following_words=n) for n in (10, 20, 40)},
    **{f"{n} layers": _rnn_cnn(decoder_layers=n) for n in (2, 4)},
    "a decoder twice as wide": _rnn_cnn(_WIDER),
    "no bias of words": _rnn_cnn(word_bias=False),
}
_CONTROLS = {
    **{name: replace(row, further=name != "SIF") for name, row in CONTROLS.items()},
    "untrained RNN-CNN": untrained(_TABLE_1["predict-all-words CNN"]),
    **{
        f"untrained RNN-CNN, {name}": untrained(_TABLE_1[f"predict-all-words CNN, {name}"])
        for name in ("max only", "double-sized encoder", "max only, double-sized encoder")
    },
    "untrained large RNN-CNN": untrained(_TABLE_2["large RNN-CNN"]),
    **{
        f"untrained {name}": replace(untrained(_TABLE_2[name]), further=False)
        for name in ("skip-thoughts", "skip-thoughts, two directions", "mean-max AAE")
    },
    "ParagraphVec": paragraph_vec("dbow"),
    "word2vec": Row(trained=False, make=AverageOfWord2vec, fitted=True),
    "DictRep": Row(trained=False, make=of_wordnet),
    "InferSent": saved_row(None),
}
# Not encoders: the loss without reading the sentence.
_FLOORS = {name: Row(trained=False, make=lambda _: None, tasks=()) for name in FLOORS}
ROWS = {**_TABLE_1, **_TABLE_2, **_HYPER, **_CONTROLS, **_FLOORS}

_TASKS_1 = ("SICKRelatedness", "SICKEntailment", "STS14", "MRPC", "SST2", "TREC")
_CLAIMS = (
    *(
        Claim(
            "I: correct words are not needed",
            f"autoregressive {kind}, {name}",
            f"autoregressive {kind}, Teacher-Forcing",
            _TASKS_1,
        )
        for kind in ("RNN", "CNN")
        for name in ("Always Sampling", "Uniform Sampling")
    ),
    *(
        Claim(
            "II: a decoder need not be autoregressive",
            f"predict-all-words {kind}",
            f"autoregressive {kind}, {name}",
            _TASKS_1,
        )
        for kind in ("RNN", "CNN")
        for name in _INPUT_MODES
    ),
    Claim(
        "mean and max are better than max",
        "predict-all-words CNN",
        "predict-all-words CNN, max only",
        _TASKS_1,
        within=None,
        net=True,
    ),
    Claim(
        "mean and max are better than max",
        "predict-all-words CNN, double-sized encoder",
        "predict-all-words CNN, max only, double-sized encoder",
        _TASKS_1,
        within=None,
        net=True,
    ),
    Claim(
        "mean and max are better than max, same width",
        "predict-all-words CNN",
        "predict-all-words CNN, max only, double-sized encoder",
        _TASKS_1,
        within=None,
    ),
    Claim(
        "a wider encoder is better",
        "predict-all-words CNN, double-sized encoder",
        "predict-all-words CNN",
        _TASKS_1,
        within=None,
        net=True,
    ),
    *(
        Claim(
            "reviews are better for sentiment",
            f"{size} RNN-CNN, reviews",
            on_books,
            ("MR", "CR", "SST2"),
            within=None,
        )
        for size, on_books in (("small", "predict-all-words CNN"), ("large", "large RNN-CNN"))
    ),
)
# The paper's names in tables 2 and 3.
_PRINTED = {
    "predict-all-words CNN": "small RNN-CNN, BookCorpus",
    "large RNN-CNN": "large RNN-CNN, BookCorpus",
    "small RNN-CNN, reviews": "small RNN-CNN, Amazon book reviews",
    "large RNN-CNN, reviews": "large RNN-CNN, Amazon book reviews",
    "average of words": "GloVe BOW",
    "SIF": "SIF (GloVe+WR)",
    "word2vec": "word2vec BOW",
    "DictRep": "DictRep BOW",
    "InferSent": "InferSent (SNLI)",
}
_CLAIMED = tuple(dict.fromkeys(row for claim in _CLAIMS for row in (claim.row, claim.other)))


def _measured(bench: Any, encoder: Any, result: Result) -> Result:
    """Training hours, and the loss of predicting the following words."""
    name, row = result["row"], ROWS[result["row"]]
    if name in _FLOORS:
        base, (train, valid) = bench.untrained(ROWS[_BASE], result["seed"]), bench.corpora[""]
        return {"following loss": {"value": floor_of(base, train, valid, FLOORS[name])}}
    scores = {}
    if "minutes" in result:
        scores["training hours"] = {"value": result["minutes"] / 60}
    if row.kind == "RNNCNN" and "dev" in result:
        scores["following loss"] = {"value": result["dev"]["loss"]}
    return scores


FAMILY = Family(
    name="rnn-cnn",
    rows=ROWS,
    sizes=SIZES,
    tasks=(*_TASKS_1, "MR", "CR", "SUBJ", "MPQA"),
    columns=(
        *("SICKRelatedness pearson", "SICKEntailment accuracy", "STS14 pearson", "STS14 spearman"),
        *("MRPC accuracy", "MRPC f1", "SST2 accuracy", "TREC accuracy"),
        *("MR accuracy", "CR accuracy", "SUBJ accuracy", "MPQA accuracy", "training hours"),
    ),
    names={
        "SICKRelatedness pearson": "SICK-R, learnt",
        "SICKEntailment accuracy": "SICK-E",
        "STS14 pearson": "STS14 r, cosine",
        "STS14 spearman": "STS14 rho, cosine",
        "MRPC f1": "MRPC F1",
        "SST2 accuracy": "SST",
        "training hours": "hours",
        "following loss": "loss",
        **{f"{name} accuracy": heading for name, heading in _NLI.items()},
    },
    tables={
        "1": Scores(
            "Table 1: decoders, and the input modes of autoregressive ones",
            "1",
            rows=tuple(_TABLE_1),
        ),
        "2": Scores(
            "Table 2: both corpora, and other encoders",
            "2",
            rows=("predict-all-words CNN", *_TABLE_2, *_CONTROLS),
            printed={
                **_PRINTED,
                "skip-thoughts": "Skip-thoughts",
                "skip-thoughts, layer norm": "Skip-thought+LN",
            },
        ),
        "3": Scores(
            "Table 3: inference between sentences, by a classifier of frozen embeddings",
            "3",
            rows=tuple(name for name, row in ROWS.items() if row.further),
            columns=("SNLI accuracy", *(f"{name} accuracy" for name in _NLI)),
            printed={**_PRINTED, "skip-thoughts": "Skip-thoughts (Vendrov et al.)"},
            remark="Table 3: the classifier is a logistic regression of [u; v; |u - v|; u * v], SentEval's "
            "features (inferred: the paper uses that of Vendrov et al. 2015).",
        ),
        "findings": Claims("The paper's findings, and whether they hold here", _CLAIMED),
        "hyper": Scores(
            "Section 3.4: targets, and sizes of the networks",
            rows=(_BASE, *_HYPER, f"{_BASE}, double-sized encoder", "large RNN-CNN"),
            columns=("SICKRelatedness pearson", "SICKEntailment accuracy", "STS14 pearson", "STS14 spearman"),
        ),
        "losses": Scores(
            "Loss of predicting the next 30 words, on validation sentences",
            rows=(*_FLOORS, *_TABLE_1, "large RNN-CNN"),
            columns=("following loss",),
            remark="Losses are mean cross-entropies in nats per word, with unknown words. The unigram and "
            "bigram models do not read the sentence. Decoders that predict all words, or read sampled ones, "
            "compare with the first; teacher forcing, which reads the previous words, with the second.",
        ),
        "cost": Cost("Parameters, and time of training"),
        "curve": Curves(("SICKRelatedness pearson", "STS14 pearson")),
    },
    remarks=(
        "The small RNN-CNN on books is table 1's predict-all-words CNN.",
        "STS14 is the mean of its subsets, weighted by their sizes.",
    ),
    corpora=("reviews",),
    further=("SNLI",),
    ordered=True,
    claims=_CLAIMS,
    measure=_measured,
    curve=("SICKRelatedness", "STS14"),
)


def reproduce(
    *args: Any,
    nli: Mapping[str, Sequence[File]] | None = None,
    sampled_words: int | None = None,
    infersent: File | None = None,
    size: str | CommonSize = "cpu",
    **more: Any,
) -> Report:
    """Computes the paper's tables, see `Family.reproduce`.

    Args:
        *args: Arguments of `Family.reproduce`.
        nli: "train" and "test": files of labelled pairs as for `reproduce pooling`, in place of SNLI's, for
            the encoders of table 3. 1,000 pairs of the first training file are held out. There are one or two
            test files: SNLI's test set, and revised pairs.
        sampled_words: Words of a sampled softmax in training. None: the size's, which is the full softmax.
        infersent: A saved encoder for the row "InferSent": `reproduce pooling --rows infersent-nli` trains
            one, and writes it into the folder `encoders`.
        size: "cpu", "paper", or a size.
        **more: Arguments of `Family.reproduce`.

    Raises:
        ValueError: Training or test files are missing; or as `Family.reproduce`.
    """
    family, sized, further = FAMILY, FAMILY.sized(size), list[Task]()
    if sampled_words is not None:
        words = checked_int("sampled_words", sampled_words, 0)
        sized = replace(sized, training={**sized.training, "sampled_words": words})
    if infersent is not None:
        rows = {**ROWS, "InferSent": saved_row(infersent)}
        family = replace(FAMILY, rows=rows, facts={"infersent": file_identity(infersent)})
    if nli is not None:
        train, test = nli.get("train") or (), nli.get("test") or ()
        if not train or not 1 <= len(test) <= len(_NLI):
            raise ValueError("nli: give training files, and one or two test files")
        tests = dict(zip(_NLI, test, strict=False))
        further = labels_of_files(train, (), tests, held_out=_HELD_OUT).tasks()
    return family.reproduce(*args, **more, size=sized, further=further)
