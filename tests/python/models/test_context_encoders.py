"""Context encoders: examples, resumed and distributed training, predicted words, files."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest

torch = pytest.importorskip("torch")
models = pytest.importorskip("sentencode.models")

import sentencode as se
from sentencode.models.context_encoders import (
    FollowingWords,
    NextSentence,
    Paragraphs,
    Surroundings,
    SurroundingWords,
    _OneDocument,
    _Paragraphs,
)
from sentencode.models.task import WordVectorsOf
from sentencode.text.corpus import Corpus

from . import checks

WORDS = ["the", "cat", "dog", "sat", "on", "a", "mat", "ran", "."]
ROWS = np.random.default_rng(0).normal(size=(len(WORDS), 6)).astype(np.float32)
VECTORS = se.WordVectors.from_array(WORDS, ROWS)
TEXT = [
    *("the cat sat on a mat .", "a dog ran on the mat .", "the zzz sat .", "", "a cat ran on ."),
    *("the cat ran on a dog .", "the mat sat on the dog .", "a dog sat on a cat ."),
]
SENTENCES = [line for line in TEXT if line]
SMALL = {"preset": "paper", "max_steps": 4, "max_epochs": None, "batch_size": 2, "device": "cpu"}
CONTEXT = {"hidden": 4, "following_words": 9, "channels": 7, "inner": 5, **SMALL}
ENCODERS = {
    "cnn": (se.RNNCNN, CONTEXT),
    "rnn": (se.RNNCNN, {**CONTEXT, "decoder": "rnn", "targets": "sentence"}),
    "sampling": (
        se.RNNCNN,
        {**CONTEXT, "decoder": "autoregressive_cnn", "feeding": "always_sampling", "cell": "lstm"},
    ),
    "uniform": (se.RNNCNN, {**CONTEXT, "decoder": "autoregressive_rnn", "feeding": "uniform_sampling"}),
    "skip": (se.SkipThoughts, {"hidden": 6, **SMALL}),
    "bi-skip": (se.SkipThoughts, {"hidden": 6, "bidirectional": True, "tied": True, **SMALL}),
    "normalised skip": (se.SkipThoughts, {"hidden": 6, "layer_norm": True, **SMALL}),
    "fast": (se.FastSent, SMALL),
    "fast-ae": (se.FastSent, {"autoencode": True, **SMALL}),
    "composite": (se.CompositeCNN, {"hidden": 6, "filters": 5, "windows": (1, 3), **SMALL}),
    "hierarchical": (
        se.HierarchicalCNN,
        {"hidden": 6, "filters": 5, "windows": (1, 3), "paragraph_length": 3, **SMALL},
    ),
}
each_encoder = pytest.mark.parametrize("name", ENCODERS)


def unfitted(name, **change):
    encoder_class, options = ENCODERS[name]
    return encoder_class(VECTORS, **(options | change))


def fitted(name, **change):
    return unfitted(name, **change).fit(TEXT)


def same(a, b):
    np.testing.assert_array_equal(a.encode(SENTENCES), b.encode(SENTENCES))


# --- Examples -----------------------------------------------------------------------------------------------


def examples(task_class, sentences=TEXT, **change):
    """Return the words of each field of each example."""
    options = {**task_class.parameters, "following_words": 9, "seed": 0, **change}
    task = task_class("Name", options, WordVectorsOf(VECTORS, unit=False), se.Tokenizer("whitespace"))
    task.learn_vocabulary(sentences, None)
    rows = task.examples(sentences, None, None)
    names = [*task.vocabulary.words, *task_class.symbols]
    assert all(names[i] == symbol for symbol, i in rows.symbols().items())
    return [
        {field: " ".join(names[i] for i in ids) for field, ids in rows[n].items()} for n in range(len(rows))
    ]


def test_following_words_cross_sentences_but_not_documents():
    rows = examples(FollowingWords)
    assert rows[0] == {"tokens": TEXT[0], "following": "a dog ran on the mat . the <unk>"}
    assert rows[1] == {"tokens": TEXT[1], "following": "the <unk> sat ."}  # fewer at the end of a document
    assert rows[2]["tokens"] == TEXT[4]  # the last sentence of a document has no example
    assert len(rows) == 5
    rows = examples(FollowingWords, documents=False)
    assert rows[2] == {"tokens": "the <unk> sat .", "following": "a cat ran on . the cat ran on"}
    assert len(rows) == 6


def test_the_next_sentence_is_truncated():
    rows = examples(FollowingWords, targets="sentence", following_words=5)
    assert rows[0] == {"tokens": TEXT[0], "next": "a dog ran on </s>"}
    assert rows[1] == {"tokens": TEXT[1], "next": "the <unk> sat . </s>"}
    assert len(rows) == 5
    # max_length drops sentences that are read, and does not truncate the next one.
    for targets in ("sentence", "words"):
        rows = examples(FollowingWords, targets=targets, max_length=5)
        assert [row["tokens"] for row in rows] == [TEXT[4]]
    assert examples(FollowingWords, targets="sentence", max_length=5)[0]["next"] == f"{TEXT[5]} </s>"


def test_previous_and_next_sentences():
    rows = examples(Surroundings)
    assert rows[0] == {"tokens": TEXT[1], "previous": f"{TEXT[0]} </s>", "next": "the <unk> sat . </s>"}
    assert len(rows) == 3
    assert len(examples(Surroundings, documents=False)) == 5
    assert len(examples(Surroundings, [*TEXT, " ".join(["the"] * 31)])) == 3
    rows = examples(SurroundingWords)
    assert rows[0] == {"tokens": TEXT[1], "previous": TEXT[0], "next": "the sat ."}  # words with ids only
    assert len(rows) == 3
    assert len(examples(SurroundingWords, [*TEXT, " ".join(["the"] * 31)])) == 4


def test_the_next_sentence_has_an_end():
    rows = examples(NextSentence)
    assert rows[0] == {"tokens": f"{TEXT[0]} </s>", "next": f"{TEXT[1]} </s>"}
    assert [len(rows), len(examples(NextSentence, documents=False))] == [5, 6]
    assert examples(NextSentence, max_length=2)[0] == {"tokens": "the cat </s>", "next": "a dog </s>"}


def paragraphs(*args, **change):
    return [[*row.values()] for row in examples(Paragraphs, *args, **change)]


@pytest.mark.parametrize("documents", [True, False])
@pytest.mark.parametrize("length", [2, 3, 4, 5, 7])
def test_each_sentence_of_a_paragraph_but_the_first_is_predicted(length, documents):
    text = [line.replace("zzz", "<unk>") for line in TEXT]
    expected = []
    for lines in [text[:3], text[4:]] if documents else [[*text[:3], *text[4:]]]:
        begins = [*range(0, len(lines) - length + 1, length - 1)]
        if begins and begins[-1] + length < len(lines):
            begins.append(len(lines) - length)
        expected += [[f"{line} </s>" for line in lines[i : i + length]] for i in begins]
    if expected:
        assert paragraphs(paragraph_length=length, documents=documents) == expected
    else:
        with pytest.raises(ValueError, match=f"paragraph_length={length}: the longest document has 4 sent"):
            paragraphs(paragraph_length=length, documents=documents)


def test_text_is_not_kept_in_memory():
    """Also if it is one document."""

    def lines():
        for i in range(20_000):
            yield f"sentence number {i}"

    text = Corpus(lines)
    readers = (_OneDocument(text), _Paragraphs(text, 5), _Paragraphs(_OneDocument(text), 5))
    for reader in readers:
        tracemalloc.start()
        try:
            count = sum(1 for _ in reader)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert count in (20_000, 5_000)
        assert peak < 1_500_000  # all lines have 2 MB


def test_fields_of_a_paragraph():
    (row,) = examples(Paragraphs, TEXT[:3], paragraph_length=3, max_length=1)
    assert row == {"tokens": "the </s>", "next_1": "a </s>", "next_2": "the </s>"}


@pytest.mark.parametrize("task_class", [FollowingWords, Paragraphs])
def test_a_file_gives_the_same_encoder_as_its_lines(task_class, tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(TEXT), encoding="utf-8")
    options = {"paragraph_length": 3}
    for documents in (True, False):
        in_memory = examples(task_class, documents=documents, **options)
        assert examples(task_class, str(tmp_path / "text.txt"), documents=documents, **options) == in_memory
    tokens = [line.split() for line in TEXT]
    assert examples(task_class, tokens, **options) == examples(task_class, **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"targets": "some"}, "targets must be 'words' or 'sentence', got 'some'"),
        ({"targets": "sentence", "following_words": 1}, "following_words must be at least 2 with targets"),
        ({"sampled_words": 99}, "sampled_words must be from 0"),
        ({"following_words": 0}, "following_words .*at least 1.*got 0"),
    ],
)
def test_wrong_parameters(change, message):
    with pytest.raises(ValueError, match=message):
        fitted("cnn", **change)


def test_a_paragraph_has_two_sentences_or_more():
    with pytest.raises(ValueError, match=r"paragraph_length .*at least 2.*got 1"):
        fitted("hierarchical", paragraph_length=1)


@pytest.mark.parametrize("word_bias", [True, False])
def test_training_on_a_sample_of_the_words(word_bias):
    encoder = fitted("cnn", sampled_words=5, word_bias=word_bias)
    assert np.isfinite([step.loss for step in encoder.history_.steps]).all()


def test_the_table_is_initialised_with_word_vectors():
    encoder = fitted("cnn", max_steps=1, learning_rate=1e-9)
    table = encoder.network.table.weight.detach().numpy()
    known = len(encoder.vocabulary_)
    assert len(table) == known + 3
    np.testing.assert_allclose(table[:known], VECTORS.matrix(encoder.vocabulary_.words), atol=1e-6)
    np.testing.assert_allclose(table[known], table[:known].mean(0), atol=1e-6)
    assert encoder.network.table.weight.requires_grad


# --- Training -----------------------------------------------------------------------------------------------


@each_encoder
def test_training_learns(name):
    encoder = fitted(name, max_steps=60, learning_rate=0.02)
    losses = [step.loss for step in encoder.history_.steps]
    assert np.mean(losses[-5:]) < 0.8 * losses[0]


@each_encoder
@pytest.mark.parametrize("valid", [None, TEXT])
def test_a_resumed_training_is_bit_equal(name, valid, tmp_path):
    encoder = unfitted(name, validate_every=1)
    checks.interrupt_and_resume(encoder, TEXT, valid=valid, folder=tmp_path)
    straight = unfitted(name, validate_every=1).fit(TEXT, valid=valid)
    losses = {validation.step: validation.loss for validation in straight.history_.validations}
    assert all(losses[validation.step] == validation.loss for validation in encoder.history_.validations)
    checks.assert_equal_weights(encoder.network, straight.network)


@pytest.mark.parametrize("name", ["sampling", "uniform"])
def test_validations_sample_the_same_words(name):
    encoder = unfitted(name, learning_rate=1e-30, validate_every=1).fit(TEXT, valid=TEXT)
    validations = encoder.history_.validations
    assert len({validation.loss for validation in validations}) == 1
    assert len(validations) == 4


def test_skip_thoughts_reports_the_losses_of_both_decoders():
    steps = unfitted("skip").fit(TEXT, valid=TEXT).history_
    for step in steps.steps:
        assert set(step.figures) == {"previous", "next"}
        assert min(step.figures.values()) <= step.loss <= max(step.figures.values())


def test_the_loss_of_each_sentence_is_reported():
    for name, figures in (
        ("fast", {"previous", "next"}),
        ("fast-ae", {"previous", "next", "sentence"}),
        ("composite", {"sentence", "next"}),
    ):
        for step in fitted(name).history_.steps:
            assert set(step.figures) == figures
            assert min(step.figures.values()) <= step.loss <= max(step.figures.values())


PROCESSES = f"""
from {__name__} import TEXT, unfitted
for name in ("cnn", "uniform", "skip", "fast-ae", "composite", "hierarchical"):
    change = {{"feeding": "teacher_forcing"}} if name == "uniform" else {{}}
    encoder = unfitted(name, batch_size=4, learning_rate=0.02, **change).fit(TEXT)
    if rank == 0:
        weights = {{key: value.numpy() for key, value in encoder.network.state_dict().items()}}
        losses = [step.loss for step in encoder.history_.steps]
        np.savez(f"{{folder}}/{{name}}-{{world}}.npz", losses=losses, **weights)
