"""Translation with a fitted encoder: search and sampling, ensembles, and the texts of decoded ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor

from ..errors import DivergedError
from .core_model import read_sentence
from .ensemble import EnsembleDecoder, check_same_words
from .task import END, UNKNOWN
from .translation_task import Translating

__all__ = ["Translator", "read_batches"]

_BATCH = 64  # sentences that are translated together


def read_batches(
    encoder: Any, sentences: Sequence[Any]
) -> Iterator[tuple[list[int], list[list[str]], Tensor, Tensor]]:
    """Batches of the sentences that have words: their indices, words, x [B, T, F] and lengths [B]."""
    encoder._check_fitted()
    tokens = encoder.tokenizer_(list(sentences))
    for indices, positions, x, lengths in encoder._model.read_tokens(tokens, _BATCH):
        words = [[tokens[i][t] for t in read] for i, read in zip(indices, positions, strict=True)]
        yield indices, words, x, lengths


class Translator:
    """Translates with a fitted `CompoundNMT`, and others with the same words and tokenizers."""

    def __init__(self, encoder: Any, ensemble: Sequence[Any] = ()) -> None:
        encoder._check_fitted()
        self.encoder, self.others = encoder, list(ensemble)
        self.tokenizer = encoder._target_tokenizer
        for i, other in enumerate(self.others):
            name = f"ensemble[{i}]"
            if not issubclass(getattr(type(other), "task_class", object), Translating):
                raise TypeError(f"{name} must be a CompoundNMT, got {type(other).__name__}")
            other._check_fitted()
            check_same_words(encoder, other, name)
            if encoder.tokenizer_.to_config() != other.tokenizer_.to_config():
                raise ValueError(f"{name} has another tokenizer than the first encoder")
            if self.tokenizer.to_config() != other._target_tokenizer.to_config():
                raise ValueError(f"{name} has another tokenizer of the target than the first encoder")
        if (target := encoder.target_vocabulary_) is None:
            raise AttributeError(f"this {type(encoder).__name__} was trained with a head: it has no decoder")
        symbols = Translating.target_symbols(len(target), encoder.network._config["end"])
        self.words = [*target.words, *symbols]  # by id
        self.end, self.unknown = self.words.index(END), self.words.index(UNKNOWN)

    def translate(
        self, sentences: Sequence[Any], *, sample: bool, replace_unknown: bool, **options: Any
    ) -> list[list[tuple[str, float]]]:
        """Translations of each sentence and their scores, the best first; see `CompoundNMT.translate`."""
        network = self.encoder.network
        translations = [[("", 0.0)] * options.get("best", 1) for _ in sentences]
        with ExitStack() as stack:
            for encoder in (self.encoder, *self.others):
                stack.enter_context(encoder._evaluating())
            for indices, words, x, lengths in read_batches(self.encoder, sentences):
                memory = network.read(x, lengths)
                decoder, memories = self._decoder(words, memory)
                if sample:
                    decoded = network.sampled(memories, indices=indices, writer=decoder, **options)
                else:
                    decoded = network.translate(memories, writer=decoder, **options)
                texts = self._texts(decoded, (words, memory, x, lengths) if replace_unknown else None)
                for i, hypotheses in zip(indices, texts, strict=True):
                    translations[i] = hypotheses
        return translations

    def attentions(
        self, source: Any, target: Any, layer: int
    ) -> tuple[list[str], list[str], Tensor, Tensor | None]:
        """The words of a sentence and its translation, B [1, T', r or T], and A [1, r, T] if there is one."""
        with self.encoder._evaluating() as network:
            words, x, lengths = read_sentence(self.encoder, source)
            ids, id_lengths = self.target_ids([target], x.device)
            b = network.attention(network.read(x, lengths), ids, id_lengths, layer)
            return words, [*self.tokenizer([target])[0], END], b, self._inner_attention(x, lengths)

    def target_ids(self, sentences: Sequence[Any], device: torch.device) -> tuple[Tensor, Tensor]:
        """Ids of translations with ends [B, T'], and lengths [B]."""
        index = {word: i for i, word in enumerate(self.encoder.target_vocabulary_.words)}
        rows = [
            torch.tensor([*(index.get(token, self.unknown) for token in tokens), self.end])
            for tokens in self.tokenizer(list(sentences))
        ]
        lengths = torch.tensor([len(row) for row in rows])
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=self.end)
        return ids.to(device), lengths.to(device)

    def _decoder(self, words: list[list[str]], memory: list[Tensor]) -> tuple[Any, list[Tensor]]:
        """The decoder of all encoders, and its memory; `memory` is that of the first encoder alone."""
        decoder = self.encoder.network._cpp
        if not self.others:
            return decoder, memory
        memories = [memory]
        for other in self.others:
            ((_, _, x, lengths),) = other._model.read_tokens(words, len(words))
            memories.append(other.network.read(x, lengths))
        decoders = [decoder, *(other.network._cpp for other in self.others)]
        device = memory[0].device
        return (
            EnsembleDecoder(decoders, [len(part) for part in memories]),
            [tensor.to(device) for part in memories for tensor in part],
        )

    def _texts(self, decoded: Any, source: Any) -> list[list[tuple[str, float]]]:
        """Texts and scores of decoded sentences; with a source, "<unk>" is replaced by attention."""
        texts = []
        lengths, scores = decoded.lengths.tolist(), decoded.scores.tolist()
        for b, hypotheses in enumerate(decoded.ids.tolist()):
            row = []
            for length, score, hypothesis in zip(lengths[b], scores[b], hypotheses, strict=True):
                if length < 0:
                    continue
                ids = hypothesis[:length]
                tokens = [self.words[i] for i in ids]
                if source is not None and self.unknown in ids:
                    for t, word in enumerate(self._most_attended(source, b, [*ids, self.end])):
                        if ids[t] == self.unknown:
                            tokens[t] = word
                row.append((self.tokenizer.join(tokens), score))
            if not row:
                raise DivergedError(
                    f"{type(self.encoder).__name__}: no translation has a probability above 0: weights are "
                    "damaged, or the training diverged"
                )
            texts.append(row)
        return texts

    def _most_attended(self, source: Any, b: int, ids: list[int]) -> list[str]:
        """The source word with the largest attention weight for each word of a translation but its end."""
        words, memory, x, lengths = source
        x, lengths = x[b : b + 1], lengths[b : b + 1]
        target = torch.tensor([ids]).to(x.device)
        weights = self.encoder.network.attention(
            [part[b : b + 1] for part in memory], target, torch.tensor([len(ids)]).to(x.device)
        )
        if (inner := self._inner_attention(x, lengths)) is not None:
            weights = weights @ inner  # eq. 4
        best = weights[0, :-1, : len(words[b])].argmax(1)
        return [words[b][i] for i in best.cpu().tolist()]

    def _inner_attention(self, x: Tensor, lengths: Tensor) -> Tensor | None:
        """A [B, r, T], if the decoder attends to the heads of an inner attention."""
        if not str(self.encoder.architecture).endswith("attn_attn"):
            return None
        weights: Tensor = self.encoder.network.inner_attention(x, lengths)
        return weights
