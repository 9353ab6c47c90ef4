"""Natural language inference: files of SNLI, MultiNLI, and others with the same columns."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ...errors import FormatError
from ...files import as_path
from .files import Classes, Example, splits_of
from .labelled import NO_MAJORITY, rows_of
from .senteval import task_names
from .task import Kind, Task

__all__ = ["load_nli_task", "read_nli"]

_COLUMNS = ("gold_label", "sentence1", "sentence2")
_CLASSES = Classes(("entailment", "neutral", "contradiction"))
_KIND = Kind("classification", "dev", pairs=True, features=("u", "v", "|u-v|", "u*v"), tokenized=True)


def read_nli(path: str | os.PathLike[str]) -> list[Example]:
    r"""Read premises, hypotheses and labels.

    Args:
        path: A UTF-8 file in the format of SNLI and MultiNLI: `.jsonl`, or tab-separated columns with a
            header. The columns or keys `gold_label`, `sentence1` and `sentence2` are read.

    Returns:
        Examples with the label `entailment`, `neutral` or `contradiction`. Those without one (`-`), where
        annotators disagreed, are left out.

    Raises:
        FormatError: The file has an invalid format; the message has file and line.

    Example:
        >>> import pathlib, tempfile
        >>> from sentencode.evaluation.data.nli import read_nli
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "dev.tsv")
        ...     _ = file.write_text("sentence1\tsentence2\tgold_label\nA dog runs.\tIt moves.\tentailment\n")
        ...     examples = read_nli(file)
        >>> examples[0].label, examples[0].sentences
        ('entailment', ('A dog runs.', 'It moves.'))
    """
    file = as_path(path)
    examples = [
        Example(file, line, str(label), (premise, hypothesis))
        for line, (label, premise, hypothesis) in rows_of(file, _COLUMNS)
        if label != NO_MAJORITY
    ]
    if not examples:
        raise FormatError(f"{file} holds no example with a label")
    _CLASSES.values(examples, _CLASSES.known)  # raises for invalid labels
    return examples


def load_nli_task(files: Mapping[str, str | os.PathLike[str]], *, name: str) -> Task:
    """Read a task of natural language inference from files of your own.

    The features of a classifier are `[u; v; |u - v|; u * v]`, as for SNLI in SentEval.

    Args:
        files: Files of `"train"`, `"dev"` and `"test"`, as for `read_nli`.
        name: Name of the task in reports.

    Raises:
        ValueError: The files have other names.
        FormatError: A file has an invalid format; the message has file and line.
    """
    if set(files) != {"train", "dev", "test"}:
        raise ValueError(f"files must be train, dev and test, got {', '.join(files)}")
    examples = {split: read_nli(files[split]) for split in ("train", "dev", "test")}
    splits, classes = splits_of(examples, _CLASSES)
    return Task(name, splits, _KIND, classes, partial=name in task_names())
