"""Compound-attention translation as an encoder: training, translation, files."""

from __future__ import annotations

import itertools
import json
import pickle

import numpy as np
import pytest
import torch

import sentencode as se
from sentencode.models import Classifier
from sentencode.models.translator import Translator, read_batches

from . import checks

NOUNS = {"dog": "Hund", "cat": "Katze", "bird": "Vogel", "man": "Mann"}
VERBS = {"runs": "rennt", "sleeps": "schläft", "sings": "singt"}
ADVERBIALS = {"": "", "at home": "daheim", "in the park": "im Park"}
PAIRS = [
    (f"a {noun} {verb} {where}".strip(), f"ein {NOUNS[noun]} {VERBS[verb]} {ADVERBIALS[where]}".strip())
    for noun in NOUNS
    for verb in VERBS
    for where in ADVERBIALS
]
SOURCE, TARGET = ([pair[side] for pair in PAIRS] for side in (0, 1))
ARCHITECTURES = (
    *("attn", "final", "final_ctx", "avgpool", "avgpool_ctx", "maxpool", "maxpool_ctx"),
    *("attn_ctx", "attn_attn", "trf", "trf_attn_attn"),
)


def unfitted(architecture="attn_attn", **options):
    transformer = architecture.startswith("trf")
    small = {
        "preset": "paper",
        **{"features": 16, "hidden": 8 if transformer else 12, "decoder_hidden": 24, "attention": 12},
        **{"layers": 1, "attention_heads": 2, "inner": 32, "dropout": 0.0, "batch_size": 8},
        **{"max_epochs": None, "max_steps": 150, "learning_rate": 0.02 if not transformer else 0.01},
        **{"heads": 2, "device": "cpu", "schedule": "constant"},
    }
    return se.CompoundNMT(**{**small, "architecture": architecture, **options})


def fitted(architecture="attn_attn", **options):
    return unfitted(architecture, **options).fit(SOURCE, TARGET)


@pytest.fixture(scope="module")
def nmt():
    return fitted()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_architecture_overfits_copying(architecture):
    """The order of the words matters, so a bag of words would not suffice."""
    texts = [" ".join(order) for n in (1, 2, 3) for order in itertools.permutations("abcd", n)]
    slow = {"max_steps": 900, "learning_rate": 0.005, "hidden": 16, "decoder_hidden": 48, "features": 32}
    encoder = unfitted(architecture, **{"max_steps": 400, "features": 32, "hidden": 16, **slow}).fit(
        texts, texts
    )
    right = np.mean([a == b for a, b in zip(encoder.translate(texts, beam=1), texts, strict=True)])
    assert right > 0.95
    assert encoder.history_.steps[-1].loss < 0.2


def test_both_sides_may_have_the_same_words(tmp_path):
    words = se.Vocabulary({"a": 3, "b": 2, "c": 1})
    texts = ["a b c", "c b", "b a x", "y c a"]
    encoder = unfitted("attn", vocabulary=words, target_vocabulary=words, max_steps=200).fit(texts, texts)
    assert encoder.translate(texts[:2], beam=2) == texts[:2]
    assert [text.count("<unk>") for text in encoder.translate(texts)] == [0, 0, 1, 1]
    for before, after in zip(
        encoder.translate(texts[2:]), encoder.translate(texts[2:], replace_unknown=True), strict=True
    ):
        pairs = list(zip(before.split(), after.split(), strict=True))
        assert [a == b for a, b in pairs] == [a != "<unk>" for a, _ in pairs]
    translations, scores = zip(*encoder.translate(texts, scores=True), strict=True)
    np.testing.assert_allclose(encoder.score(texts, translations), scores, atol=1e-4)
    encoder.save(tmp_path / "nmt")
    assert se.load(tmp_path / "nmt").translate(texts) == encoder.translate(texts)


