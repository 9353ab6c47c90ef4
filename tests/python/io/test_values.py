"""Files with replaced values: refused with their names, or used without errors."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import random
import tempfile
from pathlib import Path

import numpy as np
import pytest

import sentencode as se

from .saved_files import NEURAL, TEXTS, changed, encoders, neural_encoder, parts, with_checksums

ROOT = Path(__file__).parents[3]
KINDS = ("sif-bpe", "usif", "laes-statistics", "vectors-int8", "nmt-bpe", "classifier", "imitation", "rnncnn")


@pytest.fixture(scope="module")
def fuzz():
    spec = importlib.util.spec_from_file_location("fuzz_files", ROOT / "tools/fuzz_files.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def whole(fuzz, tmp_path_factory):
    pytest.importorskip("torch")
    pytest.importorskip("tokenizers")
    folder = tmp_path_factory.mktemp("whole")
    fuzz.make(folder, KINDS)
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_any_replaced_value_is_refused_or_works(fuzz, whole, tmp_path, kind):
    content = (whole / kind).read_bytes()
    changes = random.Random(f"values of {kind}").sample(fuzz.values_of(content), 40)
    with contextlib.closing(fuzz.Reader(256 << 20, 60)) as reader:
        status, before = reader(kind, whole / kind, whole / kind)
        assert status == "read", before
        for number, change in enumerate(changes):
            path = tmp_path / str(number)
            path.write_bytes(fuzz.with_value(content, change))
            answer = reader(kind, path, whole / kind)
            assert fuzz.outcome_of(answer, before, may_change=True) not in fuzz.FAILED, (change, answer)


def test_a_tokenizer_that_the_core_cannot_reproduce_is_a_format_error(whole, tmp_path):
    def later(config, params):
        content = json.loads(config["tokenizer"]["content"])
        content["normalizer"] = {"type": "Later"}
        config["tokenizer"]["content"] = json.dumps(content)

    path = tmp_path / "file"
    path.write_bytes((whole / "sif-bpe").read_bytes())
    changed(path, later)
    with pytest.raises(se.FormatError, match=r"file: tokenizer\.json: normalizer has the type 'Later'"):
        se.load(path)


@functools.cache
def neural_file(kind):
    pytest.importorskip("torch")
    with tempfile.TemporaryDirectory() as folder:
        neural_encoder(kind).save(Path(folder, kind))
        se.load(Path(folder, kind))
        return Path(folder, kind).read_bytes()


def network(**options):
    return lambda config, params: config["network"].update(options)


def learnt(**values):
    return lambda config, params: params["learnt"].update(values)


WRONG = {
    "the end is a word": ("CompoundNMT", network(end=1), "end of the network is 1"),
    "the begin is a word": ("CompoundNMT", network(begin=1), "begin of the network is 1"),
    "no target": (
        "CompoundNMT",
        lambda config, params: params.update(more={}),
        "expected words, counts and tokenizer of the target",
    ),
    "a target word less": (
        "CompoundNMT",
        lambda config, params: [params["more"][key].pop() for key in ("words", "counts")],
        "words of the network is",
    ),
    "the end of an autoencoder is a word": ("RAE", network(end=1), "end of the network is 1"),
    "the begin of ordered text is a word": ("RNNCNN", network(begin=1), "begin of the network is 1"),
    "the end of neighbours is a word": ("SkipThoughts", network(end=1), "end of the network is 1"),
    "an end that no sentence has is a word": ("FastSent", network(end=1), "end of the network is 1"),
    "the end of the next sentence is a word": ("CompositeCNN", network(end=1), "end of the network is 1"),
    "a seed that is none": ("RAE", lambda config, params: params["params"].update(seed="x"), "seed must be"),
    "no classes": ("GeneralizedPooling", learnt(classes=None), "classes must be a list"),
    "classes that are lists": ("GeneralizedPooling", learnt(classes=[[1]] * 6), "classes must be a list"),
    "a class twice": ("GeneralizedPooling", learnt(classes=[1] * 6), "classes must differ"),
    "a class less": ("GeneralizedPooling", learnt(classes=[0, 1, 2, 3, 4]), "classes of the Classifier is 5"),
    "two sentences": ("GeneralizedPooling", learnt(sides=2), "sentences of the Classifier is 2"),
    "no sentence": ("GeneralizedPooling", learnt(sides=0), "got sides=0"),
    "sentences that are no number": ("GeneralizedPooling", learnt(sides="1"), "got sides='1'"),
    "a head of other embeddings": (
        "GeneralizedPooling",
        lambda config, params: config["head"].update(features=2**62),
        "features must be 16",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_configurations_are_checked_against_the_network(tmp_path, name):
    kind, change, message = WRONG[name]
    (tmp_path / "file").write_bytes(neural_file(kind))
    changed(tmp_path / "file", change)
    with pytest.raises(se.FormatError, match=message) as caught:
        se.load(tmp_path / "file")
    assert str(tmp_path / "file") in str(caught.value)


# What each family does with its network besides `encode`.
USES = {
    "CompoundNMT": [
        *(lambda nmt, beam=beam: nmt.translate(TEXTS, beam=beam) for beam in (1, 4)),
        lambda nmt: nmt.translate(TEXTS, sample=True),
        lambda nmt: nmt.score(TEXTS, TEXTS),
    ],
    "GeneralizedPooling": [lambda encoder: encoder.predict(TEXTS)],
    "RNNCNN": [lambda encoder: encoder.following(TEXTS)],
    **{
        kind: [lambda encoder: encoder.reconstruct(TEXTS)]
        for kind in ("CNNLSTMAE", "LSTMSDAE", "MeanMaxAAE", "RAE")
    },
}


def with_tensors(path, to, where=""):
    """The same file with other floating-point numbers in the tensors whose names contain `where`."""
    header, body = parts(path.read_bytes())
    body = bytearray(body)
    for name, one in header.items():
        if where in name and one.get("dtype") in ("F32", "F16"):
            begin, end = one["data_offsets"]
            dtype = "<f4" if one["dtype"] == "F32" else "<f2"
            values = np.frombuffer(bytes(body[begin:end]), dtype).copy()
            with np.errstate(over="ignore"):
                values[:] = np.clip(to(len(values)), -np.finfo(dtype).max, np.finfo(dtype).max)
            body[begin:end] = values.tobytes()
    path.write_bytes(with_checksums(header, bytes(body)))


@pytest.mark.parametrize("kind", NEURAL)
def test_networks_return_finite_values_or_raise(tmp_path, kind):
    """Weights whose sums overflow: 3e38, and 3e38 with both signs, which gives NaN."""
    whole = neural_file(kind)
    uses = [lambda encoder: encoder.encode(TEXTS), *USES.get(kind, [])]
    refused = dict.fromkeys(range(len(uses)), 0)
    for number, to in enumerate([lambda n: 3e38, lambda n: 3e38 * (-1.0) ** np.arange(n), lambda n: -3e38]):
        for where in ("network.", "head.", "softmax", "decoder", "vectors.rows"):
            path = tmp_path / f"{number}{where}"
            path.write_bytes(whole)
            with_tensors(path, to, where)
            encoder = se.load(path)
            for i, use in enumerate(uses):
                try:
                    rows = use(encoder)
                except se.DivergedError:
                    refused[i] += 1
                else:
                    if isinstance(rows, np.ndarray):
                        assert np.isfinite(rows).all()
    # States that are bounded hide it in some families, and tanh does in all embeddings of these two.
    assert sum(refused.values()) > 0 or kind in ("CompositeCNN", "HierarchicalCNN")


def test_linear_encoders_return_finite_values_or_raise(tmp_path):
    for name, encoder in encoders().items():
        encoder.save(tmp_path / name)
        with_tensors(tmp_path / name, lambda n: 3e38 * (-1.0) ** np.arange(n))
        encoder = se.load(tmp_path / name)
        if name == "laes":
            with pytest.raises(se.DivergedError, match="LAES: an embedding is not finite"):
                encoder.encode(TEXTS)
            continue
        with contextlib.suppress(se.DivergedError):
            assert np.isfinite(encoder.encode(TEXTS)).all()
