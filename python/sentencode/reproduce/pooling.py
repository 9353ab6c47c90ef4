"""Tables 1 to 4 and figures 1 and 2 of paper 002 on generalized pooling, and students of a transformer."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..distill import teacher_key, teacher_named, teacher_rows
from ..evaluation import load_task
from ..linear import Average
from ..text.corpus import Corpus
from .claims import Claim, Claims
from .controls import average_of_first
from .evaluator import Adapted, speed_of
from .family import Family
from .heads import Epochs, Heads, head_distance, heat_maps, parameter_distance
from .labelled import Examples, Labels, labels_of_files, labels_of_task
from .report import Report
from .results_folder import Result, file_identity
from .rows import NotAvailableError, Row, untrained
from .rows import Size as CommonSize
from .score_tables import Cost, Scores

__all__ = ["FAMILY", "MU", "ROWS", "SIZES", "Size", "reproduce"]

File = str | os.PathLike[str]

MU = (1.0, 0.1, 0.01, 0.001, 0.0001)  # the paper's


@dataclass(frozen=True, kw_only=True)
class Size(CommonSize):
    """Sizes of the networks.

    Attributes:
        pairs: Units of each direction, and of the attention, for SNLI's pairs.
        single: Units of each direction, and of the attention, for other corpora.
        student: Units of each direction of a student.
        infersent: Units of each direction of InferSent.
    """

    pairs: int
    single: int
    student: int
    infersent: int


def _perceptron(hidden: int, dropout: float = 0.5) -> dict[str, Any]:
    return {"kind": "Classifier", "hidden": hidden, "dropout": dropout}


# The paper's settings for Yelp and Age, here for all single sentences.
_SINGLE = {"layers": 1, "clip_norm": 0.5, "trainable_words": True}
_REVIEWS = {**_SINGLE, "max_length": 200, "max_words": 200}
_PAPERS = {**_SINGLE, "batch_size": 32, "learning_rate": 1e-3, "head": _perceptron(300)}

SIZES = {
    "cpu": Size(
        pairs=100,
        single=100,
        student=192,
        infersent=100,
        training={
            "layers": 1,
            "character_filters": 33,
            "max_length": 40,
            "dropout": 0.1,  # with the paper's, few epochs on 17,000 pairs train next to nothing
            "head": _perceptron(100, dropout=0.1),
            "learning_rate": 1e-3,
            "batch_size": 32,
            "max_epochs": 8,
        },
        corpus_training={
            "ratings": {**_REVIEWS, "max_epochs": 4},
            "age": {**_SINGLE, "max_epochs": 4},
            "sst2": {**_SINGLE, "max_epochs": 3},
            "sst5": {**_SINGLE, "max_epochs": 4},
            "teacher": {"max_epochs": 4},
        },
        examples={"ratings": 25_000, "sst2": 20_000, "teacher": 60_000},
        word_dim=100,
    ),
    "paper": Size(
        pairs=600,
        single=300,
        student=600,
        infersent=2048,
        training={"max_length": 100},
        corpus_training={
            "multinli": {"batch_size": 32, "head": _perceptron(300)},
            "ratings": {**_PAPERS, "max_length": 400, "max_words": 400},
            "age": {**_PAPERS, "learning_rate": 2e-3},
            "sst2": _PAPERS,
            "sst5": _PAPERS,
        },
    ),
}

# Corpora: suffix of row names, and names of test sets.
_NAMES: dict[str, tuple[str, ...]] = {
    "nli": ("NLI", "SNLI"),
    "multinli": ("MultiNLI", "MultiNLI-in", "MultiNLI-cross"),
    "ratings": ("ratings", "Ratings"),
    "age": ("age", "Age"),
    "sst2": ("SST-2", "SST-2"),
    "sst5": ("SST-5", "SST-5"),
}
_CORPORA = {corpus: suffix for corpus, (suffix, *_) in _NAMES.items()}
_TESTS = {corpus: tuple(tests) for corpus, (_, *tests) in _NAMES.items()}
_TASKS = {"sst2": "SST2", "sst5": "SST5"}  # corpora from SentEval's files
_HELD_OUT = {"nli": 1000}
_HELD_OUT_DEFAULT = 2000
_COSINES = ("STSBenchmarkCosine", "SICKCosine")
_CLASSIFICATIONS = ("MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC", "SICKEntailment")
_CORRELATIONS = ("SICKRelatedness", "STSBenchmark", "STS14")
_TRANSFER = (*_CLASSIFICATIONS, *_CORRELATIONS)
_TRANSFER_COLUMNS = (
    *(f"{task} accuracy" for task in _CLASSIFICATIONS),
    *(f"{task} pearson" for task in _CORRELATIONS),
)

_POOLINGS = {
    "max pooling": {"pooling": "max"},
    "mean pooling": {"pooling": "mean"},
    "last pooling": {"pooling": "last"},
    "scalar attention": {"pooling": "scalar"},
}
_GENERALIZED = "generalized pooling"
_NONE = f"{_GENERALIZED}, no penalty"
_PENALTIES = {
    _GENERALIZED: "parameters",
    f"{_GENERALIZED}, penalty on attention matrices": "attention",
    f"{_GENERALIZED}, penalty on sentence embeddings": "embeddings",
    _NONE: "none",
}
_HEADS = (1, 3, 5, 7, 9)
_OTHER_HEADS: dict[str, dict[str, Any]] = {
    f"{name}, {heads} head{'s' * (heads > 1)}": {"pooling": pooling, "heads": heads}
    for name, pooling in ((_NONE, "generalized"), ("scalar attention", "scalar"))
    for heads in _HEADS
    if heads != 5
}


def _row(corpus: str, /, penalty: str = "none", **options: Any) -> Row:
    width = "pairs" if corpus == "nli" else "single"
    return Row(
        "GeneralizedPooling",
        {"penalty": penalty, **options},
        {"hidden": width, "attention_hidden": width},
        corpus=corpus,
        tasks=(),
        # The penalty on parameter matrices is never active, whatever its weight: their distance is larger.
        chosen=("mu",) if penalty in ("attention", "embeddings") else (),
    )


def _named(name: str, corpus: str) -> str:
    return f"{name}, {_CORPORA[corpus]}"


def _rows_of(corpus: str) -> dict[str, Row]:
    """The rows of tables 1 to 4."""
    rows = {_named(name, corpus): _row(corpus, **options) for name, options in _POOLINGS.items()}
    return rows | {
        _named(name, corpus): _row(corpus, penalty, pooling="generalized")
        for name, penalty in _PENALTIES.items()
    }


def _controls(corpus: str) -> dict[str, Row]:
    """Frozen encoders; a logistic regression is trained on their embeddings."""
    return {
        _named("average of words", corpus): Row(trained=False, make=Average, corpus=corpus, tasks=()),
        **{
            _named(f"untrained {kind} pooling", corpus): untrained(_row(corpus, pooling=kind))
            for kind in ("max", "generalized")
        },
    }


def _student(**options: Any) -> Row:
    return Row(
        "GeneralizedPooling",
        {"penalty": "none", "head": {"kind": "RowRegression", "distance": "cosine"}, **options},
        {"hidden": "student", "attention_hidden": "student"},
        corpus="teacher",
        tasks=_COSINES,
        texts=True,
    )


def _teacher(teacher: Any = None) -> Row:
    def make(_: Any) -> Any:
        if teacher is None:
            raise NotAvailableError("no teacher was given")
        return teacher

    return Row(trained=False, make=make, tasks=_COSINES, texts=True)


_BY_CORPUS = {corpus: _rows_of(corpus) for corpus in _CORPORA}
_SENTEVAL = tuple(_named(name, "nli") for name in ("max pooling", "scalar attention", _GENERALIZED))
# With the preset's values in place of those of the size and the corpus.
_INFERSENT_OPTIONS: dict[str, Any] = dict.fromkeys(
    (
        *("layers", "dropout", "characters", "trainable_words", "head"),
        *("learning_rate", "batch_size", "clip_norm"),
    )
)
_INFERSENT = {
    _named("InferSent", corpus): replace(
        _row(corpus, preset="infersent", pooling="max", **_INFERSENT_OPTIONS),
        sized={"hidden": "infersent"},
        tasks=_TRANSFER,
    )
    for corpus in ("nli", "sst2")
}
_FIGURE_1 = {_named(name, "nli"): _row("nli", **options) for name, options in _OTHER_HEADS.items()}
_STUDENTS = {
    "teacher": _teacher(),
    "max pooling, taught": _student(pooling="max"),
    "generalized pooling, taught": _student(pooling="generalized"),
    "average of words, not taught": Row(trained=False, make=Average, tasks=_COSINES, texts=True),
}
ROWS = {
    **{
        name: replace(row, tasks=_TRANSFER) if name in _SENTEVAL else row
        for rows in _BY_CORPUS.values()
        for name, row in rows.items()
    },
    **_FIGURE_1,
    **_INFERSENT,
    **{name: row for corpus in _CORPORA for name, row in _controls(corpus).items()},
    **{
        _named(f"average of the first {count} words", "ratings"): replace(
            average_of_first(count), corpus="ratings", tasks=()
        )
        for count in (100, 200)
    },
    "average of words": Row(trained=False, make=Average, tasks=_TRANSFER),
    **_STUDENTS,
}


def _scores(
    title: str,
    table: str,
    names: Sequence[str],
    corpora: Sequence[str],
    columns: Sequence[str],
    prefix: str = "BiLSTM ",
) -> Scores:
    """A table with a line for each name, and columns of corpora; `prefix` begins the paper's names."""
    named = {name: [_named(name, corpus) for corpus in corpora] for name in names}
    lines = {name: tuple(row for row in rows if row in ROWS) for name, rows in named.items()}
    ours = [f"{test} accuracy" for corpus in corpora for test in _TESTS[corpus]]
    printed = {name: f"{prefix}{name}" for name in names}
    if table == "1":
        printed["InferSent"] = "4096D BiLSTM max pooling (Conneau et al., 2017)"
    if table == "4":
        printed[_GENERALIZED] += ", penalty on parameter matrices"
    return Scores(
        title,
        table,
        rows=tuple(row for rows in lines.values() for row in rows),
        columns=tuple(dict.fromkeys((*columns, *ours))),
        lines=lines,
        printed=printed,
    )