def test_defaults_of_presets_and_transformers():
    def chosen(names, **options):
        settings = se.CompoundNMT(**{"preset": "paper", **options}).settings()
        return tuple(settings[name] for name in names)

    rates = ("learning_rate", "schedule", "warmup", "betas")
    assert chosen(rates) == (1e-4, "constant", 0, (0.9, 0.999))
    assert chosen(rates, schedule="inverse_sqrt") == (1e-4, "inverse_sqrt", 4000, (0.9, 0.999))
    highest = (512 * 4000) ** -0.5
    for preset in ("paper", "reference"):
        transformer = chosen(rates, architecture="trf", preset=preset)
        assert transformer == (pytest.approx(highest), "inverse_sqrt", 4000, (0.9, 0.98))
    transformer = chosen(rates, architecture="trf_attn_attn", warmup=100, features=64)
    assert transformer == (pytest.approx(1 / 80), "inverse_sqrt", 100, (0.9, 0.98))
    assert chosen(rates[:3], architecture="trf", schedule="constant") == (1e-4, "constant", 0)
    assert chosen(rates[:1], architecture="trf", learning_rate=0.5) == (0.5,)
    clipping = ("clip_norm", "clip_each", "begins_with_sentence")
    assert chosen(clipping) == (5.0, None, False)
    assert chosen(clipping, preset="reference") == (None, 1.0, True)
    assert chosen(clipping, preset="reference", clip_norm=2.0) == (2.0, 1.0, True)


def test_the_rates_of_a_transformer_are_those_of_its_paper():
    encoder = fitted("trf", schedule=None, learning_rate=None, warmup=7, max_steps=20)
    expected = [16**-0.5 * min(step**-0.5, step * 7**-1.5) for step in range(1, 21)]
    np.testing.assert_allclose([step.learning_rate for step in encoder.history_.steps], expected, rtol=1e-12)


def test_encode_returns_the_networks_embeddings(nmt):
    rows = nmt.encode(SOURCE)
    assert rows.shape == (len(PAIRS), 24) == (len(PAIRS), nmt.dim)
    with torch.no_grad():
        ids = torch.tensor([[nmt.vocabulary_.words.index(word) for word in SOURCE[4].split()]])
        x = nmt.network.source.weight[ids]
        z = nmt.network.eval().encode(x, torch.tensor([ids.shape[1]]))
    np.testing.assert_allclose(rows[4], z[0].numpy(), atol=1e-6)
    assert (nmt.encode([""]) == 0).all()
    with pytest.raises(ValueError, match="'attn' has no sentence embedding"):
        fitted("attn", max_steps=1).encode(SOURCE)


def test_unknown_words_are_read_and_can_be_copied(nmt):
    assert not np.allclose(nmt.encode("a dog runs"), nmt.encode("a zebra runs"))
    np.testing.assert_allclose(nmt.encode("a zebra runs"), nmt.encode("a giraffe runs"), atol=1e-7)
    rare = [*TARGET[:-1], "ein Xyz singt"]  # seen once, so that it has no id
    encoder = unfitted("attn", min_count=2, max_steps=200).fit(SOURCE, rare)
    assert "Xyz" not in encoder.target_vocabulary_
    texts = encoder.translate(SOURCE)
    copied = encoder.translate(SOURCE, replace_unknown=True)
    changed = [(one, other) for one, other in zip(texts, copied, strict=True) if one != other]
    assert all(("<unk>" in one) == (one != other) for one, other in zip(texts, copied, strict=True))
    assert not any("<unk>" in text for text in copied)
    assert changed or not any("<unk>" in text for text in texts)


def test_translate_takes_one_sentence_or_a_list(nmt):
    assert nmt.translate(SOURCE[0]) == nmt.translate([SOURCE[0]])[0] == nmt.translate([SOURCE[0].split()])[0]
    assert nmt.translate([]) == []
    assert nmt.translate(["", SOURCE[1], " "]) == ["", nmt.translate(SOURCE[1]), ""]
    assert nmt.translate("") == ""


def test_the_best_come_first_with_their_scores(nmt):
    texts = nmt.translate(SOURCE[:3], beam=4, best=3, scores=True)
    for source, row in zip(SOURCE, texts, strict=False):
        scores = [score for _, score in row]
        assert len(row) == 3
        assert scores == sorted(scores, reverse=True)
        np.testing.assert_allclose(nmt.score([source] * 3, [text for text, _ in row]), scores, atol=1e-4)
    with pytest.raises(ValueError, match="best must be"):
        nmt.translate(SOURCE, beam=2, best=3)


