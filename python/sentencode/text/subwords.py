"""Words cut into frequent pieces, by the package `tokenizers`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from .._extras import require
from ..checks import checked_bool, checked_int
from .corpus import Corpus

__all__ = ["learn_bpe"]

_UNKNOWN = "<unk>"


def learn_bpe(*texts: Any, size: int, min_count: int = 2, show_progress_bar: bool = False) -> Any:
    """Learns a BPE (Sennrich et al. 2016); of several texts together, it is joint.

    Pieces that begin a word have "▁" before them, so that text is put together again as it was but for
    runs of spaces, which become one.

    Args:
        *texts: Each the name of a text file, or sentences.
        size: Pieces, with those of one character.
        min_count: How often two pieces must stand side by side to become one.
        show_progress_bar: Whether progress is shown.

    Returns:
        A `tokenizers.Tokenizer`, which encoders take as `tokenizer` and save; it reads and writes itself, too.

    Raises:
        ImportError: If `tokenizers` is not installed.
        ValueError: If there is no text, or an argument is out of range.

    Example:
        >>> from sentencode.text.subwords import learn_bpe
        >>> bpe = learn_bpe(["low lower lowest", "new newer newest"], size=24)
        >>> bpe.encode("newer lowest").tokens
        ['▁new', 'er', '▁low', 'est']
        >>> bpe.decode(bpe.encode("newer lowest").ids)
        'newer lowest'
    """
    size = checked_int("size", size, 1)
    min_count = checked_int("min_count", min_count, 1)
    shown = checked_bool("show_progress_bar", show_progress_bar)
    if not texts:
        raise ValueError("learn_bpe: give at least one text")
    tokenizers = require("tokenizers", "translate")
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token=_UNKNOWN))
    # Runs of spaces, and those at the ends, would be tokens of their own.
    bpe.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.Replace(tokenizers.Regex(r"\s+"), " "), tokenizers.normalizers.Strip()]
    )
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    bpe.decoder = tokenizers.decoders.Metaspace()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size, min_frequency=min_count, special_tokens=[_UNKNOWN], show_progress=shown
    )
    bpe.train_from_iterator(_sentences(texts), trainer)
    if bpe.get_vocab_size() == 1:
        raise ValueError("learn_bpe: the texts have no words")
    return bpe


def _sentences(texts: Iterable[Any]) -> Iterator[str]:
    for i, text in enumerate(texts):
        for sentence in Corpus(text) if isinstance(text, str | os.PathLike) else text:
            if not isinstance(sentence, str):
                raise TypeError(f"texts[{i}] must hold str, got {type(sentence).__name__}")
            yield sentence
