"""SentEval's tasks, read from the folders of its download script, and those of `corpora`.

The table at the end has the kind, files, labels and published size of each task.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol

from ...errors import FormatError
from ...files import as_path
from .corpora import CORPORA
from .files import Classes, OneClass, Scores, Table, check_size, splits_of
from .images import read_images
from .layouts import FilePerClass, Layout, Parallel, Partitioned, Tables
from .task import Feature, Kind, Split, Task

__all__ = ["load_task", "task_kind", "task_names"]


def task_names() -> list[str]:
    """Names of the tasks that `load_task` reads.

    Returns:
        SentEval's names; `"SICKCosine"` and `"STSBenchmarkCosine"` are SICKRelatedness and STSBenchmark
        scored by the cosine, without training. `"MRPCPairs"`, `"SICKPairs"` and `"SNLIPairs"` find the
        pairs of the class paraphrase or entailment by the cosine. The guide lists the tasks that are not
        SentEval's.

    Example:
        >>> from sentencode.evaluation import task_names
        >>> "STSBenchmark" in task_names()
        True
    """
    return list(_TASKS)


def task_kind(name: str) -> Kind:
    """Kind of a task, without reading its files.

    Args:
        name: One of `task_names`.

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
    r"""Read a task.

    Lines end at line feeds only. Encodings are SentEval's: latin-1 for MR, CR, SUBJ, MPQA, TREC and SNLI, so
    that non-ASCII UTF-8 characters become two or more wrong ones, as in published results. Empty sentences
    (CR has four) are kept.

    Args:
        name: One of `task_names`.
        data: SentEval's `data` folder, or `downstream` or `probing` in it; or a folder that has SentEval's as
            `senteval`, and the files of the other tasks.
        partial: Accept files with fewer or more examples than were published, or without an end of the last
            line. If False, a truncated download is refused.
        splits: Splits to read. None: all.

    Raises:
        ValueError: There is no such task, or it has no such split.
        FileNotFoundError: Files of the task are missing; the message lists them.
        FormatError: A file has an invalid format; the message has file and line.

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
    folder = _folder(as_path(data), source.folder)
    names = _split_names(name, source, splits)
    _check_files(source, folder, names)
    read = None
    if partial:
        with suppress(FormatError):  # files that are whole are not partial
            read, partial = source.read(folder, names, whole=True), False
    contents, classes = read or source.read(folder, names, whole=not partial)
    return Task(name, {split: contents[split] for split in names}, source.kind, classes, partial)


def _source(name: str) -> _Source:
    if name not in _TASKS:
        raise ValueError(f"no task is named {name!r}; there are {', '.join(task_names())}")
    return _TASKS[name]


def _folder(data: Path, name: str) -> Path:
    if not name:  # not SentEval's
        return data
    data = data / "senteval" if (data / "senteval").is_dir() else data
    if any((data / folder).is_dir() for folder in _FOLDERS):
        return data / name
    return data.parent / name if data.name in _FOLDERS else data


def _split_names(name: str, source: _Source, splits: Iterable[str] | None) -> list[str]:
    if splits is None:
        return list(source.files)
    requested = [splits] if isinstance(splits, str) else list(splits)
    unknown = [split for split in requested if split not in source.files]
    if unknown or not requested:
        raise ValueError(f"splits must be some of {', '.join(source.files)} for {name}, got {requested}")
    return [split for split in source.files if split in requested]


def _check_files(source: _Source, folder: Path, names: list[str]) -> None:
    complete = [split for split in names if all((folder / p).is_file() for p in source.files[split])]
    if complete == names:
        return
    paths = dict.fromkeys(folder / path for split in names for path in source.files[split])
    missing = [str(path) for path in paths if not path.is_file()]
    message = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing: {source.advice}"
    if complete:
        message += f"; splits={complete} reads the others"
    raise FileNotFoundError(message)


_FOLDERS = ("downstream", "probing")
_ADVICE = "give SentEval's data folder, as its download script fills it"


class _Source(Protocol):
    """Files of a task, and how to read them."""

    @property
    def kind(self) -> Kind: ...
    @property
    def folder(self) -> str: ...
    @property
    def advice(self) -> str: ...
    @property
    def files(self) -> Mapping[str, tuple[str, ...]]: ...

    def read(
        self, folder: Path, names: list[str], *, whole: bool
    ) -> tuple[Mapping[str, Split], tuple[str, ...]]: ...


@dataclass(frozen=True)
class _Text:
    """A task in text files."""

    kind: Kind
    labels: Scores | Classes | OneClass
    layout: Layout
    sizes: Mapping[str, int | range] = field(default_factory=dict)  # published examples by split
    folder: Literal["downstream", "probing"] = "downstream"
    advice: str = _ADVICE

    @property
    def files(self) -> Mapping[str, tuple[str, ...]]:
        return self.layout.files

    def read(
        self, folder: Path, names: list[str], *, whole: bool
    ) -> tuple[Mapping[str, Split], tuple[str, ...]]:
        # Without known classes, the first split determines them.
        unnamed = isinstance(self.labels, Classes) and not self.labels.known
        first = list(self.files)[:1] if unnamed else []
        examples = self.layout.examples(folder, list(dict.fromkeys(first + names)), whole=whole)
        for split, some in examples.items():
            paths = [folder / path for path in self.files[split]]
            check_size(paths, len(some), self.sizes.get(split) if whole else None)
        return splits_of(examples, self.labels)


@dataclass(frozen=True)
class _Images:
    """Captions and features of images, in NumPy archives."""

    kind: Kind
    paths: Mapping[str, tuple[str, int]]  # path and published number of images by split
    folder: str = "downstream"
    advice: str = "convert_coco_pickles makes it from SentEval's file"

    @property
    def files(self) -> Mapping[str, tuple[str, ...]]:
        return {split: (path,) for split, (path, _) in self.paths.items()}

    def read(
        self, folder: Path, names: list[str], *, whole: bool
    ) -> tuple[Mapping[str, Split], tuple[str, ...]]:
        splits = {}
        for split in names:
            path, images = self.paths[split]
            splits[split] = read_images(folder / path, images if whole else None)
        return splits, ()


# --- the table

_kind = functools.partial(Kind, tokenized=True)
_PAIR: tuple[Feature, ...] = ("|u-v|", "u*v")
_NESTED = _kind("classification", "nested", features=("u",))
_FOLDS = _kind("classification", "folds", features=("u",))
_DEV = _kind("classification", "dev", features=("u",))
_PARAPHRASE = _kind("classification", "folds", pairs=True, features=_PAIR, f1=True)
_ENTAILMENT = _kind("classification", "dev", pairs=True, features=_PAIR)
_INFERENCE = _kind(
    "classification",
    "dev",
    pairs=True,
    features=("u", "v", "u*v", "|u-v|"),
    penalised=False,
    settings=(("max_epoch", 15), ("epoch_size", 1)),
    second_first=True,
)
_THOUSAND_CLASSES = replace(_DEV, settings=(("nhid", 0),))
_RELATEDNESS = _kind("relatedness", "dev", pairs=True, features=_PAIR)
_COSINE = _kind("similarity", pairs=True)
_COSINE_OF_SUBSETS = _kind("similarity", pairs=True, subsets=True)
_DUPLICATES = _kind("duplicates", pairs=True)
_RETRIEVAL = _kind("retrieval", "dev")
_RELATIONS = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")  # of SICK
_INFERENCES = ("entailment", "neutral", "contradiction")  # of SNLI


def _polarity(ones: str, zeros: str, size: int, names: tuple[str, str] = ("neg", "pos")) -> _Text:
    zero, one = names
    # Examples of class 1 come first; by_length keeps this order in ties.
    return _Text(_NESTED, Classes(names), FilePerClass({one: ones, zero: zeros}), {"all": size})


def _mrpc(kind: Kind, train: str | None, labels: Classes | OneClass) -> _Text:
    table = Table(
        columns=("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"),
        label="Quality",
        sentences=("#1 String", "#2 String"),
        header=True,
    )
    files = Tables(table, train, test="MRPC/msr_paraphrase_test.txt")
    return _Text(kind, labels, files, {"train": 4076, "test": 1725})


def _snli(kind: Kind, labels: Classes | OneClass, *splits: str) -> _Text:
    files = {split: (f"SNLI/labels.{split}", f"SNLI/s1.{split}", f"SNLI/s2.{split}") for split in splits}
    layout = Parallel(files, Table(separators=(), encoding="latin-1"))
    return _Text(kind, labels, layout, {"train": 549367, "dev": 9842, "test": 9824})


def _sick(kind: Kind, label: str, labels: Scores | Classes | OneClass) -> _Text:
    table = Table(
        columns=("pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment"),
        label=label,
        sentences=("sentence_A", "sentence_B"),
        header=True,
    )
    trained = kind.question != "duplicates"
    files = Tables(
        table,
        train="SICK/SICK_train.txt" if trained else None,
        dev="SICK/SICK_trial.txt" if trained else None,
        test="SICK/SICK_test_annotated.txt",
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
    """One of STS12 to STS16; sizes are numbers of pairs with a score."""
    folder = f"STS/STS{year}-en-test"
    files = {name: (f"{folder}/STS.gs.{name}.txt", f"{folder}/STS.input.{name}.txt") for name in sizes}
    table = Table(columns=("sentence_1", "sentence_2"))
    return _Text(_COSINE_OF_SUBSETS, Scores(0, 5), Parallel(files, table, unscored=True), sizes)


def _sst(folder: str, table: Table, classes: str, train: int, dev: int, test: int) -> _Text:
    paths = {split: f"SST/{folder}/sentiment-{split}" for split in ("train", "dev", "test")}
    sizes = {"train": train, "dev": dev, "test": test}
    return _Text(_DEV, Classes(tuple(classes)), Tables(table, **paths), sizes)


def _probing(file: str, *classes: str, kind: Kind = _DEV) -> _Text:
    """A probing task; its paper has about 100,000 and twice 10,000 examples."""
    sizes = {"train": range(99_000, 101_001), "dev": range(9_900, 10_101), "test": range(9_900, 10_101)}
    return _Text(kind, Classes(classes), Partitioned(file), sizes, folder="probing")


_TASKS: dict[str, _Source] = {
    "MR": _polarity("MR/rt-polarity.pos", "MR/rt-polarity.neg", 10662),
    "CR": _polarity("CR/custrev.pos", "CR/custrev.neg", 3775),
    "SUBJ": _polarity("SUBJ/subj.objective", "SUBJ/subj.subjective", 10000, ("subjective", "objective")),
    "MPQA": _polarity("MPQA/mpqa.pos", "MPQA/mpqa.neg", 10606),
    "SST2": _sst("binary", Table(columns=("sentence", "label")), "01", 67349, 872, 1821),
    "SST5": _sst("fine", Table(columns=("label", "sentence"), separators=(" ",)), "01234", 8544, 1101, 2210),
    "TREC": _Text(
        _FOLDS,
        Classes(("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")),
        Tables(
            Table(columns=("label", "subclass", "sentence"), separators=(":", " "), encoding="latin-1"),
            train="TREC/train_5500.label",
            test="TREC/TREC_10.label",
        ),
        {"train": 5452, "test": 500},
    ),
    "MRPC": _mrpc(_PARAPHRASE, "MRPC/msr_paraphrase_train.txt", Classes(("0", "1"))),
    "SICKEntailment": _sick(_ENTAILMENT, "entailment_judgment", Classes(_RELATIONS)),
    "SNLI": _snli(_INFERENCE, Classes(_INFERENCES), "train", "dev", "test"),
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
    "MRPCPairs": _mrpc(_DUPLICATES, None, OneClass(("0", "1"), "1")),
    "SICKPairs": _sick(_DUPLICATES, "entailment_judgment", OneClass(_RELATIONS, "ENTAILMENT")),
    "SNLIPairs": _snli(_DUPLICATES, OneClass(_INFERENCES, "entailment"), "test"),
    **CORPORA,
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
