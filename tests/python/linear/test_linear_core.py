"""The linear encoders of the core against NumPy: the paper's formulas on small data, word by word."""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sentencode import FormatError, NotFittedError, _core

WORDS, DIM = 25, 6
TOKENIZER = _core.Tokenizer("whitespace", lowercase=False, invalid="replace")
ROWS = np.random.default_rng(3).standard_normal((WORDS, DIM)).astype(np.float32) + np.float32(0.3)
WEIGHTS = np.random.default_rng(4).uniform(0.2, 1, WORDS).astype(np.float32)
VECTORS = _core.WordVectors.from_array([f"w{i}" for i in range(WORDS)], ROWS, None, "float32", "skip")
X = (ROWS * WEIGHTS[:, None]).astype(np.float64)
LAES = {
    "hidden": 8,
    "mode": "hidden",
    "direction": "forward",
    "combine": "sum",
    "center": False,
    "state": "recursive",
    "max_length": 64,
}


def some_ids(count: int, shortest: int, longest: int, seed: int) -> list[list[int]]:
    chosen = np.random.default_rng(seed)
    return [list(chosen.integers(0, WORDS, chosen.integers(shortest, longest + 1))) for _ in range(count)]


def texts(ids: list[list[int]]) -> list[str]:
    return [" ".join(f"w{i}" for i in sentence) for sentence in ids]


TRAIN, TEST = some_ids(70, 0, 7, seed=1), some_ids(40, 0, 15, seed=2)


def encode(encoder, sentences: list[str]) -> np.ndarray:
    out = np.full((len(sentences), encoder.dim), np.nan, np.float32)
    encoder.encode_into(sentences, out)
    return out


def laes(ids: list[list[int]] = TRAIN, **options):
    encoder = _core.LAES(VECTORS, TOKENIZER, WEIGHTS, **(LAES | options))
    encoder.partial_fit(texts(ids))
    encoder.solve()
    return encoder


def xi(sentences: list[np.ndarray]) -> np.ndarray:
    longest = max(map(len, sentences))
    rows = []
    for x in sentences:
        for t in range(len(x)):
            row = np.zeros((longest, DIM))
            row[: t + 1] = x[t::-1]
            rows.append(row.ravel())
    return np.array(rows)


def shifted(h: np.ndarray, sentences: list[np.ndarray]) -> np.ndarray:
    """R H: every prefix's row becomes that of the prefix that is one word shorter."""
    out, row = np.zeros_like(h), 0
    for x in sentences:
        out[row + 1 : row + len(x)] = h[row : row + len(x) - 1]
        row += len(x)
    return out


