"""The linear encoders of the core: statistics, files that contradict themselves, lists and outputs."""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path

import numpy as np
import pytest

from sentencode import FormatError, _core

WORDS, DIM = 25, 6
TOKENIZER = _core.Tokenizer("whitespace", lowercase=False, invalid="replace")
ROWS = np.random.default_rng(3).standard_normal((WORDS, DIM)).astype(np.float32) + np.float32(0.3)
WEIGHTS = np.random.default_rng(4).uniform(0.2, 1, WORDS).astype(np.float32)
VECTORS = _core.WordVectors.from_array([f"w{i}" for i in range(WORDS)], ROWS, None, "float32", "skip")
LAES = {
    "hidden": 8,
    "mode": "hidden",
    "direction": "forward",
    "combine": "sum",
    "center": False,
    "state": "recursive",
    "max_length": 64,
}


def random_ids(count: int, shortest: int, longest: int, seed: int) -> list[list[int]]:
    random = np.random.default_rng(seed)
    return [list(random.integers(0, WORDS, random.integers(shortest, longest + 1))) for _ in range(count)]


def texts(ids: list[list[int]]) -> list[str]:
    return [" ".join(f"w{i}" for i in sentence) for sentence in ids]


TRAIN, TEST = random_ids(70, 0, 7, seed=1), random_ids(40, 0, 15, seed=2)


def encode(encoder, sentences: list[str]) -> np.ndarray:
    out = np.full((len(sentences), encoder.dim), np.nan, np.float32)
    encoder.encode_into(sentences, out)
    return out


def laes(ids: list[list[int]] = TRAIN, **options):
    encoder = _core.LAES(VECTORS, TOKENIZER, WEIGHTS, **(LAES | options))
    encoder.partial_fit(texts(ids))
    encoder.solve()
    return encoder


def test_a_smaller_size_is_a_corner():
    large = laes(hidden=20).parameters("forward")
    for p in (1, 7, 20):
        small = laes(hidden=p).parameters("forward")
        np.testing.assert_allclose(small["A"], large["A"][:p], atol=1e-6)
        np.testing.assert_allclose(small["B"], large["B"][:p, :p], atol=1e-6)


def test_order_does_not_matter():
    mixed = TRAIN.copy()
    random.Random(7).shuffle(mixed)
    for mode in ("reconstruction", "residual"):
        np.testing.assert_allclose(
            encode(laes(mixed, mode=mode), texts(TEST)), encode(laes(mode=mode), texts(TEST)), atol=1e-5
        )


def test_statistics_are_arrays_and_come_back():
    encoder = laes(direction="both")
    other = _core.LAES(VECTORS, TOKENIZER, WEIGHTS, **(LAES | {"direction": "both"}))
    statistics = encoder.statistics()
    assert set(statistics) == {"forward", "backward"}
    other.set_statistics(statistics)
    np.testing.assert_array_equal(encode(other, texts(TEST)), encode(encoder, texts(TEST)))
    statistics["forward"]["gram"] = statistics["forward"]["gram"].astype(np.float32)
    with pytest.raises(TypeError, match="'gram' must be a contiguous array of type float64"):
        other.set_statistics(statistics)

    sif = _core.SIF(VECTORS, TOKENIZER, WEIGHTS, components=2)
    sif.partial_fit(texts(TRAIN))
    fresh = _core.SIF(VECTORS, TOKENIZER, WEIGHTS, components=2)
    fresh.set_statistics(sif.statistics())
    np.testing.assert_allclose(encode(fresh, texts(TEST)), encode(sif, texts(TEST)), atol=1e-6)


