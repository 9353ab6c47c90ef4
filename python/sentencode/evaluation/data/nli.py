"""Inference between sentences: files of SNLI, MultiNLI, and any whose columns have the same names."""

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
_KIND = Kind("classification", "dev", pairs=True, features=("u", "v", "|u-v|", "u*v"))


def read_nli(path: str | os.PathLike[str]) -> list[Example]:
    r"""Reads premises, hypotheses and what the first says of the second.

    Args:
        path: A UTF-8 file, as SNLI and MultiNLI have them: `.jsonl`, or tab-separated columns whose first
            line names them. Of columns and keys `gold_label`, `sentence1` and `sentence2` are read.

    Returns:
        Examples whose label is `entailment`, `neutral` or `contradiction`. Those that have none (`-`), as
        annotators did not agree, are left out.

    Raises:
        FormatError: The file is not what it should be; the message names file and line.

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
    found = [
        Example(file, line, str(label), (premise, hypothesis))
        for line, (label, premise, hypothesis) in rows_of(file, _COLUMNS)
        if label != NO_MAJORITY
    ]
    if not found:
        raise FormatError(f"{file} holds no example with a label")
    _CLASSES.values(found, _CLASSES.known)  # finds fault with labels
    return found


def load_nli_task(files: Mapping[str, str | os.PathLike[str]], *, name: str) -> Task:
    """Reads a task of inference between sentences from files of your own.

    A classifier sees `[u; v; |u - v|; u * v]` of premise and hypothesis, as SentEval's sees SNLI's.

    Args:
        files: `"train"`, `"dev"` and `"test"`, each as `read_nli` takes it.
        name: What to call the task in reports.

    Raises:
        ValueError: The files' names are others.
        FormatError: A file is not what it should be; the message names file and line.
    """
    if set(files) != {"train", "dev", "test"}:
        raise ValueError(f"files must be train, dev and test, got {', '.join(files)}")
    examples = {split: read_nli(files[split]) for split in ("train", "dev", "test")}
    splits, classes = splits_of(examples, _CLASSES)
    return Task(name, splits, _KIND, classes, partial=name in task_names())