_SINGLES = ("ratings", "age", "sst2", "sst5")
_COMPARED = (*_POOLINGS, _GENERALIZED)
_WITH_CONTROLS = (
    *("average of words", "average of the first 100 words", "average of the first 200 words"),
    *("untrained max pooling", "untrained generalized pooling", "InferSent", *_COMPARED),
)


def _claims(corpus: str) -> list[Claim]:
    rows = {name: _named(name, corpus) for name in (*_POOLINGS, *_PENALTIES)}
    tests, title = _TESTS[corpus], _CORPORA[corpus]
    better, helps = f"generalized pooling is better, {title}", f"penalties help, {title}"
    return [
        *(Claim(better, rows[_GENERALIZED], rows[other], tests, within=None) for other in _POOLINGS),
        *(
            Claim(helps, rows[name], rows[_NONE], tests, within=None)
            for name in _PENALTIES
            # On SNLI only one penalty helps in the paper, too.
            if name != _NONE and (corpus != "nli" or name == _GENERALIZED)
        ),
    ]


def _better(name: str, row: str, other: str) -> Claim:
    return Claim(name, _named(row, "nli"), _named(other, "nli"), _TESTS["nli"], within=None)


_CLAIMS = (
    *(claim for corpus in _CORPORA for claim in _claims(corpus)),
    *(
        _better("several heads are better than one", five, f"{five}, 1 head")
        for five in (_NONE, "scalar attention")
    ),
    *(
        _better("vectors are better weights than scalars", f"{_NONE}{heads}", f"scalar attention{heads}")
        for heads in (", 1 head", "")  # the others are in figure 1
    ),
)
_CLAIMED = tuple(dict.fromkeys(row for claim in _CLAIMS for row in (claim.row, claim.other)))