def rewritten(path: Path, change) -> Path:
    """A copy of a model file with a changed header."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    metadata = header["__metadata__"]
    for key in [key for key in metadata if key.startswith("checksum.")]:
        del metadata[key]
    metadata["format_version"] = "1"  # as before there were checksums
    config = json.loads(metadata["config"])
    change(metadata, config)
    metadata["config"] = json.dumps(config)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    out = path.with_name("changed")
    out.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + size :])
    return out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m, c: c.update(colour="red"), "unknown key 'colour'"),
        (lambda m, c: c.pop("mode"), "mode is missing"),
        (
            lambda m, c: c.update(mode="best"),
            "mode must be 'hidden', 'reconstruction' or 'residual', got 'best'",
        ),
        (lambda m, c: c.update(mode=3), "mode must be a string"),
        (lambda m, c: c.update(hidden=9), "'forward.a'"),
        (lambda m, c: c.update(hidden=-1), "hidden must be an integer of at least 1, got -1"),
        (lambda m, c: c.update(hidden=1 << 62), "hidden must be an integer of at least 1"),
        (lambda m, c: c.update(center="no"), "center must be true or false"),
        (lambda m, c: c.update(center=True), "'forward.centre'"),
        (lambda m, c: c.update(direction="backward"), "'backward.a'"),
        (lambda m, c: c.update(state="projection"), "'forward.u'"),
        (lambda m, c: c.update(max_length=2), "longest is 7, max_length is 2"),
        (lambda m, c: c.update(oov="guess"), "oov"),
        (lambda m, c: c.update(tokenizer={"split": "syllables"}), "split"),
        (lambda m, c: c.update(vectors="omitted"), "holds no word vectors"),
        (lambda m, c: c.update(vectors={"path": "x"}), "vectors must be"),
        (lambda m, c: m.update(kind="Oracle"), "unknown kind 'Oracle'"),
        (lambda m, c: m.update(kind="SIF"), "components is missing"),
        (lambda m, c: m.update(format="other"), "not an encoder of Sentencode"),
        (
            lambda m, c: m.update(format_version="3"),
            "format version '3'; .* versions 1 and 2",
        ),
    ],
)
def test_files_that_contradict_themselves_are_refused(tmp_path, change, message):
    path = tmp_path / "model"
    laes().save(str(path))
    with pytest.raises(FormatError, match=message):
        _core.load_encoder(str(rewritten(path, change)))


def test_sizes_beyond_the_content_of_a_file_are_refused(tmp_path):
    """Parameters of its size would be gigabytes: the file holds some words."""
    small = _core.LAES(VECTORS, TOKENIZER, WEIGHTS, **LAES)
    small.partial_fit(texts(TRAIN))
    path = tmp_path / "model"
    laes().save(str(path), statistics=True)
    bare = tmp_path / "bare"
    bare.write_bytes(small.to_bytes(statistics=True))  # not solved: parameters are to be made of it
    for hidden in (5000, 50_000, 1 << 31):
        changed = rewritten(bare, lambda m, c, hidden=hidden: c.update(hidden=hidden)).read_bytes()
        with pytest.raises(FormatError, match=f"hidden is {hidden}; statistics of .* words allow at most 42"):
            _core.encoder_from_bytes(changed, VECTORS)
        with pytest.raises(FormatError, match=r"'forward\.a'"):
            _core.load_encoder(str(rewritten(path, lambda m, c, hidden=hidden: c.update(hidden=hidden))))
    # Somewhat more units than words are allowed.
    some = rewritten(bare, lambda m, c: c.update(hidden=300)).read_bytes()
    assert _core.encoder_from_bytes(some, VECTORS).parameters("forward")["A"].shape == (300, DIM)


def test_more_directions_than_dimensions_of_a_file_are_refused(tmp_path):
    sif = _core.SIF(VECTORS, TOKENIZER, WEIGHTS, components=1)
    sif.partial_fit(texts(TRAIN))
    bare = tmp_path / "bare"
    bare.write_bytes(sif.to_bytes(statistics=True))  # not solved
    changed = rewritten(bare, lambda m, c: c.update(components=1 << 31)).read_bytes()
    with pytest.raises(
        FormatError, match=f"components is {1 << 31}; vectors of {DIM} dimensions allow at most 4096"
    ):
        _core.encoder_from_bytes(changed, VECTORS)


def test_a_deeply_nested_config_is_refused(tmp_path):
    path = tmp_path / "model"
    laes().save(str(path))
    nested: list = []
    for _ in range(600):
        nested = [nested]
    with pytest.raises(FormatError, match="config: its values are nested more than 512 times"):
        _core.load_encoder(str(rewritten(path, lambda m, c: c.update(tokenizer=nested))))


def test_a_config_that_is_no_object_is_refused(tmp_path):
    path = tmp_path / "model"
    laes().save(str(path))
    path = rewritten(path, lambda m, c: None)
    path.write_bytes(path.read_bytes().replace(b'"config": "{', b'"config": "[', 1))
    with pytest.raises(FormatError, match="config is not a JSON object"):
        _core.load_encoder(str(path))


def test_out_is_never_copied_or_converted():
    encoder = _core.Average(VECTORS, TOKENIZER, WEIGHTS)
    with pytest.raises(TypeError, match="out must be a float32 array, got float64"):
        encoder.encode_into(["w1"], np.empty((1, DIM)))
    with pytest.raises(ValueError, match=r"out must be \[1, 6\], got \[2, 6\]"):
        encoder.encode_into(["w1"], np.empty((2, DIM), np.float32))
    frozen = np.empty((1, DIM), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        encoder.encode_into(["w1"], frozen)


@pytest.mark.parametrize("kind", [list, tuple])
def test_long_lists_are_encoded_in_pieces(kind):
    encoder = _core.Average(VECTORS, TOKENIZER, WEIGHTS)
    assert encoder.side_by_side
    many = [texts(TEST)[i % len(TEST)] for i in range(5000)]
    assert np.array_equal(
        encode(encoder, kind(many)), encode(encoder, texts(TEST))[np.arange(5000) % len(TEST)]
    )
    as_bytes = [text.encode() for text in many]
    assert np.array_equal(encode(encoder, kind(as_bytes)), encode(encoder, kind(many)))

    many[4321] = b"w1"
    with pytest.raises(TypeError, match=r"sentences\[4321\] is bytes .*; expected str"):
        encode(encoder, kind(many))
    as_bytes[2048] = None
    with pytest.raises(TypeError, match=r"sentences\[2048\] is NoneType .*; expected bytes"):
        encode(encoder, kind(as_bytes))
    with pytest.raises(ValueError, match=r"out must be \[5000, 6\], got \[4999, 6\]"):
        encoder.encode_into(kind(as_bytes), np.empty((4999, DIM), np.float32))


def test_a_list_that_changes_during_encode():
    encoder = _core.Average(VECTORS, TOKENIZER, WEIGHTS)
    many = texts(TEST) * 2000
    expected = encode(encoder, many)
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            many[:] = ["other"] * 10
            many[:] = texts(TEST) * 2000

    changer = threading.Thread(target=change)
    changer.start()
    try:
        for _ in range(20):
            refused = ""
            try:
                encoder.encode_into(many, np.empty_like(expected))
            except (RuntimeError, ValueError) as error:
                refused = str(error)
            assert refused == "" or "items or more" in refused or "out must be" in refused
    finally:
        stop.set()
        changer.join()