def test_samples_are_restricted_to_likely_words(nmt):
    wild = {"sample": True, "temperature": 3.0}
    assert nmt.translate(SOURCE, **wild) == nmt.translate(SOURCE, **wild) != TARGET
    narrow = nmt.translate(SOURCE, sample=True, top_k=1)
    assert narrow == nmt.translate(SOURCE, beam=1)
    with pytest.raises(ValueError, match="top_p"):
        nmt.translate(SOURCE, sample=True, top_p=0.0)


def test_a_sample_depends_only_on_seed_and_index(nmt):
    wild = {"sample": True, "temperature": 3.0}
    longer, shorter, sentence = SOURCE[2], "a man", SOURCE[0]
    samples = {
        nmt.translate([neighbour, sentence, *rest], **wild)[1]
        for neighbour, rest in ((longer, []), (shorter, []), ("", []), (longer, [shorter] * 80))
    }
    assert len(samples) == 1
    assert nmt.translate([sentence] * 4, **wild) == nmt.translate([sentence] * 9, **wild)[:4]
    assert len(set(nmt.translate([sentence] * 9, **wild))) > 1
    seeds = (1, 1 + 2**32, 2**63 - 1)
    assert len({tuple(nmt.translate(SOURCE, seed=seed, **wild)) for seed in seeds}) == 3


def test_alignment_is_the_product_of_both_attentions(nmt):
    words, target_words, weights = nmt.alignment(SOURCE[1], TARGET[1])
    assert words == SOURCE[1].split()
    assert target_words == [*TARGET[1].split(), "</s>"]
    assert weights.shape == (len(target_words), len(words))
    np.testing.assert_allclose(weights.sum(1), 1, atol=1e-5)
    of, a = nmt.inner_attention(SOURCE[1])
    assert of == words
    assert a.shape == (2, len(words))
    np.testing.assert_allclose(a.sum(1), 1, atol=1e-5)
    with torch.no_grad():
        ids, ends = Translator(nmt).target_ids([TARGET[1]], torch.device("cpu"))
        _, _, x, lengths = next(read_batches(nmt, [SOURCE[1]]))
        b = nmt.network.attention(nmt.network.read(x, lengths), ids, ends)[0].numpy()
    np.testing.assert_allclose(weights, b @ a, atol=1e-6)
    assert nmt.alignment(SOURCE[1])[1][:-1] == nmt.translate(SOURCE[1]).split()
    assert nmt.alignment(SOURCE[1].split())[:2] == nmt.alignment(SOURCE[1])[:2]
    with pytest.raises(ValueError, match="its decoder has no attention"):
        fitted("final", max_steps=1).alignment(SOURCE[1])
    with pytest.raises(ValueError, match="sentence has no word"):
        nmt.alignment("")


@pytest.mark.parametrize("architecture", ["trf", "trf_attn_attn"])
def test_alignments_of_a_transformer_are_those_of_a_layer(architecture):
    encoder = fitted(architecture, layers=2, max_steps=30)
    first, second, last = (encoder.alignment(SOURCE[1], TARGET[1], layer=i)[2] for i in (0, 1, -1))
    np.testing.assert_array_equal(last, second)
    assert not np.allclose(first, last, rtol=0, atol=1e-6)
    for weights in (first, last):
        np.testing.assert_allclose(weights.sum(1), 1, atol=1e-5)
    for layer in (2, -3):
        with pytest.raises(ValueError, match=f"layer must be from -2 to 1, got {layer}"):
            encoder.alignment(SOURCE[1], TARGET[1], layer=layer)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_methods_that_an_architecture_lacks_raise(architecture):
    encoder = fitted(architecture, max_steps=1)
    text = SOURCE[1]
    calls = {
        "has no sentence embedding: its decoder attends": (
            lambda: encoder.encode(text),
            architecture in ("attn", "trf"),
        ),
        "its decoder has no attention": (
            lambda: encoder.alignment(text),
            architecture not in ("attn", "attn_attn", "trf", "trf_attn_attn"),
        ),
        "its decoder has no attention$": (
            lambda: encoder.score([text], [encoder.translate(text, replace_unknown=True)]),
            architecture not in ("attn", "attn_attn", "trf", "trf_attn_attn"),
        ),
        "has no inner attention": (
            lambda: encoder.position_weights(text, least_words=1),
            architecture not in ("attn_ctx", "attn_attn", "trf_attn_attn"),
        ),
    }
    for message, (call, missing) in calls.items():
        if missing:
            with pytest.raises(ValueError, match=f"architecture='{architecture}'.*{message}"):
                call()
        else:
            assert np.isfinite(np.ravel(call()[-1])).all()


