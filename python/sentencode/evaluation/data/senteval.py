"""SentEval's tasks, read from the folders that its download script fills.

The table at the end says all about a task: its kind, its files, its labels, its published size.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol

from ...files import as_path
from .files import Classes, Scores, Table, check_size, splits_of
from .images import read_images
from .layouts import FilePerClass, Layout, Parallel, Partitioned, Tables
from .task import Feature, Kind, Split, Task

__all__ = ["load_task", "task_kind", "task_names"]


def task_names() -> list[str]:
    """The tasks that `load_task` can read.

    Returns:
        Their names, as SentEval has them; `"SICKCosine"` and `"STSBenchmarkCosine"` are the files of
        SICKRelatedness and STSBenchmark, scored by cosine alone.

    Example:
        >>> from sentencode.evaluation import task_names
        >>> "STSBenchmark" in task_names()
        True
    """
    return list(_TASKS)


def task_kind(name: str) -> Kind:
    """What a task asks, known without its files.

    Args:
        name: One of `task_names`.

    Returns:
        Its kind.

    Raises:
        ValueError: There is no such task.

    Example:
        >>> from sentencode.evaluation import task_kind
        >>> task_kind("TREC").question, task_kind("TREC").validation
        ('classification', 'folds')
    """
    return _source(name).kind


def load_task(
    name: str,
    data: str | os.PathLike[str],
    *,
    partial: bool = False,
    splits: Iterable[str] | None = None,
) -> Task:
    r"""Reads a task.

    Lines end at line feeds only. Files are read in the encoding in which SentEval reads them: MR, CR, SUBJ,
    MPQA, TREC and SNLI in latin-1, so that UTF-8 in them comes out as two or more wrong letters, just as it
    did when results were published. Empty sentences (CR has four) stay.

    Args:
        name: One of `task_names`.
        data: SentEval's `data` folder, or `downstream` or `probing` in it.
        partial: Accept files with fewer or more examples than were published, or without an end of the last
            line. Left False, a file that was cut short while it was downloaded cannot pass for the benchmark.
        splits: Which splits to read, where not all are wanted or there.

    Returns:
        The task.

    Raises:
        ValueError: There is no such task, or it has no such split.
        FileNotFoundError: Files of the task are missing; all of them are named.
        FormatError: A file is not what it should be; the message names file and line.

    Example:
        >>> import pathlib, tempfile
        >>> from sentencode.evaluation import load_task
        >>> with tempfile.TemporaryDirectory() as data:
        ...     folder = pathlib.Path(data, "downstream", "STS", "STSBenchmark")
        ...     folder.mkdir(parents=True)
        ...     for split in "train", "dev", "test":
        ...         line = "news\tdeft\t2014\t0001\t4.5\ta cat sleeps .\tthe cat is asleep .\n"
        ...         _ = (folder / f"sts-{split}.csv").write_text(line)
        ...     task = load_task("STSBenchmark", data, partial=True)
        >>> task
        Task('STSBenchmark', train 1, dev 1, test 1)
        >>> task["dev"].pairs, task["dev"].labels
        ([('a cat sleeps .', 'the cat is asleep .')], array([4.5]))
    """
    source = _source(name)
    folder = _room(as_path(data), source.room)
    wanted = _wanted(name, source, splits)
    _check_files(source, folder, wanted)
    found, classes = source.read(folder, wanted, whole=not partial)
    return Task(name, {split: found[split] for split in wanted}, source.kind, classes, partial)


def _source(name: str) -> _Source:
    if name not in _TASKS:
        raise ValueError(f"no task is named {name!r}; there are {', '.join(task_names())}")
    return _TASKS[name]


def _room(data: Path, room: str) -> Path:
    if any((data / name).is_dir() for name in _ROOMS):
        return data / room
    return data.parent / room if data.name in _ROOMS else data


def _wanted(name: str, source: _Source, splits: Iterable[str] | None) -> list[str]:
    if splits is None:
        return list(source.files)
    asked = [splits] if isinstance(splits, str) else list(splits)
    unknown = [split for split in asked if split not in source.files]
    if unknown or not asked:
        raise ValueError(f"splits must be some of {', '.join(source.files)} for {name}, got {asked}")
    return [split for split in source.files if split in asked]


def _check_files(source: _Source, folder: Path, wanted: list[str]) -> None:
    there = {split: all((folder / p).is_file() for p in source.files[split]) for split in wanted}
    if all(there.values()):
        return
    paths = dict.fromkeys(folder / path for split in wanted for path in source.files[split])
    missing = [str(path) for path in paths if not path.is_file()]
    message = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing: {source.advice}"
    rest = [split for split in wanted if there[split]]
    if rest:
        message += f"; splits={rest} reads what is there"
    raise FileNotFoundError(message)


_ROOMS = ("downstream", "probing")
_ADVICE = "give SentEval's data folder, as its download script fills it"


class _Source(Protocol):
    """Where a task comes from."""

    @property
    def kind(self) -> Kind: ...
    @property
    def room(self) -> str: ...
    @property
    def advice(self) -> str: ...
    @property
    def files(self) -> Mapping[str, tuple[str, ...]]: ...

    def read(
        self, folder: Path, wanted: list[str], *, whole: bool
    ) -> tuple[Mapping[str, Split], tuple[str, ...]]: ...


@dataclass(frozen=True)
class _Text:
    """A task that lies in text files."""

    kind: Kind
    labels: Scores | Classes
    layout: Layout
    sizes: Mapping[str, int | range] = field(default_factory=dict)  # split -> examples that were published
    room: Literal["downstream", "probing"] = "downstream"
    advice: str = _ADVICE

    @property
    def files(self) -> Mapping[str, tuple[str, ...]]:
        return self.layout.files

    def read(
        self, folder: Path, wanted: list[str], *, whole: bool
    ) -> tuple[Mapping[str, Split], tuple[str, ...]]:
        # Where the table below does not name the classes, the first split does.
        unnamed = isinstance(self.labels, Classes) and not self.labels.known
        first = list(self.files)[:1] if unnamed else []
        examples = self.layout.examples(folder, list(dict.fromkeys(first + wanted)), whole=whole)
        for split, some in examples.items():
            paths = [folder / path for path in self.files[split]]
            check_size(paths, len(some), self.sizes.get(split) if whole else None)
        return splits_of(examples, self.labels)


@dataclass(frozen=True)
class _Images:
    """Captions and features of images, in NumPy archives."""

    kind: Kind
    paths: Mapping[str, tuple[str, int]]  # split -> path, published number of images
    room: str = "downstream"
    advice: str = "convert_coco_pickles makes it of SentEval's file"

    @property
    def files(self) -> Mapping[str, tuple[str, ...]]:
        return {split: (path,) for split, (path, _) in self.paths.items()}

    def read(
        self, folder: Path, wanted: list[str], *, whole: bool
    ) -> tuple[Mapping[str, Split], tuple[str, ...]]:
        splits = {}
        for split in wanted:
            path, images = self.paths[split]
            splits[split] = read_images(folder / path, images if whole else None)
        return splits, ()


# --- the table

_PAIR: tuple[Feature, ...] = ("|u-v|", "u*v")
_NESTED = Kind("classification", "nested", features=("u",))
_FOLDS = Kind("classification", "folds", features=("u",))
_DEV = Kind("classification", "dev", features=("u",))
_PARAPHRASE = Kind("classification", "folds", pairs=True, features=_PAIR, f1=True)
_ENTAILMENT = Kind("classification", "dev", pairs=True, features=_PAIR)
_INFERENCE = Kind(
    "classification",
    "dev",
    pairs=True,
    features=("u", "v", "u*v", "|u-v|"),
    penalised=False,
    settings=(("max_epoch", 15), ("epoch_size", 1)),  # there is much of it
    second_first=True,
)
_THOUSAND_CLASSES = replace(_DEV, settings=(("nhid", 0),))
_RELATEDNESS = Kind("relatedness", "dev", pairs=True, features=_PAIR)
_COSINE = Kind("similarity", pairs=True)
_COSINE_OF_SUBSETS = Kind("similarity", pairs=True, subsets=True)
_RETRIEVAL = Kind("retrieval", "dev")


def _polarity(ones: str, zeros: str, size: int, names: tuple[str, str] = ("neg", "pos")) -> _Text:
    zero, one = names
    # The examples of class 1 come first: by_length keeps this order where all else is equal.
    return _Text(_NESTED, Classes(names), FilePerClass({one: ones, zero: zeros}), {"all": size})


def _sick(kind: Kind, label: str, labels: Scores | Classes) -> _Text:
    table = Table(
        columns=("pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment"),
        label=label,
        sentences=("sentence_A", "sentence_B"),
        header=True,
    )
    files = Tables(
        table, "SICK/SICK_train.txt", dev="SICK/SICK_trial.txt", test="SICK/SICK_test_annotated.txt"
    )
    return _Text(kind, labels, files, {"train": 4500, "dev": 500, "test": 4927})


def _sts_benchmark(kind: Kind) -> _Text:
    table = Table(
        columns=("genre", "file", "year", "number", "score", "sentence_1", "sentence_2"),
        label="score",
        sentences=("sentence_1", "sentence_2"),
        more=7,  # notes at the end of some lines
    )
    train, dev, test = (f"STS/STSBenchmark/sts-{split}.csv" for split in ("train", "dev", "test"))
    sizes = {"train": 5749, "dev": 1500, "test": 1379}
    return _Text(kind, Scores(0, 5), Tables(table, train, dev=dev, test=test), sizes)


def _sts(year: int, sizes: Mapping[str, int]) -> _Text:
    """One of STS12 to STS16; sizes are numbers of pairs that have a score."""
    folder = f"STS/STS{year}-en-test"
    files = {name: (f"{folder}/STS.gs.{name}.txt", f"{folder}/STS.input.{name}.txt") for name in sizes}
    table = Table(columns=("sentence_1", "sentence_2"))
    return _Text(_COSINE_OF_SUBSETS, Scores(0, 5), Parallel(files, table, unscored=True), sizes)


def _sst(folder: str, table: Table, classes: str, train: int, dev: int, test: int) -> _Text:
    paths = {split: f"SST/{folder}/sentiment-{split}" for split in ("train", "dev", "test")}
    sizes = {"train": train, "dev": dev, "test": test}
    return _Text(_DEV, Classes(tuple(classes)), Tables(table, **paths), sizes)


def _probing(file: str, *classes: str, kind: Kind = _DEV) -> _Text:
    """A probing task; its paper says 100,000 and twice 10,000 examples, give or take a few."""
    sizes = {"train": range(99_000, 101_001), "dev": range(9_900, 10_101), "test": range(9_900, 10_101)}
    return _Text(kind, Classes(classes), Partitioned(file), sizes, room="probing")


_TASKS: dict[str, _Source] = {
    "MR": _polarity("MR/rt-polarity.pos", "MR/rt-polarity.neg", 10662),
    "CR": _polarity("CR/custrev.pos", "CR/custrev.neg", 3775),
    "SUBJ": _polarity("SUBJ/subj.objective", "SUBJ/subj.subjective", 10000, ("subjective", "objective")),
    "MPQA": _polarity("MPQA/mpqa.pos", "MPQA/mpqa.neg", 10606),
    "SST2": _sst("binary", Table(columns=("sentence", "label")), "01", 67349, 872, 1821),
    "SST5": _sst("fine", Table(columns=("label", "sentence"), cut=(" ",)), "01234", 8544, 1101, 2210),
    "TREC": _Text(
        _FOLDS,
        Classes(("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")),
        Tables(
            Table(columns=("label", "subclass", "sentence"), cut=(":", " "), encoding="latin-1"),
            train="TREC/train_5500.label",
            test="TREC/TREC_10.label",
        ),
        {"train": 5452, "test": 500},
    ),
    "MRPC": _Text(
        _PARAPHRASE,
        Classes(("0", "1")),
        Tables(
            Table(
                columns=("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"),
                label="Quality",
                sentences=("#1 String", "#2 String"),
                header=True,
            ),
            train="MRPC/msr_paraphrase_train.txt",
            test="MRPC/msr_paraphrase_test.txt",
        ),
        {"train": 4076, "test": 1725},
    ),
    "SICKEntailment": _sick(
        _ENTAILMENT, "entailment_judgment", Classes(("CONTRADICTION", "NEUTRAL", "ENTAILMENT"))
    ),
    "SNLI": _Text(
        _INFERENCE,
        Classes(("entailment", "neutral", "contradiction")),
        Parallel(
            {
                split: (f"SNLI/labels.{split}", f"SNLI/s1.{split}", f"SNLI/s2.{split}")
                for split in ("train", "dev", "test")
            },
            Table(cut=(), encoding="latin-1"),
        ),
        {"train": 549367, "dev": 9842, "test": 9824},
    ),
    "SICKRelatedness": _sick(_RELATEDNESS, "relatedness_score", Scores(1, 5)),
    "STSBenchmark": _sts_benchmark(_RELATEDNESS),
    "SICKCosine": _sick(_COSINE, "relatedness_score", Scores(1, 5)),
    "STSBenchmarkCosine": _sts_benchmark(_COSINE),
    "STS12": _sts(
        12,
        {"MSRpar": 750, "MSRvid": 750, "SMTeuroparl": 459, "surprise.OnWN": 750, "surprise.SMTnews": 399},
    ),
    "STS13": _sts(13, {"FNWN": 189, "headlines": 750, "OnWN": 561}),  # SMT needs a licence
    "STS14": _sts(
        14,
        {
            "deft-forum": 450,
            "deft-news": 300,
            "headlines": 750,
            "images": 750,
            "OnWN": 750,
            "tweet-news": 750,
        },
    ),
    "STS15": _sts(
        15,
        {"answers-forums": 375, "answers-students": 750, "belief": 375, "headlines": 750, "images": 750},
    ),
    "STS16": _sts(
        16,
        {
            "answer-answer": 254,
            "headlines": 249,
            "plagiarism": 230,
            "postediting": 244,
            "question-question": 209,
        },
    ),
    "ImageCaptionRetrieval": _Images(
        _RETRIEVAL,
        {
            "train": ("COCO/train.npz", 113287),
            "dev": ("COCO/valid.npz", 5000),
            "test": ("COCO/test.npz", 5000),
        },
    ),
    "Length": _probing("sentence_length.txt", *"012345"),
    "WordContent": _probing("word_content.txt", kind=_THOUSAND_CLASSES),
    "Depth": _probing("tree_depth.txt"),
    "TopConstituents": _probing("top_constituents.txt"),
    "BigramShift": _probing("bigram_shift.txt", "I", "O"),
    "Tense": _probing("past_present.txt", "PAST", "PRES"),
    "SubjNumber": _probing("subj_number.txt", "NN", "NNS"),
    "ObjNumber": _probing("obj_number.txt", "NN", "NNS"),
    "OddManOut": _probing("odd_man_out.txt", "C", "O"),
    "CoordinationInversion": _probing("coordination_inversion.txt", "I", "O"),
}
