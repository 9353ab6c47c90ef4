"""Words cut into frequent pieces, by the package `tokenizers`."""

from __future__ import annotations

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
        *texts: Each the name of a text file, a Corpus, or whatever holds sentences.
        size: Pieces at most, with the single characters and `"<unk>"`, which stands for all others.
        min_count: How often two pieces must stand side by side to become one.
        show_progress_bar: Whether progress is shown.

    Returns:
        A `tokenizers.Tokenizer`, which encoders take as `tokenizer` and save.

    Raises:
        ImportError: If `tokenizers` is not installed.
        TypeError: If a sentence is no `str`.
        ValueError: If there is no text, `size` is less than there are characters, or an argument is out of
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
    found = bpe.get_vocab_size()
    if found == 1:
        raise ValueError("learn_bpe: the texts have no words")
    if found > size:
        raise ValueError(
            f"size must be at least {found}, the characters of the texts and {_UNKNOWN}, got {size}"
        )
    return bpe


def _sentences(texts: Iterable[Any]) -> Iterator[str]:
    for i, text in enumerate(texts):
        for j, sentence in enumerate(text if isinstance(text, Corpus) else Corpus(text)):
            if not isinstance(sentence, str):
                raise TypeError(
                    f"texts[{i}][{j}] is {type(sentence).__name__} ({sentence!r:.40}); expected str"
                )
            yield sentence