def test_plot_alignment(nmt):
    pytest.importorskip("matplotlib").use("agg")
    axes = nmt.plot_alignment(SOURCE[1], TARGET[1], least=0.02)
    words, target_words, weights = nmt.alignment(SOURCE[1], TARGET[1])
    _, a = nmt.inner_attention(SOURCE[1])
    with torch.no_grad():
        ids, ends = Translator(nmt).target_ids([TARGET[1]], torch.device("cpu"))
        _, _, x, lengths = next(read_batches(nmt, [SOURCE[1]]))
        b = nmt.network.attention(nmt.network.read(x, lengths), ids, ends)[0].numpy()
    assert len(axes.collections) == 2  # heads
    assert [text.get_text() for text in axes.get_yticklabels()] == words
    (right,) = axes.child_axes
    assert [text.get_text() for text in right.get_yticklabels()] == target_words
    columns = dict(zip(axes.get_yticks(), range(len(words)), strict=True))
    rows = dict(zip(right.get_yticks(), range(len(target_words)), strict=True))
    whole = np.zeros_like(weights)
    for head, strokes in enumerate(axes.collections):
        shown = np.zeros_like(weights)
        for ((_, begin), (_, end)), width in zip(
            strokes.get_segments(), strokes.get_linewidths(), strict=True
        ):
            shown[rows[end], columns[begin]] = width / 5
        expected = b[:, head, None] * a[head]
        np.testing.assert_allclose(shown, np.where(expected > 0.02, expected, 0), atol=1e-6)
        whole += shown
    assert np.abs(whole - weights).max() < 0.04 + 1e-6  # `least` of each head
    colours = {tuple(strokes.get_colors()[0]) for strokes in axes.collections if len(strokes.get_segments())}
    assert len(colours) == sum(len(strokes.get_segments()) > 0 for strokes in axes.collections)
    assert len(fitted("attn", max_steps=1).plot_alignment(SOURCE[1]).collections) == 1


def test_position_weights_equal_a_loop(nmt):
    texts = ["a dog runs", "a cat sleeps at home", "", "the zebra sings in the park", "a man"]
    for bins, least in ((4, 1), (3, 3), (10, 4), (1, 5)):
        rows = []
        for text in texts:
            if len(text.split()) < least:
                continue
            _, weights = nmt.inner_attention(text)
            row = np.zeros((2, bins))
            for t, weight in enumerate(weights.T):
                for bin in range(bins):  # the part of the word in the bin
                    begin = max(t / weights.shape[1], bin / bins)
                    end = min((t + 1) / weights.shape[1], (bin + 1) / bins)
                    row[:, bin] += weight * max(0, end - begin) * weights.shape[1]
            rows.append(row)
        histogram = nmt.position_weights(texts, bins=bins, least_words=least)
        np.testing.assert_allclose(histogram, np.mean(rows, 0), atol=1e-6)
        np.testing.assert_allclose(histogram.sum(1), 1, atol=1e-6)
    np.testing.assert_allclose(
        nmt.position_weights("a dog runs", bins=3, least_words=3), nmt.inner_attention("a dog runs")[1]
    )
    with pytest.raises(ValueError, match="no sentence has 8 words or more"):
        nmt.position_weights(texts)
    with pytest.raises(ValueError, match="bins must be at least 1, got 0"):
        nmt.position_weights(texts, bins=0)