def _figure_1(pooling: str) -> dict[int, str]:
    """Number of heads -> row."""
    return {
        heads: _named(pooling if heads == 5 else f"{pooling}, {heads} head{'s' * (heads > 1)}", "nli")
        for heads in _HEADS
    }


FIGURE_1 = Epochs(
    "Figure 1: accuracy on the development set after each epoch",
    {"vectors": _figure_1(_NONE), "scalars": _figure_1("scalar attention")},
)
FIGURE_2 = Heads(
    "Figure 2: distances between heads",
    tuple(_named(name, corpus) for corpus in ("nli", "ratings") for name in _PENALTIES),
)


def _measured(bench: Any, encoder: Any, result: Result) -> Result:
    """The distances between the heads of a network; the speed of a student."""
    row = ROWS[result["row"]]
    labels, pooling = bench.labels(row), row.options.get("pooling")
    if labels is not None and labels.tests and row.trained and pooling in ("generalized", "scalar"):
        if pooling == "generalized":
            result["parameter_distance"] = parameter_distance(encoder)
        return {"head distance": {"value": head_distance(encoder, labels)}}
    if row.texts and (taught := bench.corpora.get("teacher")) is not None:
        speed = speed_of(encoder, taught.valid.sentences)
        return {"sentences/s speed": {"value": speed["median"], "low": speed["low"], "high": speed["high"]}}
    return {}


