"""Learns subwords, by the package `tokenizers`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .._extras import require
from ..checks import checked_bool, checked_int
from .corpus import Corpus
from .inputs import renamed

__all__ = ["learn_bpe"]

_UNKNOWN = "<unk>"


def learn_bpe(*texts: Any, size: int, min_count: int = 2, show_progress_bar: bool = False) -> Any:
    """Learn BPE (Sennrich et al. 2016), jointly on several texts.

    Subwords that begin a word have the prefix "▁", so that decoding restores the text, but for repeated
    spaces.

    Args:
        *texts: Texts: paths of files, `Corpus` objects, or iterables of sentences.
        size: Maximum size of the vocabulary, including single characters and `"<unk>"` for unknown ones.
        min_count: Minimum count of a pair of subwords to be merged.
        show_progress_bar: Whether to show progress.

    Returns:
        A `tokenizers.Tokenizer`, which can be the `tokenizer` of encoders.

    Raises:
        ImportError: `tokenizers` is not installed.
        TypeError: A sentence is not a `str`.
        ValueError: There is no text, `size` is less than the number of characters, or an argument is out of
            range.

    Example:
        >>> from sentencode.text import learn_bpe
        >>> bpe = learn_bpe(["low lower lowest", "new newer newest"], size=18)
        >>> bpe.encode("newer lowest").tokens
        ['▁ne', 'wer', '▁lo', 'west']
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
    # Repeated spaces, and those at the ends, would be tokens.
    bpe.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.Replace(tokenizers.Regex(r"\s+"), " "), tokenizers.normalizers.Strip()]
    )
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    bpe.decoder = tokenizers.decoders.Metaspace()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size, min_frequency=min_count, special_tokens=[_UNKNOWN], show_progress=shown
    )
    bpe.train_from_iterator(_sentences(texts), trainer)
    learnt = bpe.get_vocab_size()
    if learnt == 1:
        raise ValueError("learn_bpe: the texts have no words")
    if learnt > size:
        raise ValueError(
            f"size must be at least {learnt}, the characters of the texts and {_UNKNOWN}, got {size}"
        )
    return bpe


def _sentences(texts: Iterable[Any]) -> Iterator[str]:
    for i, text in enumerate(texts):
        with renamed(f"texts[{i}]"):
            for j, sentence in enumerate(text if isinstance(text, Corpus) else Corpus(text)):
                if not isinstance(sentence, str):
                    raise TypeError(
                        f"texts[{i}][{j}] is {type(sentence).__name__} ({sentence!r:.40}); expected str"
                    )
                yield sentence