def test_plot_positions(nmt):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    weights = nmt.position_weights(SOURCE, bins=5, least_words=3)
    for axes in (None, pyplot.subplots(1, 2)[1]):
        plotted = nmt.plot_positions(SOURCE, bins=5, least_words=3, axes=axes)
        for ax, row in zip(plotted, weights, strict=True):
            np.testing.assert_allclose(ax.patches[0].get_data().values, row)
    with pytest.raises(ValueError, match="axes must be 2, one for each head, got 3"):
        nmt.plot_positions(SOURCE, least_words=3, axes=pyplot.subplots(1, 3)[1])
    pyplot.close("all")


@pytest.mark.parametrize("architecture", ["attn_attn", "attn", "maxpool_ctx", "trf_attn_attn"])
def test_save_and_load(architecture, tmp_path):
    encoder = fitted(architecture, max_steps=20)
    encoder.save(tmp_path / "nmt")
    for other in (se.load(tmp_path / "nmt"), pickle.loads(pickle.dumps(encoder))):
        assert other.translate(SOURCE, beam=2) == encoder.translate(SOURCE, beam=2)
        assert other.fingerprint() == encoder.fingerprint()
        assert dict(other.target_vocabulary_) == dict(encoder.target_vocabulary_)
        if architecture != "attn":
            np.testing.assert_array_equal(other.encode(SOURCE), encoder.encode(SOURCE))


def test_the_fingerprint_depends_on_the_target_vocabulary():
    first, other = (
        unfitted(max_steps=1).fit(SOURCE, target) for target in (TARGET, [t.lower() for t in TARGET])
    )
    assert first.fingerprint() != other.fingerprint()


def test_a_bpe_is_saved_and_detokenizes(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>"))
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    bpe.decoder = tokenizers.decoders.Metaspace()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=60, special_tokens=["<unk>"], show_progress=False)
    bpe.train_from_iterator(SOURCE + TARGET, trainer)
    encoder = fitted(tokenizer=bpe, max_steps=250)
    assert any("▁" in word for word in encoder.target_vocabulary_)
    texts = encoder.translate(SOURCE)
    assert np.mean([a == b for a, b in zip(texts, TARGET, strict=True)]) > 0.8
    encoder.save(tmp_path / "nmt")
    other = se.load(tmp_path / "nmt")
    assert other.translate(SOURCE) == texts
    np.testing.assert_array_equal(other.encode(SOURCE), encoder.encode(SOURCE))
    one_sided = fitted(target_tokenizer=bpe, max_steps=2)
    one_sided.save(tmp_path / "one-sided")
    again = se.load(tmp_path / "one-sided")
    assert again.translate(SOURCE) == one_sided.translate(SOURCE)
    assert again.tokenizer_.split == "whitespace"
    assert again.fit(SOURCE, TARGET).fingerprint() == one_sided.fingerprint()


def test_files_are_read_line_by_line(nmt, tmp_path):
    for name, lines in (("en", SOURCE), ("de", TARGET)):
        (tmp_path / name).write_text("\n".join([*lines[:5], "", *lines[5:]]) + "\n", encoding="utf-8")
    encoder = unfitted().fit(str(tmp_path / "en"), tmp_path / "de")
    assert encoder.fingerprint() == nmt.fingerprint()
    mixed = unfitted().fit(tmp_path / "en", [*TARGET[:5], "", *TARGET[5:]])
    assert mixed.fingerprint() == nmt.fingerprint()
    (tmp_path / "de").write_text("\n".join(TARGET), encoding="utf-8")
    with pytest.raises(ValueError, match="lines"):
        unfitted().fit(str(tmp_path / "en"), str(tmp_path / "de"))
    streams = unfitted().fit(iter(SOURCE), iter(TARGET))
    assert streams.fingerprint() == nmt.fingerprint()


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (SOURCE, TARGET[:-1], "sentence 35 has no translation: there are 35 translations"),
        (SOURCE[:-1], TARGET, "there are more translations than sentences"),
        (SOURCE, [""] * len(SOURCE), "translations have no words"),
        ([""] * len(SOURCE), TARGET, "no sentence that has a word"),
    ],
)
def test_mismatched_sides_are_reported(source, target, message):
    with pytest.raises(ValueError, match=message):
        unfitted().fit(source, target)