FAMILY = Family(
    name="pooling",
    rows=ROWS,
    sizes=SIZES,
    tasks=(*_TRANSFER, *_COSINES),
    columns=(
        *(f"{test} accuracy" for tests in _TESTS.values() for test in tests),
        *_TRANSFER_COLUMNS,
        *(f"{task} pearson" for task in _COSINES),
        *("head distance", "sentences/s speed"),
    ),
    names={
        "Ratings accuracy": "ratings",
        "SICKRelatedness pearson": "SICK-R, learnt",
        "STSBenchmark pearson": "STSB, learnt",
        "SICKEntailment accuracy": "SICK-E",
        "STS14 pearson": "STS14 r, cosine",
        "STSBenchmarkCosine pearson": "STSB, cosine",
        "SICKCosine pearson": "SICK, cosine",
        "head distance": "head distance",
        "sentences/s speed": "sentences/s",
    },
    tables={
        "1": _scores("Table 1: inference, SNLI", "1", _WITH_CONTROLS, ("nli",), (), "1200D BiLSTM "),
        "2": _scores("Table 2: inference, MultiNLI", "2", _WITH_CONTROLS, ("multinli",), ()),
        "3": _scores(
            "Table 3: single sentences", "3", _WITH_CONTROLS, _SINGLES, ("Yelp accuracy", "Age accuracy")
        ),
        "4": _scores(
            "Table 4: penalties",
            "4",
            tuple(_PENALTIES),
            tuple(_CORPORA),
            (
                *("SNLI accuracy", "MultiNLI-in accuracy", "MultiNLI-cross accuracy"),
                *("Yelp accuracy", "Ratings accuracy", "Age accuracy"),
            ),
        ),
        "fig1": FIGURE_1,
        "fig2": FIGURE_2,
        "findings": Claims("The paper's findings, and whether they hold here", _CLAIMED),
        "senteval": Scores(
            "SentEval: frozen encoders",
            rows=("average of words", *_SENTEVAL, *_INFERSENT),
            columns=_TRANSFER_COLUMNS,
            remark="InferSent is max pooling without characters, with a linear classifier, trained by SGD.",
        ),
        "students": Scores(
            "Students of a transformer",
            rows=tuple(_STUDENTS),
            columns=(*(f"{task} pearson" for task in _COSINES), "sentences/s speed"),
        ),
        "cost": Cost("Parameters, and time of training", remark=", including the classifier"),
    },
    remarks=(
        "Generalized pooling has the penalty on parameter matrices unless the name says otherwise.",
        "Averages of words and the untrained network are frozen; a logistic regression is trained on them.",
        "Scalar attention has the hidden layer of eq. 4 and 5, a ReLU with a bias; that of Lin et al. (2017) "
        "is a tanh without a bias.",
    ),
    options={"mu": 0.01, "margin": 1.0},
    labelled=(*_CORPORA, "teacher"),
    measure=_measured,
    claims=_CLAIMS,
)


