"""Several networks as one: ensembles, and means of weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sentencode as se
from sentencode.cli import main
from sentencode.models import Classifier, EnsembleDecoder, average_checkpoints, average_weights
from sentencode.nn import beam_search

SOURCE = ["a dog runs", "a cat sleeps at home", "a cat runs", "a dog sleeps"]
TARGET = ["ein Hund rennt", "eine Katze schläft daheim", "eine Katze rennt", "ein Hund schläft"]
SMALL = {
    "preset": "paper",
    **{"features": 16, "hidden": 8, "decoder_hidden": 16, "heads": 2, "attention": 8, "dropout": 0.0},
    **{"max_epochs": None, "learning_rate": 0.02, "device": "cpu", "layers": 1, "attention_heads": 2},
}


def fitted(steps=12, **options):
    return se.CompoundNMT(**{**SMALL, "max_steps": steps, **options}).fit(SOURCE, TARGET)


@pytest.fixture(scope="module")
def members():
    return fitted(), fitted(seed=1), fitted(architecture="attn", seed=2), fitted(architecture="trf", hidden=8)


def log_p(nmt, sentence, ids):
    """Log probabilities of the next word after each prefix of a translation [words + 1, vocabulary]."""
    network = nmt.network.eval()
    with torch.no_grad():
        source = [nmt.vocabulary_.words.index(word) for word in sentence.split()]
        memory = network.read(network.source.weight[torch.tensor([source])], torch.tensor([len(source)]))
        memory, cache = network._cpp.start(memory)
        rows = []
        for word in [network._config["begin"], *ids]:
            logits, cache, *_ = network._cpp.step(torch.tensor([word]), memory, cache)
            rows.append(logits[0].double().log_softmax(0))
    return torch.stack(rows)


def test_scores_are_those_of_the_mean_probability(members):
    first, *others = members
    for sentence in SOURCE:
        text, score = first.translate(sentence, ensemble=others, beam=3, scores=True)
        words = first.target_vocabulary_.words
        ids = [words.index(word) for word in text.split()]
        mean = torch.stack([log_p(nmt, sentence, ids).exp() for nmt in members]).mean(0).log()
        expected = sum(float(mean[i, word]) for i, word in enumerate([*ids, len(words)]))
        assert score == pytest.approx(expected, abs=1e-4)


def test_greedy_takes_the_most_likely_word_of_the_mean(members):
    first, *others = members
    text = first.translate(SOURCE[1], ensemble=others, beam=1)
    words = [*first.target_vocabulary_.words, "</s>"]
    ids = [words.index(word) for word in text.split()]
    mean = torch.stack([log_p(nmt, SOURCE[1], ids).exp() for nmt in members]).mean(0)
    assert mean.argmax(1).tolist() == [*ids, len(words) - 1]


def test_an_ensemble_of_equal_encoders_equals_each(members):
    nmt = members[0]
    alone = nmt.translate([*SOURCE, ""], beam=3, best=2, scores=True)
    together = nmt.translate([*SOURCE, ""], beam=3, best=2, scores=True, ensemble=[nmt, nmt])
    for row, other in zip(alone, together, strict=True):
        assert [text for text, _ in row] == [text for text, _ in other]
        np.testing.assert_allclose([p for _, p in row], [p for _, p in other], atol=1e-4)
    sampled = nmt.translate(SOURCE, sample=True, ensemble=[nmt])
    assert sampled == nmt.translate(SOURCE, sample=True)


def test_batches_are_translated_as_one_by_one(members):
    first, *others = members
    batch = first.translate(SOURCE, ensemble=others)
    assert batch == [first.translate(sentence, ensemble=others) for sentence in SOURCE]


def test_mismatched_members_are_named(members):
    nmt = members[0]
    with pytest.raises(TypeError, match=r"ensemble\[1\] must be a CompoundNMT, got Average"):
        nmt.translate(SOURCE, ensemble=[nmt, se.Average(se.WordVectors.from_array(["a"], np.ones((1, 2))))])
    other = se.CompoundNMT(**SMALL, max_steps=1).fit(SOURCE, [*TARGET[:-1], "der Hund"])
    with pytest.raises(ValueError, match=r"ensemble\[0\] has other words of the target"):
        nmt.translate(SOURCE, ensemble=[other])
    other = se.CompoundNMT(**SMALL, max_steps=1).fit([*SOURCE[:-1], "the dog"], TARGET)
    with pytest.raises(ValueError, match=r"ensemble\[0\] has other words than"):
        nmt.translate(SOURCE, ensemble=[other])
    other = se.CompoundNMT(**SMALL, max_steps=1, tokenizer="words").fit(SOURCE, TARGET)
    with pytest.raises(ValueError, match=r"ensemble\[0\] has another tokenizer than"):
        nmt.translate(SOURCE, ensemble=[other])
    with pytest.raises(se.errors.NotFittedError):
        nmt.translate(SOURCE, ensemble=[se.CompoundNMT()])
    with pytest.raises(ValueError, match="there are 1 decoders, and parts of the memory for 2"):
        EnsembleDecoder([nmt.network._cpp], [1, 1])


def test_decoders_in_python_join_an_ensemble(members):
    nmt = members[0]
    network = nmt.network.eval()
    with torch.no_grad():
        ids, lengths = torch.tensor([[0, 1, 2]]), torch.tensor([3])
        memory = network.read(network.source.weight[ids], lengths)
        inner = EnsembleDecoder([network._cpp], [len(memory)])  # an ensemble in an ensemble
        both = EnsembleDecoder([inner, network._cpp], [len(memory)] * 2)
        first = torch.tensor([network._config["begin"]])
        together = beam_search(both, [*memory, *memory], first, end=network._config["end"], beam=3)
        alone = network.translate(memory, beam=3)
    assert torch.equal(together.ids, alone.ids)


def test_on_the_command_line(members, tmp_path, capfdbinary):
    paths = []
    for i, nmt in enumerate(members):
        paths.append(str(tmp_path / f"{i}.sentencode"))
        nmt.save(paths[-1])
    text = tmp_path / "text.en"
    text.write_text("\n".join(SOURCE) + "\n", encoding="utf-8")
    assert main(["translate", paths[0], str(text), "-", "--ensemble", *paths[1:]]) == 0
    lines = capfdbinary.readouterr().out.decode("utf-8").split("\n")
    assert lines == [*members[0].translate(SOURCE, ensemble=members[1:]), ""]
    out = ["translate", paths[0], str(text), paths[1], "--overwrite", "--ensemble", *paths[1:]]
    assert main(out) != 0  # would write over one of them
    se.load(paths[1])


def test_mean_of_weights(members, tmp_path):
    runs = [members[0], members[1], fitted(seed=3)]
    mean = average_weights(runs)
    states = [run.network.state_dict() for run in runs]
    for name, weight in mean.network.state_dict().items():
        expected = sum(state[name].double() for state in states) / 3
        np.testing.assert_allclose(weight.double(), expected, atol=1e-7)
    assert mean.network is not runs[0].network
    z = mean.encode(SOURCE)
    assert not np.allclose(z, runs[0].encode(SOURCE))
    mean.save(tmp_path / "mean.sentencode")
    np.testing.assert_array_equal(se.load(tmp_path / "mean.sentencode").encode(SOURCE), z)
    same = average_weights([members[0], members[0]])
    np.testing.assert_array_equal(same.encode(SOURCE), members[0].encode(SOURCE))
    assert same.translate(SOURCE) == members[0].translate(SOURCE)


def test_means_have_their_heads():
    rows = np.random.default_rng(0).normal(size=(7, 4))
    words = se.WordVectors.from_array(["a", "dog", "cat", "runs", "sleeps", "at", "home"], rows)
    small = {
        "preset": "paper",
        "hidden": 4,
        "attention_hidden": 4,
        "heads": 2,
        "layers": 1,
        "characters": False,
        "device": "cpu",
    }
    runs = [
        se.GeneralizedPooling(
            words,
            **small,
            head=se.models.Classifier(hidden=4),
            max_epochs=None,
            max_steps=3,
            seed=seed,
        ).fit(SOURCE, [0, 1, 1, 0])
        for seed in (0, 1)
    ]
    mean = average_weights(runs)
    heads = [dict(run._trained_head.head.state_dict()) for run in (mean, *runs)]
    for name, weight in heads[0].items():
        torch.testing.assert_close(weight, (heads[1][name] + heads[2][name]) / 2)
    assert mean.predict_proba(SOURCE).shape == (4, 2)


def test_average_weights_of_incompatible_encoders(members):
    with pytest.raises(ValueError, match="give at least one"):
        average_weights([])
    with pytest.raises(TypeError, match=r"encoders\[0\] must be a neural encoder, got Average"):
        average_weights([se.Average(se.WordVectors.from_array(["a"], np.ones((1, 2))))])
    with pytest.raises(se.errors.NotFittedError):
        average_weights([members[0], se.CompoundNMT()])
    with pytest.raises(ValueError, match=r"encoders\[1\]: .* is .*, that of the first"):
        average_weights([members[0], members[2]])
    with pytest.raises(ValueError, match=r"encoders\[1\] has other words of the target"):
        average_weights([members[0], se.CompoundNMT(**SMALL, max_steps=1).fit(SOURCE, [*TARGET[:-1], "x"])])


def run_of(folder, **options):
    nmt = se.CompoundNMT(**{**SMALL, "max_steps": 12, "save_every": 3, **options})
    return nmt.fit(SOURCE, TARGET, checkpoints=folder, keep_last=3)


def test_the_mean_of_the_last_checkpoints(tmp_path):
    whole = run_of(tmp_path)
    assert sorted(path.name[5:14] for path in tmp_path.glob("step-*")) == [
        "000000006",
        "000000009",
        "000000012",
    ]
    runs = [fitted(steps) for steps in (6, 9, 12)]
    before = {name: weight.clone() for name, weight in whole.network.state_dict().items()}
    for last in (1, 2, 3):
        mean = average_checkpoints(whole, tmp_path, last=last)
        for name, weight in mean.network.state_dict().items():
            expected = torch.stack([nmt.network.state_dict()[name].double() for nmt in runs[-last:]]).mean(0)
            torch.testing.assert_close(weight, expected.float(), rtol=0, atol=1e-7)
        assert mean.translate(SOURCE) == average_weights(runs[-last:]).translate(SOURCE)
    for name, weight in whole.network.state_dict().items():
        assert torch.equal(weight, before[name])
    with pytest.raises(ValueError, match=r"holds 3 checkpoints of steps, but last is 4: fit\(..., keep_last"):
        average_checkpoints(whole, tmp_path, last=4)


def test_average_weights_includes_heads(tmp_path):
    options = {"head": Classifier(hidden=4, dropout=0.0), "save_every": 4}
    nmt = se.CompoundNMT(**{**SMALL, "max_steps": 8, **options})
    nmt.fit(SOURCE, [0, 1, 1, 0], checkpoints=tmp_path, keep_last=2)
    mean = average_checkpoints(nmt, tmp_path, last=2)
    half = se.CompoundNMT(**{**SMALL, "max_steps": 4, **options}).fit(SOURCE, [0, 1, 1, 0])
    for mean_weight, one, other in zip(
        mean.head_.parameters(), nmt.head_.parameters(), half.head_.parameters(), strict=True
    ):
        torch.testing.assert_close(mean_weight, (one + other) / 2)


def test_checkpoints_of_others_and_damaged_ones_are_refused(tmp_path):
    nmt = run_of(tmp_path)
    with pytest.raises(ValueError, match=r"step-000000012.* is \[.*\], that of the encoder \["):
        average_checkpoints(fitted(1, decoder_hidden=8), tmp_path, last=1)
    with pytest.raises(TypeError, match="encoder must be a neural encoder, got list"):
        average_checkpoints([nmt], tmp_path)
    with pytest.raises(ValueError, match="holds 0 checkpoints"):
        average_checkpoints(nmt, tmp_path / "none")
    path = tmp_path / "step-000000009.safetensors"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    average_checkpoints(nmt, tmp_path, last=1)
    with pytest.raises(se.FormatError, match=r"step-000000009.*is damaged"):
        average_checkpoints(nmt, tmp_path, last=2)
    with pytest.raises(ValueError, match="keep_last must be at least 1"):
        nmt.fit(SOURCE, TARGET, keep_last=0)


@pytest.mark.parametrize("architecture", ["final", "avgpool", "maxpool"])
def test_decoders_without_memory_join_an_ensemble(members, architecture):
    nmt = fitted(architecture=architecture)
    assert nmt.translate(SOURCE, ensemble=[nmt], scores=True) == [
        (text, pytest.approx(score, abs=1e-5)) for text, score in nmt.translate(SOURCE, scores=True)
    ]
    assert len(nmt.translate(SOURCE, ensemble=[members[0]])) == len(SOURCE)


def test_weights_of_other_classes_and_vectors_have_no_mean():
    rows = np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)
    options = {"hidden": 4, "layers": 1, "max_steps": 1, "device": "cpu", "characters": False}

    def fitted(rows=rows, labels="ab", **more):
        words = se.WordVectors.from_array(["dog", "cat", "runs", "a"], rows)
        return se.GeneralizedPooling(words, **options, **more).fit(
            ["a dog", "a cat"], list(labels), valid=None
        )

    first = fitted()
    average_weights([first, fitted(seed=1)])
    for other, what in (
        (fitted(labels="xy"), "classes"),
        (fitted(rows + 1), "word vectors"),
        (fitted(unit_words=False), "unit_words"),
    ):
        with pytest.raises(ValueError, match=rf"encoders\[1\] has other {what} than the first"):
            average_weights([first, other])
