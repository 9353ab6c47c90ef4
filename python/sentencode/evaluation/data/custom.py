"""Custom tasks: tab-separated examples, and groups of paraphrases."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast

import numpy as np

from ...checks import checked_int
from ...errors import FormatError
from ...files import as_path
from .files import Classes, Example, Scores, Table, read_lines, splits_of, tokens
from .labelled import check_header
from .senteval import task_names
from .task import Kind, Question, Split, Task

__all__ = ["load_groups", "load_tsv_task"]

_PAIRS = Table(
    columns=("label", "first sentence", "second sentence"), sentences=("first sentence", "second sentence")
)
_SENTENCES = Table(columns=("label", "sentence"))

# Validation of a classification task, by its splits.
_VALIDATION: dict[tuple[str, ...], Literal["nested", "folds", "dev"]] = {
    ("all",): "nested",
    ("train", "test"): "folds",
    ("train", "dev", "test"): "dev",
}
# Files of the tasks without training.
_UNTRAINED: dict[str, tuple[str, ...]] = {
    "clustering": ("all",),
    "neighbours": ("all",),
    "few_shot": ("all",),
    "duplicates": ("all",),
    "search": ("documents", "queries"),  # labels are those of the first
}


def load_tsv_task(
    question: Literal[
        "classification",
        "pair_classification",
        "similarity",
        "clustering",
        "neighbours",
        "few_shot",
        "duplicates",
        "search",
    ],
    files: str | os.PathLike[str] | Mapping[str, str | os.PathLike[str]],
    *,
    name: str | None = None,
) -> Task:
    r"""Read a task from UTF-8 files of tab-separated columns, one example per line, without header.

    Encoders split the sentences themselves, as in `encode`, unless `evaluate` has `tokens=True`.

    Args:
        question: `"classification"`: a label and a sentence per line. `"pair_classification"`: a label and
            two sentences. `"similarity"`: a score and two sentences. With little or no training:
            `"clustering"`, `"neighbours"` and `"few_shot"`: a class and a sentence. `"duplicates"`: 1 or 0
            and two sentences. `"search"`: a label and a sentence; a query's relevant documents have its
            label.
        files: One file, or several by name. For classification, one file means nested cross-validation;
            `"train"` and `"test"`, selection of penalties by cross-validation; `"train"`, `"dev"` and
            `"test"`, selection on `"dev"`. Classes are those of `"train"`, sorted. For similarity,
            `"train"`, `"dev"` and `"test"` are scored separately; other names are subsets of one test set,
            none of which may be `"all"`. For search, `"queries"` and `"documents"`; for others, one file.
        name: Name of the task in reports. None: the name of the only file, or of the first file's folder.

    Returns:
        The task. If it has the name of a task of SentEval, it is not part of papers' averages, as its size is
        not checked.

    Raises:
        ValueError: The question or the names of the files are invalid.
        FormatError: A file has an invalid format; the message has file and line.

    Example:
        >>> import pathlib, tempfile
        >>> from sentencode.evaluation import load_tsv_task
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "weather.tsv")
        ...     _ = file.write_text("sun\ta bright day\nrain\tit pours\nsun\tclear skies\n")
        ...     task = load_tsv_task("classification", file)
        >>> task, task.classes, task["all"].labels
        (Task('weather', all 3), ('rain', 'sun'), array([1, 0, 1]))
    """
    paths = (
        {split: as_path(file) for split, file in files.items()}
        if isinstance(files, Mapping)
        else {"all": as_path(files)}
    )
    if not paths:
        raise ValueError("files must name at least one file")
    kind = _kind(question, paths)
    table = _PAIRS if kind.pairs else _SENTENCES
    known = ("0", "1") if kind.question == "duplicates" else ()
    labels = Scores() if kind.question == "similarity" else Classes(known)
    for path in paths.values():
        check_header(path, read_lines(path)[0])
    first = _UNTRAINED.get(question, ("train", "dev", "test"))
    order = [*(s for s in first if s in paths), *(s for s in paths if s not in first)]
    examples = {split: table.examples(paths[split], whole=False) for split in order}
    splits, classes = splits_of(examples, labels)
    if kind.question not in ("similarity", "duplicates", "search") and len(classes) < 2:
        raise FormatError(f"{paths[order[0]]} has one class, {classes[0]!r}: expected at least two")
    file = next(iter(paths.values()))
    name = name or (file.stem if len(paths) == 1 else file.absolute().parent.name)
    return Task(name, splits, kind, classes, partial=name in task_names())


def _kind(question: str, paths: Mapping[str, Path]) -> Kind:
    if names := _UNTRAINED.get(question):
        if set(paths) != set(names):
            expected = "queries and documents" if question == "search" else "one"
            raise ValueError(f"files of {question} must be {expected}, got {', '.join(paths)}")
        return Kind(cast(Question, question), pairs=question == "duplicates")
    if question == "similarity":
        subsets = not {"all", "train", "dev", "test"} >= set(paths)
        return Kind("similarity", pairs=True, subsets=subsets)
    if question not in ("classification", "pair_classification"):
        raise ValueError(
            "question must be 'classification', 'pair_classification', 'similarity', 'clustering', "
            f"'neighbours', 'few_shot', 'duplicates' or 'search', got {question!r}"
        )
    for names, validation in _VALIDATION.items():
        if set(names) == set(paths):
            pairs = question == "pair_classification"
            return Kind("classification", validation, pairs, features=("|u-v|", "u*v") if pairs else ("u",))
    raise ValueError(f"files must be one, or train and test, or train, dev and test, got {', '.join(paths)}")


def load_groups(
    path: str | os.PathLike[str],
    layout: Literal["tsv", "lines", "flickr"] = "tsv",
    *,
    size: int = 5,
    name: str | None = None,
) -> Task:
    r"""Read groups of paraphrases, such as captions of the same image.

    Args:
        path: A UTF-8 file.
        layout: `"tsv"`: a line is the name of a group, a tab and a sentence. `"lines"`: a line is a sentence,
            and every `size` consecutive lines are a group, as in files of COCO captions. `"flickr"`: a line
            is `image#number`, a tab and a caption, as in `Flickr8k.token.txt`.
        size: Sentences per group, for `"lines"`.
        name: Name of the task in reports. None: the name of the file.

    Returns:
        A task with the split `"all"`, whose labels are indices of groups. `classes` are the names of the
        groups in order of appearance; for `"lines"`, the line numbers of their first sentences.

    Raises:
        ValueError: There is no such layout.
        FormatError: The file has an invalid format, only one group, or a group of one sentence; the message
            has file and line.

    Example:
        >>> import pathlib, tempfile
        >>> from sentencode.evaluation import load_groups
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "captions.txt")
        ...     _ = file.write_text("a dog runs\na running dog\ntwo cats\nsome cats\n")
        ...     task = load_groups(file, "lines", size=2)
        >>> task, task["all"].labels, task.classes
        (Task('captions', all 4), array([0, 0, 1, 1]), ('1', '3'))
    """
    path = as_path(path)
    if layout == "lines":
        examples = _consecutive(path, checked_int("size", size, 2))
    elif layout == "flickr":
        examples = [_captioned(path, number, line) for number, line in enumerate(read_lines(path), 1)]
    elif layout == "tsv":
        examples = Table(columns=("group", "sentence"), label="group").examples(path, whole=False)
    else:
        raise ValueError(f"layout must be 'tsv', 'lines' or 'flickr', got {layout!r}")
    sizes: dict[str, int] = {}
    for example in examples:
        sizes[example.label] = sizes.get(example.label, 0) + 1
    for example in examples:
        if not example.label.strip():
            raise FormatError(f"{path}:{example.line}: expected a group, got {example.label!r}")
        if sizes[example.label] == 1:
            raise FormatError(f"{path}:{example.line}: the group {example.label!r} has only this sentence")
    if len(sizes) == 1:
        raise FormatError(f"{path} has one group, {examples[0].label!r}: expected at least two")
    indices = {group: i for i, group in enumerate(sizes)}
    split = Split(
        ([tokens(example.sentences[0]) for example in examples],),
        np.array([indices[example.label] for example in examples], dtype=np.int64),
    )
    return Task(name or path.stem, {"all": split}, Kind("groups"), tuple(sizes))


def _consecutive(path: Path, size: int) -> list[Example]:
    lines = read_lines(path)
    if len(lines) % size:
        raise FormatError(
            f"{path} has {len(lines)} lines, expected a multiple of {size}: was the file truncated?"
        )
    return [Example(path, i + 1, str(i - i % size + 1), (line,)) for i, line in enumerate(lines)]


def _captioned(path: Path, number: int, line: str) -> Example:
    # Any white space: line 37574 of the published file has two spaces instead of a tab.
    match = re.fullmatch(r"(\S+)#\d+\s+(.*)", line)
    if match is None:
        raise FormatError(f"{path}:{number}: expected image#number, a tab and a caption, got {line!r:.80}")
    return Example(path, number, match[1], (match[2],))
