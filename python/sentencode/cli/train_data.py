"""Training data of `sentencode train`: texts, translations, labelled examples, a teacher's embeddings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..errors import FormatError
from .train_config import Config

__all__ = ["corpus", "files_of", "sentences", "translations", "vectors"]


def files_of(source: Any) -> list[str]:
    """The files of a value of [data]: one, several or none."""
    return [] if source is None else [source] if isinstance(source, str) else list(source)


def corpus(source: Any) -> Any:
    """The sentences of the files of a value of [data]; None without a value."""
    from ..text.corpus import Corpus

    return None if source is None else Corpus.from_files(files_of(source))


def vectors(config: Config) -> Any:
    """The word vectors of [vectors]; by default the built-in ones, and for translation none."""
    from ..vectors import WordVectors

    options = dict(config.tables["vectors"])
    if options:
        return WordVectors.load(options.pop("file"), **options)
    return None if "train_target" in config.tables["data"] else WordVectors.default()


def _examples(source: Any, head: Any) -> tuple[list[Any], list[Any] | None]:
    """Sentences, pairs or triples of tab-separated files, and their labels.

    Args:
        source: Files of `read_labelled`; without labels, every column is a sentence.
        head: Head that is trained; it decides which labels there are.
    """
    from ..evaluation.data import read_labelled
    from ..evaluation.data.files import read_lines

    sentences: list[Any] = []
    labels: list[Any] = []
    for file in files_of(source):
        if head.labels is None:
            sentences += [tuple(line.split("\t")) for line in read_lines(Path(file))]
            continue
        table = read_labelled(file)
        sentences += table.sentences
        labels += (
            [_number(label, file) for label in table.labels] if head.labels == "float32" else table.labels
        )
    return sentences, labels if head.labels else None


def _number(label: str, file: str) -> float:
    try:
        return float(label)
    except ValueError:
        raise FormatError(f"{file}: a label is {label!r}, expected a number") from None


def translations(config: Config) -> tuple[Any, Any, dict[str, Any], list[Any]]:
    """Source and target texts, preprocessed as [text] says.

    Returns:
        Texts to train on; texts to validate on, or None; parameters of the encoder; Moses of both sides.
    """
    from ..text import Moses, learn_bpe
    from ..text.corpus import Corpus

    data, text = config.tables["data"], config.tables["text"]
    pairs = [[data[name], data[f"{name}_target"]] for name in ("train", "valid") if name in data]
    moses = []
    for side, language in enumerate(text.get("moses", ())):
        try:
            moses.append(Moses(language).learn(pairs[0][side]))
        except ValueError as error:
            raise ValueError(f"[text] moses: {pairs[0][side]}: {error}") from error
        for pair in pairs:
            pair[side] = moses[side].prepare(Corpus(pair[side], keep_empty=True))
    parameters = {"tokenizer": learn_bpe(*pairs[0], size=text["bpe"])} if "bpe" in text else {}
    return pairs[0], pairs[1] if len(pairs) == 2 else None, parameters, moses


def sentences(
    data: Mapping[str, Any], head: Any, *, first: bool, show: bool, wait: Callable[[], None]
) -> tuple[Any, Any]:
    """Sentences and their targets, to train on and to validate on.

    Args:
        data: The table [data].
        head: Head that is trained, or None.
        first: Whether this is the first process, which computes a teacher's embeddings; the others read its
            cache.
        show: Whether to show a progress bar.
        wait: Waits for the first process, which calls it when it is done.
    """
    if "teacher" in data:
        if not first:
            wait()
        pairs = _taught(data, show)
        if first:
            wait()
        return pairs
    if head is None:
        return (corpus(data["train"]), None), corpus(data.get("valid"))
    valid: Any = _examples(data["valid"], head) if "valid" in data else None
    return _examples(data["train"], head), valid[0] if valid is not None and valid[1] is None else valid


def _taught(data: Mapping[str, Any], show: bool) -> tuple[Any, Any]:
    """Sentences and a teacher's embeddings of them."""
    from ..distill import teacher_named, teacher_rows
    from ..text.inputs import is_blank

    try:
        teacher = teacher_named(data["teacher"])
    except (ImportError, OSError, ValueError) as error:
        raise ValueError(f"[data] teacher: {error}") from error
    pairs: list[Any] = []
    for name in ("train", "valid"):
        texts = [text for text in corpus(data[name]) if not is_blank(text)] if name in data else None
        if texts == []:
            raise ValueError(f"[data] {name}: there is no sentence for the teacher to encode")
        pairs.append(None if texts is None else (texts, teacher_rows(teacher, texts, progress=show)))
    return pairs[0], pairs[1]