def test_valid_has_two_sides():
    with pytest.raises(ValueError, match="valid must be a tuple of sentences and their translations"):
        unfitted().fit(SOURCE, TARGET, valid=SOURCE)
    encoder = unfitted(max_steps=20, validate_every=10).fit(SOURCE, TARGET, valid=(SOURCE[:9], TARGET[:9]))
    assert len(encoder.history_.validations) == 2
    assert 0 <= encoder.history_.validations[-1].accuracy <= 1


def test_a_resumed_training_is_bit_equal(tmp_path):
    whole = fitted(dropout=0.2, max_steps=30)
    unfitted(dropout=0.2, max_steps=13).fit(SOURCE, TARGET, checkpoints=tmp_path / "run")
    resumed = unfitted(dropout=0.2, max_steps=30).fit(SOURCE, TARGET, checkpoints=tmp_path / "run")
    checks.assert_equal_weights(resumed.network, whole.network)
    with pytest.raises(ValueError, match="different run"):
        unfitted(dropout=0.2, max_steps=30).fit(
            SOURCE, [text.lower() for text in TARGET], checkpoints=tmp_path / "run"
        )


def test_token_budgets_count_both_sides():
    longer = [f"{text} {text} {text}" for text in TARGET]
    options = {"batching": "token_budget", "max_epochs": 1, "max_steps": None}
    few, many = (
        len(unfitted(max_tokens=60, **options).fit(SOURCE, target).history_.steps)
        for target in (TARGET, longer)
    )
    assert many > 1.5 * few


def test_source_rows_are_initialised_with_vectors():
    vectors = se.WordVectors.from_dict({"dog": np.arange(6.0), "cat": np.ones(6)})
    encoder = fitted(vectors=vectors, max_steps=1, learning_rate=1e-30)
    row = encoder.network.source.weight[encoder.vocabulary_.words.index("dog")].detach().numpy()
    np.testing.assert_allclose(row, np.arange(6.0), atol=1e-6)
    assert encoder.network.source.weight.shape == (len(encoder.vocabulary_) + 1, 6)
    assert "runs" in encoder.vocabulary_


def test_source_rows_may_have_length_one():
    vectors = se.WordVectors.from_dict({"dog": np.arange(6.0), "cat": np.ones(6)})
    encoder = fitted(vectors=vectors, max_steps=1, learning_rate=1e-30, unit_words=True, features=None)
    row = encoder.network.source.weight[encoder.vocabulary_.words.index("dog")].detach().numpy()
    np.testing.assert_allclose(row, np.arange(6.0) / np.linalg.norm(np.arange(6.0)), atol=1e-6)


def test_no_warmup():
    for warmup in (0, 0.0):
        settings = se.CompoundNMT(architecture="trf", features=16, warmup=warmup).settings()
        assert settings["learning_rate"] == 0.25  # 16^-0.5


def test_word_tables_are_trained(nmt):
    with pytest.raises(ValueError, match=r"trainable_words=False: .*; fit\(freeze=\['source'\]\) keeps"):
        fitted(trainable_words=False)


def test_a_file_and_a_column_are_translated(nmt, tmp_path):
    pandas = pytest.importorskip("pandas")
    (tmp_path / "source.txt").write_text("\n".join([*SOURCE[:2], "", SOURCE[2]]))
    lines = [*SOURCE[:2], "", SOURCE[2]]
    expected = nmt.translate(lines)
    assert nmt.translate(tmp_path / "source.txt") == expected
    assert nmt.translate(pandas.DataFrame({"text": lines})) == expected
    weights = nmt.position_weights(lines, least_words=1)
    np.testing.assert_array_equal(nmt.position_weights(tmp_path / "source.txt", least_words=1), weights)
    np.testing.assert_array_equal(nmt.score(tmp_path / "source.txt", lines), nmt.score(lines, lines))


