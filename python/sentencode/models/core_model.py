"""The C++ half of a fitted neural encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from torch import Tensor

from .. import _nn
from ..checks import checked_int
from ..search import lengths_of
from ..text.inputs import is_single
from ..text.vocabulary import Vocabulary
from .task import WordVectorsOf

__all__ = ["core_encoder", "normalized_parts", "read_rows", "read_sentence", "word_ids"]

_BATCH_TOKENS = 4096  # encoded at a time, and words whose rows are read


def core_encoder(encoder: Any, weights: npt.NDArray[np.float32] | Literal["auto"] | None) -> Any:
    """The encoder in C++. `weights` are factors of the word vectors; "auto": as `unit_words` says."""
    words, head = encoder._fitted_vectors, encoder._trained_head
    if isinstance(weights, str):
        weights = WordVectorsOf(words, unit=encoder.settings()["unit_words"]).weights()
    network = encoder._core_network(encoder.network, head=head is not None)
    return _nn.NeuralEncoder(
        type(encoder).__name__,
        words._core,
        encoder._fitted_tokenizer.core(),
        weights,
        network,
        max_words=checked_int("max_words", encoder.max_words, 1),
        batch_tokens=_BATCH_TOKENS,
        head=None if head is None else head.head._cpp,
        **word_ids(encoder, network, encoder.vocabulary_),
    )


def word_ids(encoder: Any, network: Any, vocabulary: Vocabulary) -> dict[str, Any]:
    """The word ids, if `word_rows` of a network in C++ reads them."""
    if not network.ids:
        return {"ids": [], "unknown": -1}
    return {"ids": vocabulary.words, "unknown": encoder.task_class.unknown_id(vocabulary)}


def read_rows(encoder: Any) -> tuple[list[str], npt.NDArray[np.float32]]:
    """All words that have a row, and the rows [words, features], as the network reads them."""
    words = list(dict.fromkeys([*encoder.words_.words, *encoder.vocabulary_.words]))
    known, rows = [], []
    for begin in range(0, len(words), _BATCH_TOKENS):
        part = words[begin : begin + _BATCH_TOKENS]
        for indices, _, x, _ in encoder._model.read_tokens([[word] for word in part], _BATCH_TOKENS):
            known += [part[i] for i in indices]
            rows.append(x[:, 0].numpy())
    return known, np.concatenate(rows)


def read_sentence(encoder: Any, sentence: str | Sequence[str]) -> tuple[list[str], Tensor, Tensor]:
    """The words of a sentence that a fitted encoder reads, their vectors x [1, T, F] and lengths [1]."""
    encoder._check_fitted()
    tokenizer = encoder._fitted_tokenizer
    tokens = tokenizer([sentence])[0]
    batches = list(encoder._model.read_tokens([tokens], 1))
    texts = not is_single(sentence) and any(len(str(token).split()) > 1 for token in sentence)
    if texts and (not batches or tokenizer.split == "punctuation"):  # which splits tokens
        raise ValueError("sentence: a list is the tokens of one sentence, and these look like texts")
    if not batches:
        raise ValueError("sentence has no word that is read")
    ((_, (positions,), x, lengths),) = batches
    return [tokens[i] for i in positions], x, lengths


def normalized_parts(embeddings: Any, widths: Sequence[int]) -> Any:
    """Divide parts of embeddings [..., dim], of these widths, by their lengths, in place."""
    for part in np.split(embeddings, np.cumsum(widths[:-1]), axis=-1):
        lengths = lengths_of(part)[..., None]
        part /= np.where(lengths > 0, lengths, 1)
    return embeddings
