"""The networks of compound attention against the paper's equations, written in plain PyTorch."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from sentencode.models import TranslationNetwork

RECURRENT = (
    *("attn", "final", "final_ctx", "avgpool", "avgpool_ctx", "maxpool", "maxpool_ctx"),
    *("attn_ctx", "attn_attn"),
)
ALL = (*RECURRENT, "trf", "trf_attn_attn")
WITH_VECTOR = tuple(name for name in ALL if name not in ("attn", "trf"))
INNER = ("attn_ctx", "attn_attn", "trf_attn_attn")
V, S, E, H, D, A = 13, 11, 8, 4, 6, 5  # words, source words, widths


def small_network(architecture, **options):
    torch.manual_seed(3)
    sized = {"size": 12} if architecture in INNER else {}
    network = TranslationNetwork(
        **{
            **{"words": V, "source_words": S, "features": E, "hidden": H, "decoder_hidden": D, "heads": 3},
            **{"attention": A, "architecture": architecture, "layers": 2, "inner": 10, "attention_heads": 2},
            **{"dropout": 0.0, "begin": V - 1, "end": V - 2, **sized, **options},
        }
    )
    for parameter in network.parameters():  # zero biases would hide errors
        nn.init.normal_(parameter, std=0.4)
    return network.double()


def batch():
    source = torch.tensor([[1, 2, 3, 4, 5], [6, 7, 0, 0, 0], [8, 9, 10, 0, 0]])
    target = torch.tensor([[1, 2, V - 2, 0], [3, 4, 5, V - 2], [6, V - 2, 0, 0]])
    return source, torch.tensor([5, 2, 3]), target, torch.tensor([3, 4, 2])


class Plain:
    """The equations for one sentence, word by word, with the weights of a network."""

    def __init__(self, network):
        self.w = dict(network.named_parameters())
        self.config = network._config
        self.architecture = self.config["architecture"]
        self.transformer = self.architecture.startswith("trf")

    def linear(self, name, x):
        return F.linear(x, self.w[f"{name}.weight"], self.w.get(f"{name}.bias"))

    def gru(self, name, x, h, suffix="l0"):
        gi = x @ self.w[f"{name}.weight_ih_{suffix}"].T + self.w[f"{name}.bias_ih_{suffix}"]
        gh = h @ self.w[f"{name}.weight_hh_{suffix}"].T + self.w[f"{name}.bias_hh_{suffix}"]
        (ri, zi, ni), (rh, zh, nh) = gi.chunk(3), gh.chunk(3)
        r, z = torch.sigmoid(ri + rh), torch.sigmoid(zi + zh)
        n = torch.tanh(ni + r * nh)
        return (1 - z) * n + z * h

    def norm(self, name, x):
        return F.layer_norm(x, (x.shape[-1],), self.w[f"{name}.weight"], self.w[f"{name}.bias"])

    def heads(self, name, query, memory, causal=False):
        q, k, v = (self.linear(f"{name}.{part}", x) for part, x in
                   (("query", query), ("key", memory), ("value", memory)))  # fmt: skip
        out = []
        for qh, kh, vh in zip(q.chunk(2, 1), k.chunk(2, 1), v.chunk(2, 1), strict=True):
            scores = qh @ kh.T / math.sqrt(qh.shape[1])
            if causal:
                scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -math.inf)
            out.append(scores.softmax(1) @ vh)
        return self.linear(f"{name}.output", torch.cat(out, 1))

    def feed_forward(self, name, x):
        inner = F.relu(self.linear(f"{name}.feed_forward.inner", x))
        return self.norm(f"{name}.norm", x + self.linear(f"{name}.feed_forward.outer", inner))

    def placed(self, x):
        t = torch.arange(len(x), dtype=x.dtype)[:, None]
        angles = t / 10000 ** (torch.arange(0, E, 2, dtype=x.dtype) / E)
        p = torch.stack([angles.sin(), angles.cos()], 2).flatten(1)
        return math.sqrt(E) * x + p

    def states(self, ids):
        x = self.w["source.weight"][ids]
        if self.transformer:
            x = self.placed(x)
            for layer in range(2):
                name = f"encoder.{layer}"
                x = self.norm(f"{name}.norm", x + self.heads(f"{name}.attention", x, x))
                x = self.feed_forward(f"{name}.position", x)
            return x, None
        for layer in range(2):
            sides, ends = [], []
            for suffix, order in ((f"l{layer}", 1), (f"l{layer}_reverse", -1)):
                h, outputs = x.new_zeros(H), []
                for t in range(len(x))[::order]:
                    h = self.gru("encoder", x[t], h, suffix)
                    outputs.append(h)
                sides.append(torch.stack(outputs[::order]))
                ends.append(h)
            x = torch.cat(sides, 1)
        return x, torch.cat(ends)

    def inner(self, h):
        a = (self.w["inner.score.weight"] @ torch.tanh(self.w["inner.hidden.weight"] @ h.T)).softmax(1)
        return a, a @ self.linear("project", h)  # eq. 2, eq. 1 of projected states

    def vector(self, h, last):
        kind = self.architecture.partition("_")[0]
        if self.architecture in INNER:
            return self.inner(h)[1].flatten()
        return {"final": lambda: last, "avgpool": lambda: h.mean(0), "maxpool": lambda: h.max(0).values}[
            kind
        ]()

    def log_probabilities(self, source, target):
        h, last = self.states(source)
        y = self.w["table.weight"][torch.tensor([V - 1, *target[:-1]])]
        if self.transformer:
            memory = h if self.architecture == "trf" else self.inner(h)[1]
            x = self.placed(y)
            for layer in range(2):
                name = f"decoder.layers.{layer}"
                x = self.norm(f"{name}.words_norm", x + self.heads(f"{name}.words", x, x, causal=True))
                x = self.norm(f"{name}.memory_norm", x + self.heads(f"{name}.memory", x, memory))
                x = self.feed_forward(f"{name}.position", x)
            return self.linear("softmax", x).log_softmax(1)
        if self.architecture == "attn":
            s = torch.tanh(self.linear("decoder.begin.linear", last))
        elif self.architecture == "attn_attn" and not self.config["begins_with_sentence"]:
            s = torch.tanh(self.w["decoder.begin.bias"])
        else:
            s = torch.tanh(self.linear("decoder.begin.linear", self.vector(h, last)))
        rows = []
        for word in y:
            if "_" not in self.architecture and self.architecture != "attn":
                s = self.gru("decoder.gru", word, s)
                seen = [s, word]
            else:
                s = self.gru("decoder.gru.word", word, s)
                if self.architecture.endswith("_ctx"):
                    c = self.vector(h, last)
                else:
                    memory = h if self.architecture == "attn" else self.inner(h)[1]
                    name = "decoder.gru.attention"
                    keys = self.linear(f"{name}.key", memory)
                    e = self.linear(f"{name}.score", torch.tanh(keys + self.linear(f"{name}.query", s)))
                    c = e[:, 0].softmax(0) @ memory
                s = self.gru("decoder.gru.context", c, s)
                seen = [s, word, c]
            t = torch.tanh(self.linear("decoder.output.linear", torch.cat(seen)))
            rows.append(self.linear("softmax", t).log_softmax(0))
        return torch.stack(rows)

    def loss(self, source, source_lengths, target, target_lengths):
        total = 0
        for x, n, y, m in zip(source, source_lengths, target, target_lengths, strict=True):
            p = self.log_probabilities(x[:n], y[:m].tolist())
            total = total - p[torch.arange(m), y[:m]].sum()
        return total


@pytest.mark.parametrize("architecture", [*ALL, "attn_attn of the public code"])
def test_loss_and_gradients_equal_the_equations(architecture):
    name = architecture.partition(" ")[0]
    network = small_network(name, begins_with_sentence=name != architecture)
    expected = Plain(network).loss(*batch())
    gradients = torch.autograd.grad(expected, list(network.parameters()), allow_unused=True)
    loss = network.loss(*batch())
    torch.testing.assert_close(loss.sum, expected)
    assert loss.tokens == 9
    network_gradients = torch.autograd.grad(loss.sum, list(network.parameters()), allow_unused=True)
    for (weight_name, parameter), mine, theirs in zip(
        network.named_parameters(), network_gradients, gradients, strict=True
    ):
        if theirs is not None:
            torch.testing.assert_close(
                mine, theirs, msg=lambda text, weight_name=weight_name: f"{weight_name}: {text}"
            )
            assert parameter.numel() == 1 or theirs.abs().max() > 0, weight_name


@pytest.mark.parametrize("architecture", WITH_VECTOR)
def test_embeddings_equal_the_equations(architecture):
    network = small_network(architecture).eval()
    source, lengths, _, _ = batch()
    plain = Plain(network)
    embeddings = network.encode(network.source.weight[source], lengths)
    expected = [plain.vector(*plain.states(x[:n])) for x, n in zip(source, lengths, strict=True)]
    torch.testing.assert_close(embeddings, torch.stack(expected))


@pytest.mark.parametrize("architecture", WITH_VECTOR)
def test_the_decoder_reads_only_the_embedding(architecture):
    network = small_network(architecture).eval()
    source, lengths, target, ends = batch()
    (z,) = network.read(network.source.weight[source], lengths)
    (other,) = network.read(torch.randn(3, 5, E, dtype=torch.double), lengths)
    scores = network.score([z], target, ends)
    torch.testing.assert_close(network.score([z], target, ends), scores)
    # Translations depend only on the embeddings.
    network.encode(torch.randn(3, 5, E, dtype=torch.double), lengths)
    assert torch.equal(network.translate([z.clone()]).ids, network.translate([z]).ids)
    assert not torch.allclose(network.score([other], target, ends), scores)
    network.eval()
    for name, parameter in network.named_parameters():  # the encoder's weights are not asked for again
        if name.startswith(("encoder.", "inner.", "project.", "source.")):
            parameter.data.normal_()
    torch.testing.assert_close(network.score([z], target, ends), scores)


@pytest.mark.parametrize("architecture", ["attn", "trf"])
def test_without_an_embedding_the_decoder_reads_all_states(architecture):
    network = small_network(architecture).eval()
    source, lengths, target, ends = batch()
    x = network.source.weight[source]
    with pytest.raises(ValueError, match=f"'{architecture}' has no sentence embedding: its decoder attends"):
        network.encode(x, lengths)
    h, mask, *rest = network.read(x, lengths)
    assert mask.tolist() == [[t < n for t in range(5)] for n in lengths]
    scores = network.score([h, mask, *rest], target, ends)
    changed = h.clone()
    changed[1, 1] += 1
    moved = (network.score([changed, mask, *rest], target, ends) - scores).abs() > 1e-6
    assert moved.tolist() == [False, True, False]
    changed = h.clone()
    changed[1, 2:] = math.nan  # after the sentence's end
    torch.testing.assert_close(network.score([changed, mask, *rest], target, ends), scores)


@pytest.mark.parametrize("architecture", ALL)
def test_steps_score_what_teacher_forcing_scores(architecture):
    network = small_network(architecture).eval()
    source, lengths, target, ends = batch()
    x = network.source.weight[source]
    scores = network.score(network.read(x, lengths), target, ends)
    torch.testing.assert_close(-scores.sum(), network.loss(source, lengths, target, ends).sum)


@pytest.mark.parametrize("architecture", ALL)
def test_a_reconstruction_does_not_depend_on_the_batch(architecture):
    network = small_network(architecture).eval()
    source, lengths, _, _ = batch()
    x = network.source.weight[source]
    together = network.translate(network.read(x, lengths), beam=3, best=2, max_length=6)
    for i, n in enumerate(lengths.tolist()):
        alone = network.translate(
            network.read(x[i : i + 1, :n], lengths[i : i + 1]), beam=3, best=2, max_length=6
        )
        assert alone.lengths[0].tolist() == together.lengths[i].tolist()
        for ids, others, count in zip(alone.ids[0], together.ids[i], alone.lengths[0].tolist(), strict=True):
            assert ids[:count].tolist() == others[:count].tolist()
        torch.testing.assert_close(alone.scores[0], together.scores[i])


def test_maximum_of_negative_states_ignores_padding():
    """The public code pads with about zero, so its maxima are never negative."""
    network = small_network("maxpool").eval()
    x = network.source.weight[torch.tensor([[1, 0, 0], [2, 3, 4]])]
    z = network.encode(x, torch.tensor([1, 3]))
    torch.testing.assert_close(z[:1], network.encode(x[:1, :1], torch.tensor([1])))
    assert (z[0] < -1e-3).any()


@pytest.mark.parametrize("architecture", ["attn", "attn_attn", "trf", "trf_attn_attn"])
def test_attention_weights_sum_to_one_over_words(architecture):
    network = small_network(architecture).eval()
    source, lengths, target, ends = batch()
    x = network.source.weight[source]
    b = network.attention(network.read(x, lengths), target, ends)
    assert b.shape == (3, 4, 5 if architecture in ("attn", "trf") else 3)
    if architecture in INNER:
        a = network.inner_attention(x, lengths)
        torch.testing.assert_close(a.sum(2), torch.ones_like(a[..., 0]))
        assert (a[1, :, 2:] == 0).all()
        b = b @ a
    for i, (n, m) in enumerate(zip(lengths, ends, strict=True)):
        torch.testing.assert_close(b[i, :m].sum(1), torch.ones(m, dtype=torch.double))
        assert (b[i, :m, n:] == 0).all()


def test_layers_of_a_transformer_have_different_attention():
    network = small_network("trf").eval()
    source, lengths, target, ends = batch()
    memory = network.read(network.source.weight[source], lengths)
    first, last = (network.attention(memory, target, ends, layer) for layer in (0, -1))
    assert not torch.allclose(first, last)
    torch.testing.assert_close(network.attention(memory, target, ends, 1), last)
    with pytest.raises(ValueError, match="layer must be from -2 to 1, got 2"):
        network.attention(memory, target, ends, 2)


@pytest.mark.parametrize("architecture", sorted(set(ALL) - set(INNER)))
def test_missing_inner_attention_is_reported(architecture):
    network = small_network(architecture)
    with pytest.raises(ValueError, match=f"architecture='{architecture}' has no inner attention"):
        network.inner_attention(torch.randn(1, 2, E, dtype=torch.double), torch.tensor([2]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"architecture": "attention"},
            "architecture must be 'attn', 'final', .* or 'trf_attn_attn', got 'attention'",
        ),
        ({"size": 10}, "size must be a multiple of heads, got 10 and 3"),
        ({"architecture": "final", "size": 9}, r"no inner attention: size must be 2 hidden, 8, or 0, got 9"),
        ({"architecture": "trf", "size": 0, "hidden": 3}, "hidden must be half of 8, got 3"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\), got 1"),
        ({"heads": 0}, "must be at least 1"),
        ({"architecture": "trf", "size": 0, "attention_heads": 3}, "multiple of heads, got 8 and 3"),
        ({"source_words": 0}, "source_words.* must be at least 1"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        small_network(options.pop("architecture", "attn_attn"), **options)


def test_dropout_is_applied_only_in_training():
    network = small_network("attn_attn", dropout=0.5)
    losses = {network.loss(*batch()).sum.item() for _ in range(3)}
    assert len(losses) == 3
    network.eval()
    torch.testing.assert_close(network.loss(*batch()).sum, Plain(network).loss(*batch()))