"""


def test_two_processes_learn_what_one_does(tmp_path):
    for world in (1, 2):
        checks.run_in_processes(PROCESSES, tmp_path, world)
    for name in ("cnn", "uniform", "skip", "fast-ae", "composite", "hierarchical"):
        one, two = (np.load(tmp_path / f"{name}-{world}.npz") for world in (1, 2))
        for key in one.files:
            np.testing.assert_allclose(one[key], two[key], rtol=2e-4, atol=2e-5, err_msg=f"{name}: {key}")


# --- Encoding -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cnn", "rnn", "sampling", "uniform"])
def test_predicted_words_of_each_position(name):
    encoder = fitted(name, max_steps=60, learning_rate=0.02)
    predictions = encoder.following([*SENTENCES[:2], "zzz"], best=3)
    assert [len(positions) for positions in predictions] == [9, 9, 0]
    vocabulary = {*WORDS, "<unk>", "</s>", "<s>"}
    for position in predictions[0]:
        words, p = zip(*position, strict=True)
        assert {*words} <= vocabulary
        assert sorted(p, reverse=True) == [*p]
    np.testing.assert_allclose(
        [p for position in encoder.following(SENTENCES[1], best=12) for _, p in position],
        [p for position in encoder.following(SENTENCES, best=12)[1] for _, p in position],
        atol=1e-6,
    )
    assert sum(p for _, p in encoder.following(SENTENCES[0], best=12)[0]) == pytest.approx(1, abs=1e-5)
    with pytest.raises(ValueError, match="best must be"):
        encoder.following("the cat", best=99)
    with pytest.raises(se.NotFittedError):
        unfitted(name).following("the cat")


def test_following_words_are_learnt():
    encoder = fitted("cnn", max_steps=200, learning_rate=0.02)
    words = [position[0][0] for position in encoder.following(TEXT[1], best=1)]
    assert words[:4] == ["the", "<unk>", "sat", "."]


@each_encoder
def test_save_and_load(name, tmp_path):
    encoder = fitted(name)
    encoder.save(tmp_path / "model")
    again = se.load(tmp_path / "model")
    assert type(again) is type(encoder)
    same(again, encoder)
    assert again.settings().keys() == encoder.settings().keys()
    checks.assert_equal_weights(again.network, encoder.network)


def test_old_files_with_the_parameter_predict(tmp_path):
    encoder = fitted("cnn")
    model = encoder._described_model()
    content = json.loads(model.params)
    content["params"]["predict"] = content["params"].pop("following_words")
    model.params = json.dumps(content)
    model.save(tmp_path / "model", vectors=True)
    again = se.load(tmp_path / "model")
    assert again.following_words == encoder.following_words
    same(again, encoder)


def test_halves_are_divided_by_their_lengths():
    encoder = fitted("cnn")
    halves = encoder.encode(SENTENCES, normalize="halves")
    for half in (halves[:, :8], halves[:, 8:]):
        np.testing.assert_allclose(np.linalg.norm(half, axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize(("hidden", "pooling", "dim"), [(4, "mean_max", 16), (8, "max", 16), (4, "last", 8)])
def test_sizes(hidden, pooling, dim):
    assert fitted("cnn", hidden=hidden, pooling=pooling).dim == dim


@pytest.mark.parametrize("oov", ["skip", "zero"])
@pytest.mark.parametrize("unit_words", [False, True])
@pytest.mark.parametrize("expanded", [False, True])
def test_fastsent_is_an_average_of_its_rows(oov, unit_words, expanded, tmp_path):
    texts = [*SENTENCES, "zzz", "", "The ship sank"]
    more = se.WordVectors.from_array([*WORDS, "ship"], np.vstack([ROWS, ROWS[:1] + 1])).with_oov(oov)
    encoder = se.FastSent(more, unit_words=unit_words, learning_rate=0.1, **SMALL).fit(TEXT)
    if expanded:
        encoder.expand_vocabulary(
            se.WordVectors.from_array([*WORDS, "sank"], np.vstack([ROWS, ROWS[:1]])).with_oov(oov)
        )
    average = encoder.to_average()
    tokens = average.tokenizer_(texts)
    read = [[word for word in words if oov == "zero" or word in average.vectors] for words in tokens]
    counts = np.array([[len(words)] for words in read])
    np.testing.assert_allclose(average.encode(texts) * counts, encoder.encode(texts), rtol=1e-5, atol=1e-6)
    encoder.save(tmp_path / "model")
    average.save(tmp_path / "average")
    np.testing.assert_array_equal(
        se.load(tmp_path / "model").to_average().encode(texts), se.load(tmp_path / "average").encode(texts)
    )


def test_an_average_of_rows_has_a_policy_that_averages_have():
    encoder = se.FastSent(VECTORS.with_oov("mean"), **SMALL).fit(TEXT)
    with pytest.raises(NotImplementedError, match="oov='skip' or 'zero', got 'mean'"):
        encoder.to_average()
    with pytest.raises(se.NotFittedError):
        se.FastSent(VECTORS, **SMALL).to_average()


def test_fastsent_does_not_read_the_order_of_words():
    encoder = fitted("fast")
    np.testing.assert_allclose(
        encoder.encode(["the cat sat on a mat"]), encoder.encode(["mat a on sat cat the"]), atol=1e-6
    )