def paper(sentences: list[np.ndarray], p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, B and singular values by section IV.A: a dense singular value decomposition of Xi, cut at p."""
    v, s, ut = np.linalg.svd(xi(sentences), full_matrices=False)
    v, s, u = v[:, :p], s[:p], ut[:p].T
    q = (s[:, None] * (shifted(v, sentences).T @ v)) / s[None, :]
    return u[:DIM].T, q.T, s


def same_signs(a: np.ndarray, b: np.ndarray, like: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    sign = np.sign((a * like).sum(1))
    return a * sign[:, None], b * sign[:, None] * sign[None, :]


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("count", [3, 70])  # the dual, the primal
def test_parameters_are_the_papers(count, direction, center):
    ids = [sentence for sentence in TRAIN if sentence][:count]
    sentences = [X[sentence if direction == "forward" else sentence[::-1]] for sentence in ids]
    mean = np.concatenate(sentences).mean(0) if center else 0
    sentences = [x - mean for x in sentences]
    encoder = laes(ids, direction=direction, center=center, hidden=5)
    found = encoder.parameters(direction)
    a, b, s = paper(sentences, 5)
    a, b = same_signs(a, b, found["A"])
    np.testing.assert_allclose(found["A"], a, atol=2e-6)
    np.testing.assert_allclose(found["B"], b, atol=2e-6)
    np.testing.assert_allclose(found["singular_values"], s, rtol=1e-5)
    assert found["rank"] == 5
    assert (found["center"] is not None) == center


def test_a_smaller_size_is_a_corner():
    large = laes(hidden=20).parameters("forward")
    for p in (1, 7, 20):
        small = laes(hidden=p).parameters("forward")
        np.testing.assert_allclose(small["A"], large["A"][:p], atol=1e-6)
        np.testing.assert_allclose(small["B"], large["B"][:p, :p], atol=1e-6)


def test_streaming_and_merging_are_one_pass():
    whole = laes(direction="both", mode="residual", center=True)
    streamed = _core.LAES(
        VECTORS, TOKENIZER, WEIGHTS, **(LAES | {"direction": "both", "mode": "residual", "center": True})
    )
    for sentence in texts(TRAIN):
        streamed.partial_fit([sentence])
    np.testing.assert_array_equal(encode(streamed, texts(TEST)), encode(whole, texts(TEST)))

    workers = [laes(TRAIN[i::3], direction="both", mode="residual", center=True) for i in range(3)]
    first, *others = [_core.encoder_from_bytes(w.to_bytes(statistics=True), VECTORS) for w in workers]
    for other in others:
        first.merge(other)
    assert first.tokens_seen == sum(map(len, TRAIN))
    np.testing.assert_allclose(encode(first, texts(TEST)), encode(whole, texts(TEST)), atol=1e-5)


def test_order_does_not_matter():
    mixed = TRAIN.copy()
    random.Random(7).shuffle(mixed)
    for mode in ("reconstruction", "residual"):
        np.testing.assert_allclose(
            encode(laes(mixed, mode=mode), texts(TEST)), encode(laes(mode=mode), texts(TEST)), atol=1e-5
        )


def slow_laes(sentence: list[int], parameters: dict, mode: str, direction: str) -> np.ndarray:
    a, b = parameters["A"].astype(np.float64), parameters["B"].astype(np.float64)
    x = X[sentence if direction == "forward" else sentence[::-1]]
    if len(x) == 0:
        return np.zeros(len(a) if mode == "hidden" else DIM)
    h = np.zeros(len(a))
    for word in x:
        h = a @ word + b @ h
    if mode == "hidden":
        return h
    reconstructed = []
    for _ in x:
        reconstructed.append(a.T @ h)
        h = b.T @ h
    mean = np.mean(reconstructed, 0)
    return mean if mode == "reconstruction" else x.mean(0) - mean


@pytest.mark.parametrize("combine", ["sum", "concat"])
@pytest.mark.parametrize("mode", ["hidden", "reconstruction", "residual"])
def test_embeddings_are_those_of_section_v(mode, combine):
    encoder = laes(mode=mode, direction="both", combine=combine)
    found = encode(encoder, texts(TEST))
    forward, backward = (encoder.parameters(d) for d in ("forward", "backward"))
    for row, sentence in zip(found, TEST, strict=True):
        one = slow_laes(sentence, forward, mode, "forward")
        two = slow_laes(sentence, backward, mode, "backward")
        expected = (one + two) / 2 if combine == "sum" else np.concatenate([one, two])
        np.testing.assert_allclose(row, expected, atol=5e-6)


def test_reconstruction_is_exact_at_full_rank():
    encoder = laes(hidden=7 * DIM)
    rank = encoder.parameters("forward")["rank"]
    errors = encoder.reconstruction_error(texts(TRAIN), [1, 5, 20, rank], "forward")
    assert errors[0] > errors[1] > errors[2] > 0.01
    assert errors[3] < 1e-5
    sentence = max(TRAIN, key=len)
    states = encoder.states(texts([sentence])[0], "forward")
    assert states.shape == (len(sentence), 7 * DIM)
    np.testing.assert_allclose(encoder.decode(states[-1], len(sentence), "forward"), X[sentence], atol=1e-4)


def slow_means(ids: list[list[int]], normalized: bool = False) -> np.ndarray:
    out = np.zeros((len(ids), DIM))
    for i, sentence in enumerate(ids):
        if sentence:
            scale = np.linalg.norm(ROWS[sentence].astype(np.float64), axis=0) if normalized else 1
            out[i] = (X[sentence] / scale).mean(0)
    return out


@pytest.mark.parametrize("components", [0, 1, 4])
def test_sif_takes_the_leading_directions_away(components):
    sif = _core.SIF(VECTORS, TOKENIZER, WEIGHTS, components=components)
    sif.partial_fit(texts(TRAIN))
    c = np.linalg.svd(slow_means(TRAIN))[2][:components]
    e = slow_means(TEST)
    np.testing.assert_allclose(encode(sif, texts(TEST)), e - e @ c.T @ c, atol=1e-5)


@pytest.mark.parametrize("normalize", ["dimension", "none"])
def test_usif_takes_shares_of_directions_away(normalize):
    usif = _core.USIF(VECTORS, TOKENIZER, WEIGHTS, components=4, normalize=normalize)
    usif.partial_fit(texts(TRAIN))
    _, s, c = np.linalg.svd(slow_means(TRAIN, normalize == "dimension"))
    share = s[:4] ** 2 / (s[:4] ** 2).sum()
    e = slow_means(TEST, normalize == "dimension")
    np.testing.assert_allclose(encode(usif, texts(TEST)), e - (e @ c[:4].T * share) @ c[:4], atol=1e-5)


def every_encoder():
    yield _core.Average(VECTORS, TOKENIZER, WEIGHTS)
    yield _core.SIF(VECTORS, TOKENIZER, WEIGHTS, components=2)
    yield _core.USIF(VECTORS, TOKENIZER, WEIGHTS, components=3, normalize="dimension")
    for mode in ("hidden", "reconstruction", "residual"):
        for state in ("recursive", "projection"):
            for center in (False, True):
                options = LAES | {
                    "mode": mode,
                    "state": state,
                    "center": center,
                    "direction": "both",
                    "combine": "concat",
                }
                yield _core.LAES(VECTORS, TOKENIZER, WEIGHTS, **options)


def fitted_encoders():
    for encoder in every_encoder():
        encoder.partial_fit(texts(TRAIN))
        encoder.solve()
        yield encoder


FITTED = list(fitted_encoders())
NAMES = [f"{e.kind}{i}" for i, e in enumerate(FITTED)]
sentence = st.lists(st.integers(0, WORDS + 3), max_size=30)  # w25 ... are unknown


@pytest.mark.parametrize("encoder", FITTED, ids=NAMES)
@settings(deadline=None, max_examples=25)
@given(batch=st.lists(sentence, min_size=1, max_size=40), threads=st.sampled_from([1, 2, 5]), data=st.data())
def test_a_row_does_not_depend_on_its_batch_or_on_threads(encoder, batch, threads, data):
    together = encode(encoder, texts(batch))
    scale = 1 + np.abs(together).max()
    i = data.draw(st.integers(0, len(batch) - 1))
    order = data.draw(st.permutations(range(len(batch))))
    before = _core.num_threads()
    _core.set_num_threads(threads)
    try:
        np.testing.assert_allclose(encode(encoder, texts([batch[i]]))[0], together[i], atol=1e-6 * scale)
        mixed = encode(encoder, texts([batch[j] for j in order]))
    finally:
        _core.set_num_threads(before)
    np.testing.assert_allclose(mixed, together[order], atol=1e-6 * scale)
    assert not encode(encoder, ["", "unknown words"]).any()


@pytest.mark.parametrize("encoder", FITTED, ids=NAMES)
def test_files_and_bytes_bring_the_same_encoder_back(encoder, tmp_path):
    path = str(tmp_path / "model")
    encoder.params = '{"what": "Python says"}'
    expected = encode(encoder, texts(TEST))
    for statistics in (False, True):
        encoder.save(path, statistics=statistics)
        loaded = _core.load_encoder(path)
        assert type(loaded) is type(encoder)
        assert loaded.params == encoder.params
        np.testing.assert_array_equal(encode(loaded, texts(TEST)), expected)
        again = _core.encoder_from_bytes(encoder.to_bytes(statistics=statistics), VECTORS)
        assert type(again) is type(encoder)
        assert again.vectors is VECTORS
        np.testing.assert_array_equal(encode(again, texts(TEST)), expected)
    described = json.loads(_core.encoder_config(path))
    assert described["kind"] == encoder.kind
    assert described["params"] == encoder.params


@pytest.mark.parametrize("encoder", [e for e in every_encoder() if e.kind != "Average"][:4])
def test_what_was_not_solved_yet_goes_on_elsewhere(encoder):
    encoder.partial_fit(texts(TRAIN))
    again = _core.encoder_from_bytes(encoder.to_bytes(statistics=True), VECTORS)
    assert not again.fitted
    np.testing.assert_array_equal(encode(again, texts(TEST)), encode(encoder, texts(TEST)))


def test_vectors_can_stay_where_they_are(tmp_path):
    native = str(tmp_path / "vectors")
    VECTORS.save(native)
    encoder = _core.Average(_core.WordVectors.open(native, "skip"), TOKENIZER, WEIGHTS)
    path = str(tmp_path / "model")
    encoder.save(path, vectors=False)
    np.testing.assert_array_equal(encode(_core.load_encoder(path), texts(TEST)), encode(encoder, texts(TEST)))
    with pytest.raises(ValueError, match="only vectors that were opened from a native file"):
        FITTED[0].save(path, vectors=False)
    other = _core.WordVectors.from_array(["a"], ROWS[:1], None, "float32", "skip")
    other.save(native)
    with pytest.raises(FormatError, match="was made with other word vectors"):
        _core.load_encoder(path)


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

    sif = FITTED[1]
    fresh = _core.SIF(VECTORS, TOKENIZER, WEIGHTS, components=2)
    fresh.set_statistics(sif.statistics())
    np.testing.assert_allclose(fresh.directions if fresh.fitted else sif.directions, sif.directions)
    np.testing.assert_allclose(encode(fresh, texts(TEST)), encode(sif, texts(TEST)), atol=1e-6)


def rewritten(path: Path, change) -> Path:
    """A copy of a model file whose header was changed as text of the same length or JSON."""
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


def test_a_file_that_asks_for_more_than_it_fills_is_refused(tmp_path):
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
    # More units than words, within reason, are somebody's choice.
    some = rewritten(bare, lambda m, c: c.update(hidden=300)).read_bytes()
    assert _core.encoder_from_bytes(some, VECTORS).parameters("forward")["A"].shape == (300, DIM)


def test_a_config_that_is_no_object_is_refused(tmp_path):
    path = tmp_path / "model"
    laes().save(str(path))
    path = rewritten(path, lambda m, c: None)
    path.write_bytes(path.read_bytes().replace(b'"config": "{', b'"config": "[', 1))
    with pytest.raises(FormatError, match="config is not a JSON object"):
        _core.load_encoder(str(path))


def test_damaged_files_never_crash(tmp_path):
    """What a flipped or missing byte makes of a file either loads or is refused."""
    path, damaged = tmp_path / "model", tmp_path / "damaged"
    chosen = random.Random(5)
    refused = 0
    for encoder in (FITTED[1], laes(direction="both", center=True, state="projection")):
        encoder.save(str(path), statistics=True)
        whole = path.read_bytes()
        header = 8 + int.from_bytes(whole[:8], "little")
        for trial in range(400):
            data = bytearray(whole)
            if trial % 10 == 0:
                del data[chosen.randrange(len(data)) :]
            for _ in range(chosen.choice([1, 1, 3])):
                if data:
                    data[chosen.randrange(min(len(data), header if trial % 2 else len(data)))] = (
                        chosen.randrange(256)
                    )
            damaged.write_bytes(data)
            try:
                loaded = _core.load_encoder(str(damaged))
                loaded.encode_into(["w1 w2"], np.empty((1, loaded.dim), np.float32))
            except (FormatError, NotFittedError, ValueError):
                refused += 1
    assert refused > 400


def test_degenerate_input():
    one = laes([[3]], hidden=4, mode="residual")
    assert one.parameters("forward")["rank"] == 1
    assert not one.parameters("forward")["A"][1:].any()
    assert not encode(one, ["w3"]).any()  # reconstructed exactly
    assert encode(one, ["w4"]).any()
    alike = _core.SIF(VECTORS, TOKENIZER, WEIGHTS, components=1)
    alike.partial_fit(["w1 w2"] * 10)
    assert not encode(alike, ["w1 w2", "w2 w1", ""]).any()
    nothing = _core.LAES(VECTORS, TOKENIZER, WEIGHTS, **LAES)
    with pytest.raises(NotFittedError):
        nothing.solve()
    nothing.partial_fit(["", "unknown"])
    with pytest.raises(ValueError, match="no sentence had a known word"):
        nothing.solve()
    assert encode(laes(), []).shape == (0, 8)


def test_out_is_never_copied_or_converted():
    encoder = FITTED[0]
    with pytest.raises(TypeError, match="out must be a float32 array, got float64"):
        encoder.encode_into(["w1"], np.empty((1, DIM)))
    with pytest.raises(ValueError, match=r"out must be \[1, 6\], got \[2, 6\]"):
        encoder.encode_into(["w1"], np.empty((2, DIM), np.float32))
    frozen = np.empty((1, DIM), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        encoder.encode_into(["w1"], frozen)


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_long_list_is_taken_in_pieces(kind):
    encoder = FITTED[0]
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


def test_a_list_that_changes_meanwhile():
    encoder = FITTED[0]
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


def test_select_tells_which_size_is_best():
    first, second = texts(some_ids(50, 1, 9, seed=8)), texts(some_ids(50, 1, 9, seed=9))
    gold = np.random.default_rng(10).uniform(0, 5, 50)
    encoder = laes(hidden=12, direction="both", mode="residual")
    for curve in encoder.select(first, second, gold, [1, 3, 12]):
        assert list(curve["settings"]) == [1, 3, 12]
        combined = curve["name"] in ("sum", "concat")
        for p, found in zip(curve["settings"], curve["pearson"], strict=True):
            direction = "both" if combined else curve["name"]
            smaller = encoder.resized(int(p), direction, curve["name"] if combined else "sum")
            a, b = encode(smaller, first).astype(float), encode(smaller, second).astype(float)
            cosines = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
            assert found == pytest.approx(np.corrcoef(cosines, gold)[0, 1], abs=1e-4)
    same = encoder.select(["w1"] * 3, ["w1"] * 3, [1.0, 2, 3], [1])
    assert all(np.isnan(curve["pearson"][0]) or abs(curve["pearson"][0]) <= 1 for curve in same)