def test_expand_vocabulary_is_not_available(nmt):
    with pytest.raises(NotImplementedError, match=r"has no expand_vocabulary: .* read as unknown"):
        nmt.expand_vocabulary(se.WordVectors.from_dict({"dog": np.ones(4), "zebra": np.ones(4)}))


def test_init_copies_weights_and_freeze_keeps_them(nmt):
    encoder = unfitted(max_steps=3).fit(SOURCE, TARGET, init=nmt, freeze=["encoder", "source"])
    for name, tensor in nmt.network.state_dict().items():
        frozen = torch.equal(tensor, encoder.network.state_dict()[name])
        assert frozen == name.startswith(("encoder.", "source.")), name


def test_init_copies_the_rows_of_common_words():
    small = {"max_steps": 1, "learning_rate": 1e-30, "sampled_words": 3}
    first = unfitted(**small).fit(["a b c", "c b"], ["X Y Z", "X Y"])
    second = unfitted(**small).fit(["b a d", "b d d"], ["W Y Z", "W W"], init=first)
    fresh = unfitted(**small).fit(["b a d", "b d d"], ["W Y Z", "W W"])
    weights, copied, initial = (encoder.network.state_dict() for encoder in (second, first, fresh))

    def row_words(encoder, name):
        words = encoder.task_class.table_words(encoder, encoder.vocabulary_, encoder.network)
        return words["source_words" if name == "source.weight" else "words"]

    for name in ("source.weight", "table.weight", "softmax.weight", "softmax.bias"):
        words = row_words(first, name)
        for row, word in enumerate(row_words(second, name)):
            expected = copied[name][words.index(word)] if word in words else initial[name][row]
            torch.testing.assert_close(weights[name][row], expected, rtol=0, atol=1e-20, msg=f"{name} {word}")
    assert torch.equal(weights["expected"], initial["expected"])  # counts of the new corpus


def test_unknown_target_words_are_sampled_as_often_as_they_occur():
    target = [f"ein Wort{i} ein" for i in range(len(SOURCE) - 1)] + ["ein ein ein"]
    encoder = unfitted(min_count=2, max_steps=1, sampled_words=2).fit(SOURCE, target)
    assert encoder.target_vocabulary_.words == ["ein"]
    counts = torch.tensor([2 * len(SOURCE) + 1, len(SOURCE), len(SOURCE) - 1, 1])  # ein, </s>, <unk>, <s>
    fresh = type(encoder.network)(**encoder.network._config)
    fresh.set_word_counts(counts)
    assert torch.equal(encoder.network.state_dict()["expected"], fresh.state_dict()["expected"])


def test_embeddings_are_tuned_to_labels(nmt):
    labels = [text.split()[1] for text in SOURCE]
    encoder = unfitted(head=Classifier(hidden=8, dropout=0.0), max_steps=150).fit(SOURCE, labels, init=nmt)
    assert encoder.score(SOURCE, labels) == (encoder.predict(SOURCE) == np.array(labels)).mean() > 0.9
    with pytest.raises(AttributeError, match="this CompoundNMT was trained with a head: it has no decoder"):
        encoder.translate(SOURCE)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"architecture": "attention"}, "architecture must be .attn., .final., "),
        ({"features": 0}, "features must be at least 1"),
        ({"size": 7}, "size must be a multiple of heads"),
        ({"target_vocabulary": {"a": 1}}, "target_vocabulary must be a Vocabulary"),
        ({"preset": "code"}, "preset must be one of"),
        ({"sampled_words": 4, "label_smoothing": 0.1}, "cannot be combined"),
    ],
)
def test_wrong_parameters_are_named(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        fitted(**options)


def test_damaged_contents_of_the_target_are_refused(nmt):
    other = unfitted()
    for content in ({"words": []}, [], {"words": ["a"], "counts": [], "tokenizer": None}):
        with pytest.raises(ValueError, match=r"more|zip"):
            other.task_class.load_attributes(other, json.loads(json.dumps(content)), trust=False)