def reproduce(
    data: File,
    vectors: Any,
    labels: Mapping[str, Mapping[str, Sequence[File]]],
    *,
    out: File,
    teacher: str | None = None,
    sentences: Sequence[File] = (),
    mu_grid: Sequence[float] = (),
    size: str | CommonSize = "cpu",
    epochs: int | None = None,
    sentence: str = "",
    partial: bool = False,
    show_progress_bar: bool = False,
    **more: Any,
) -> Report:
    """Computes the paper's tables and figures, see `Family.reproduce`.

    Every row is trained with a classifier on labelled examples, and evaluated by its accuracy.

    Args:
        data: SentEval's `data` folder, whose SST-2 and SST-5 are training corpora, too.
        vectors: Word vectors, or their file.
        labels: Corpus, "nli", "multinli", "ratings" or "age" -> "train", "valid" and "test": files for
            `read_labelled`, or `FOLDER:SPLIT` of a folder with SentEval's files. Without "valid", 1,000 pairs
            of "nli" or 2,000 examples of others are held out of the first training file; pairs with the same
            premise stay together. "multinli" has two test files, matched and mismatched. Validation and test
            examples are removed from the training examples.
        out: Folder for the results, with the figures if matplotlib is installed.
        teacher: Name of a sentence-transformers model, or file of a saved encoder, for the students.
        sentences: Files of training sentences of the students. The teacher's embeddings of them are stored
            in Sentencode's cache.
        mu_grid: Weights of the penalties to choose from by validation, with the first seed. None: `mu`.
        size: "cpu", "paper", or a size.
        epochs: Epochs of each training. None: the size's.
        sentence: Sentence of figure 2. "": the paper's.
        partial: Accept files whose size is not the published one.
        show_progress_bar: Show progress bars.
        **more: Arguments of `Family.reproduce`.

    Raises:
        ValueError: A corpus lacks files; or as `Family.reproduce`.
    """
    family, chosen = FAMILY, FAMILY.sized(size)
    chosen = chosen.with_epochs(epochs)
    read = {name: _labels(name, files, chosen) for name, files in labels.items()}
    for name, task in _TASKS.items():
        try:
            labelled_task = load_task(task, data, partial=partial)
        except FileNotFoundError:
            continue
        read[name] = labels_of_task(labelled_task, _TESTS[name][0], most=chosen.examples.get(name))
    if (teacher is None) != (not sentences):
        raise ValueError("a teacher requires sentences, and sentences a teacher: give both, or neither")
    if teacher is not None:
        model = teacher_named(teacher)
        read["teacher"] = _taught(teacher, model, sentences, chosen, show=show_progress_bar)
        key = teacher_key(model, list(read["teacher"].train.sentences))
        family = replace(FAMILY, rows={**ROWS, "teacher": _teacher(Adapted(model.encode, key))})
    report = family.reproduce(
        data,
        vectors,
        out=out,
        size=chosen,
        labels=read,
        values={"mu": tuple(mu_grid)} if mu_grid else None,
        partial=partial,
        show_progress_bar=show_progress_bar,
        **more,
    )
    if importlib.util.find_spec("matplotlib") is not None:
        for corpus in ("nli", "ratings"):
            rows = [_named(f"{_GENERALIZED}, penalty on attention matrices", corpus), _named(_NONE, corpus)]
            heat_maps(report, out, f"fig2-{corpus}", rows, sentence)
    return report


def _labels(name: str, files: Mapping[str, Sequence[File]], size: CommonSize) -> Labels:
    if name not in _CORPORA or name in _TASKS:
        known = [corpus for corpus in _CORPORA if corpus not in _TASKS]
        raise ValueError(f"labels: no corpus is named {name!r}; there are {', '.join(known)}")
    tests = _TESTS[name]
    if not files.get("train") or len(files.get("test") or ()) != len(tests):
        raise ValueError(f"{name}: give training files, and a test file for {' and '.join(tests)}")
    return labels_of_files(
        files["train"],
        files.get("valid") or (),
        dict(zip(tests, files["test"], strict=True)),
        held_out=_HELD_OUT.get(name, _HELD_OUT_DEFAULT),
        most=size.examples.get(name),
    )


def _taught(name: str, model: Any, sentences: Sequence[File], size: CommonSize, *, show: bool) -> Labels:
    """Sentences with the teacher's embeddings as labels."""
    texts = list(dict.fromkeys(text for text in Corpus.from_files(sentences) if text.strip()))
    most = size.examples.get("teacher", len(texts)) + _HELD_OUT_DEFAULT
    texts = texts[:: -(-len(texts) // most)]
    validation_count = min(_HELD_OUT_DEFAULT, len(texts) // 10)
    embeddings = teacher_rows(model, texts, progress=show)
    facts = {"teacher": name, "files": [file_identity(file) for file in sentences], "seed": 0}
    facts |= {
        "also_tested": 0,
        "also_validated": 0,
        "train": len(texts) - validation_count,
        "valid": validation_count,
    }
    step = len(texts) // validation_count  # spread over the files
    valid = set(range(0, step * validation_count, step))
    parts = [[i for i in range(len(texts)) if (i in valid) is validating] for validating in (False, True)]
    train, dev = (Examples([texts[i] for i in part], embeddings[part]) for part in parts)
    return Labels(train, dev, {}, facts)
