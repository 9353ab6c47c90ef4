"""Compound-attention translation (Cifka and Bojar 2018): "attn" and "attn_attn"."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from .autoencoder import mask_of
from .recurrent_autoencoder import run


class Translation(nn.Module):
    def __init__(
        self,
        words: int,
        source_words: int,
        features: int,
        begin: int,
        end: int,
        architecture: str,
        hidden: int,
        decoder_hidden: int,
        attention: int,
        heads: int = 8,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.begin, self.end, self.heads = begin, end, heads if architecture == "attn_attn" else 0
        width = 2 * hidden
        memory_width = width // heads if self.heads else width
        self.source = nn.Embedding(source_words, features)
        self.table = nn.Embedding(words, features)
        self.encoder = nn.GRU(features, hidden, batch_first=True, bidirectional=True)
        if self.heads:
            self.inner_hidden = nn.Linear(width, attention, bias=False)
            self.inner_score = nn.Linear(attention, heads, bias=False)
            self.project = nn.Linear(width, memory_width)
            self.first = nn.Parameter(torch.zeros(decoder_hidden))
        else:
            self.first_of = nn.Linear(width, decoder_hidden)
        self.word = nn.GRUCell(features, decoder_hidden)
        self.query = nn.Linear(decoder_hidden, attention, bias=False)
        self.key = nn.Linear(memory_width, attention)
        self.score = nn.Linear(attention, 1, bias=False)
        self.context = nn.GRUCell(memory_width, decoder_hidden)
        self.output = nn.Linear(decoder_hidden + features + memory_width, features)
        self.softmax = nn.Linear(features, words)
        self.drop = nn.Dropout(dropout)

    def core_state(self) -> dict[str, Tensor]:
        """Return the weights by their names in TranslationNetwork."""
        names = {
            "inner_hidden": "inner.hidden",
            "inner_score": "inner.score",
            "first": "decoder.begin.bias",
            "first_of": "decoder.begin.linear",
            "word": "decoder.gru.word",
            "query": "decoder.gru.attention.query",
            "key": "decoder.gru.attention.key",
            "score": "decoder.gru.attention.score",
            "context": "decoder.gru.context",
            "output": "decoder.output.linear",
        }
        weights = {}
        for name, tensor in self.state_dict().items():
            part, dot, rest = name.partition(".")
            layer = "_l0" if part in ("word", "context") else ""
            weights[names.get(part, part) + dot + rest + layer] = tensor
        return weights

    def encode(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Return the heads [B, r, D] of "attn_attn"."""
        return self.heads_of(self.drop(run(self.encoder, self.drop(x), lengths)[0]), mask_of(x, lengths))

    def heads_of(self, h: Tensor, mask: Tensor) -> Tensor:
        a = self.inner_score(torch.tanh(self.inner_hidden(h)))  # [B, T, r]
        a = a.masked_fill(~mask[:, :, None], -float("inf")).softmax(1)
        return self.project(a.transpose(1, 2) @ h)

    def read(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor | None, Tensor]:
        """Return the memory [B, S, D], its mask, and the initial decoder state."""
        if self.heads:
            return self.encode(x, lengths), None, self.first.tanh().expand(len(x), -1)
        h, last = run(self.encoder, self.drop(x), lengths)
        h, last = self.drop(h), self.drop(torch.cat([last[0], last[1]], 1))
        return h, mask_of(x, lengths), self.first_of(last).tanh()

    def look(self, s: Tensor, keys: Tensor, memory: Tensor, hidden: Tensor | None) -> Tensor:
        """Map K decoder states of each sentence [B, K, H] to contexts [B, K, D]."""
        e = self.score(torch.tanh(self.query(s)[:, :, None] + keys[:, None])).squeeze(3)  # [B, K, S]
        if hidden is not None:
            e = e.masked_fill(hidden, -float("inf"))
        return e.softmax(2) @ memory

    def logits(self, s: Tensor, y: Tensor, c: Tensor) -> Tensor:
        return self.softmax(self.drop(torch.tanh(self.output(torch.cat([s, y, c], -1)))))

    def loss(self, source: Tensor, lengths: Tensor, target: Tensor, target_lengths: Tensor) -> Tensor:
        memory, mask, s = self.read(self.source(source), lengths)
        hidden = None if mask is None else ~mask[:, None]
        keys = self.key(memory)
        shifted = torch.cat([torch.full_like(target[:, :1], self.begin), target[:, :-1]], 1)
        y = self.drop(self.table(shifted))  # [B, T, E]
        states, contexts = [], []
        for word in y.unbind(1):
            s = self.word(word, s)
            c = self.look(s[:, None], keys, memory, hidden).squeeze(1)
            s = self.context(c, s)
            states.append(s)
            contexts.append(c)
        logits = self.logits(torch.stack(states, 1), y, torch.stack(contexts, 1))
        labels = target.masked_fill(~mask_of(target, target_lengths), -100)
        return functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")

    @torch.inference_mode()
    def beam_search(
        self, source: Tensor, lengths: Tensor, beam: int, max_length: int, penalty: float, leave: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the words of the best translation of each sentence, their number, and the score.

        The score is log p / ((5 + words) / 6)^penalty, where the end counts as a word. With `leave`, finished
        sentences leave the batch; otherwise all are computed until the last one is finished.
        """
        memory, mask, s = self.read(self.source(source), lengths)
        hidden = None if mask is None else ~mask[:, None]
        keys, size = self.key(memory), len(source)
        best = torch.full((size,), -float("inf"))
        words = torch.full((size, max_length), self.end)
        counts = torch.zeros(size, dtype=torch.int64)
        rows = torch.arange(size)  # indices of the unfinished sentences
        s = s[:, None].expand(-1, beam, -1)  # [B, K, H]
        log_p = torch.full((size, beam), -float("inf"))
        log_p[:, 0] = 0
        histories = torch.full((size, beam, max_length + 1), self.end)
        last = torch.full((size, beam), self.begin)
        for length in range(max_length + 1):
            y = self.table(last)
            s = self.word(y.flatten(0, 1), s.flatten(0, 1)).view(-1, beam, s.shape[2])
            c = self.look(s, keys, memory, hidden)
            s = self.context(c.flatten(0, 1), s.flatten(0, 1)).view(-1, beam, s.shape[2])
            following = self.logits(s, y, c).log_softmax(2)  # [B, K, V]
            if length == max_length:  # only the end is possible
                end = following[:, :, self.end].clone()
                following.fill_(-float("inf"))
                following[:, :, self.end] = end
            every = following.shape[2]
            top, where = (log_p[:, :, None] + following).flatten(1).topk(2 * beam, 1)
            parents, last = where // every, where % every
            ends = last == self.end
            # Hypotheses among the best `beam` that end.
            ended = top[:, :beam].masked_fill(~ends[:, :beam], -float("inf")) / self.divisor(
                length + 1, penalty
            )
            score, which = ended.max(1)
            better = score > best[rows]
            parent = parents.gather(1, which[:, None]).squeeze(1)
            improved = rows[better]
            best[improved] = score[better]
            words[improved] = histories[better, parent[better], :max_length]
            counts[improved] = length
            # The best `beam` hypotheses that continue.
            log_p, going = top.masked_fill(ends, -float("inf")).topk(beam, 1)
            parents, last = parents.gather(1, going), last.gather(1, going)
            s = s.gather(1, parents[:, :, None].expand_as(s))
            histories = histories.gather(1, parents[:, :, None].expand_as(histories))
            histories[:, :, length] = last
            first = log_p[:, 0]
            hope = torch.maximum(
                first / self.divisor(length + 2, penalty), first / self.divisor(max_length + 1, penalty)
            )
            still = hope > best[rows]
            open_ones = int(still.sum())
            if open_ones == 0 or length == max_length:
                break
            if leave and open_ones < len(rows):
                rows, s, log_p, histories, last = (
                    rows[still],
                    s[still],
                    log_p[still],
                    histories[still],
                    last[still],
                )
                keys, memory = keys[still], memory[still]
                hidden = None if hidden is None else hidden[still]
        return words, counts, best

    @staticmethod
    def divisor(words: int, penalty: float) -> float:
        return ((5 + words) / 6) ** penalty
