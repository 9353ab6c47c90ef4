"""LAES fitted by torch: on a GPU where there is one, and on the processor, where the same code runs."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest

import sentencode as se

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("sentencode.nn", reason="built without the neural half", exc_type=ImportError)

HERE = "cpu:0"  # torch's name of the processor; "cpu" is Sentencode itself
NO_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
DEVICES = [HERE, pytest.param("cuda", marks=[pytest.mark.gpu, NO_GPU])]
OPTIONS = [
    {"hidden": 5},
    {"hidden": 9, "direction": "both", "center": True, "mode": "hidden"},
    {"hidden": 7, "direction": "backward", "state": "projection", "mode": "reconstruction", "max_length": 6},
    {"hidden": 4, "a": None, "center": True, "max_length": 1},
    {"hidden": 200, "mode": "hidden", "a": 1e-2},  # more than the rank
]


def check_same(encoder, expected, sentences):
    assert (encoder.n_sentences_, encoder.n_tokens_, encoder.rank_) == (
        expected.n_sentences_,
        expected.n_tokens_,
        expected.rank_,
    )
    np.testing.assert_allclose(encoder.singular_values_, expected.singular_values_, rtol=1e-4, atol=1e-5)
    device, core = encoder.encode(sentences), expected.encode(sentences)
    if encoder.mode == "hidden":  # signs of units are arbitrary
        device, core = np.abs(device), np.abs(core)
    np.testing.assert_allclose(device, core, atol=2e-4)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("options", OPTIONS)
def test_fits_the_same_encoder_as_the_core(vectors, sentences, options, device):
    options = {"a": 1e-2, **options}
    expected = se.LAES(vectors, **options).fit(sentences)
    check_same(se.LAES(vectors, device=device, **options).fit(sentences), expected, sentences)


@pytest.fixture(scope="module")
def wide_table():
    """130-dimensional vectors, and sentences: from 128 dimensions on, products are float."""
    rng = np.random.default_rng(3)
    words = [f"w{i}" for i in range(400)]
    table = se.WordVectors.from_array(words, rng.normal(size=(400, 130)).astype(np.float32))
    return table, [" ".join(rng.choice(words, rng.integers(1, 9))) for _ in range(3000)]


@pytest.mark.parametrize("device", DEVICES)
def test_words_of_many_dimensions(wide_table, device):
    table, text = wide_table
    expected = se.LAES(table, hidden=20, a=None).fit(text)
    encoder = se.LAES(table, hidden=20, a=None, device=device).fit(text)
    np.testing.assert_allclose(encoder.singular_values_, expected.singular_values_, rtol=1e-4)
    np.testing.assert_allclose(encoder.encode(text), expected.encode(text), atol=2e-3)


@pytest.mark.filterwarnings("ignore:.*hidden units reconstruct")
@pytest.mark.parametrize("device", ["cpu", *DEVICES])
def test_units_of_noise_are_zero(device):
    """Products in float leave eigenvalues above zero; the core has such sums of many sentences only."""
    rng = np.random.default_rng(3)
    words = [f"w{i}" for i in range(40)]
    table = se.WordVectors.from_array(words, rng.normal(size=(40, 150)).astype(np.float32))
    text = [" ".join(rng.choice(words, rng.integers(1, 6))) for _ in range(20)]
    expected = se.LAES(table, hidden=300, a=None, device=HERE if device == "cpu" else "cpu").fit(text)
    encoder = se.LAES(table, hidden=300, a=None, device=device)
    for _ in range(6000 if device == "cpu" else 1):
        encoder.partial_fit(text)
    assert encoder.rank_ == expected.rank_
    new = [" ".join(rng.choice(words, 4)) for _ in range(20)]
    np.testing.assert_allclose(encoder.encode(new), expected.encode(new), atol=5e-3)


@pytest.mark.parametrize("device", DEVICES)
def test_statistics_equal_the_core(vectors, sentences, device):
    """In the same order, so that they merge, go on and are saved as any others."""
    many = sentences * 12
    encoder = se.LAES(vectors, hidden=4, direction="both", device=device).partial_fit(many)
    core = se.LAES(vectors, hidden=4, direction="both", device=device).partial_fit(many[:1])
    core.device = "cpu"
    core.partial_fit(many[1:])
    assert core.rank_ == encoder.rank_ == 4  # by the way, what waited was summed
    ours, theirs = encoder._model.statistics(), core._model.statistics()
    for direction in ("forward", "backward"):
        assert len(ours[direction]["waiting_ids"]) == len(theirs[direction]["waiting_ids"]) == 0
        for name in ("sentences", "tokens", "counts", "sums", "gram"):
            np.testing.assert_allclose(ours[direction][name], theirs[direction][name], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("device", DEVICES)
def test_continues_from_statistics_of_the_core(vectors, sentences, device):
    options = {"hidden": 6, "center": True}
    expected = se.LAES(vectors, **options).fit(sentences)
    first = se.LAES(vectors, **options).partial_fit(sentences[:50])  # waits in the core
    first.device = device
    first.partial_fit(sentences[50:120])
    second = se.LAES(vectors, device=device, **options).partial_fit(sentences[120:])
    check_same(first.merge(second), expected, sentences)
    larger = first.variant(hidden=9, mode="hidden")
    check_same(larger, expected.variant(hidden=9, mode="hidden"), sentences)


def test_the_device_is_no_part_of_the_encoder(vectors, sentences, tmp_path):
    encoder = se.LAES(vectors, hidden=4, device=HERE).fit(sentences)
    encoder.save(tmp_path / "laes.sentencode")
    loaded = se.load(tmp_path / "laes.sentencode")
    assert loaded.device == "cpu"
    np.testing.assert_array_equal(loaded.encode(sentences), encoder.encode(sentences))
    assert loaded.fingerprint() == encoder.fingerprint()
    copied = pickle.loads(pickle.dumps(encoder))
    assert copied.device == HERE
    np.testing.assert_array_equal(copied.encode(sentences), encoder.encode(sentences))


def test_unusable_devices_are_refused(vectors, sentences):
    for device in ("gpu", "cuda:99", "", "meta"):
        laes = se.LAES(vectors, hidden=4, device=device)
        with pytest.raises(ValueError, match=f"device='{device}' cannot be used"):
            laes.fit(sentences)
        assert not laes.fitted
    with pytest.raises(TypeError, match="device"):
        se.LAES(vectors, device=0).fit(sentences)
    with pytest.raises(ValueError, match="there is nothing to fit to"):
        se.LAES(vectors, device=HERE).fit(["unknown", ""])
    with pytest.raises(ValueError, match="there is nothing to fit to"):
        se.LAES(vectors, device=HERE).fit([])


def test_more_than_the_memory_is_refused(wide_table):
    table, _ = wide_table
    with pytest.raises(ValueError, match=r"needs \d+ GB.*use a smaller max_length"):
        se.LAES(table, device=HERE, max_length=2000).fit([" ".join(["w1"] * 2000)])


@pytest.mark.parametrize("device", DEVICES)
def test_global_settings_of_torch_change_nothing(wide_table, device):
    table, text = wide_table
    expected = se.LAES(table, hidden=4, device=device).fit(text).encode(text)
    before = torch.get_float32_matmul_precision()
    try:
        if device != HERE:  # on CPUs with instructions for bfloat16, torch has no guard against it
            torch.set_float32_matmul_precision("medium")
        with torch.autocast(device.partition(":")[0], dtype=torch.bfloat16), torch.inference_mode():
            encoder = se.LAES(table, hidden=4, device=device).fit(text).encode(text)
    finally:
        torch.set_float32_matmul_precision(before)
    np.testing.assert_allclose(encoder, expected, atol=5e-6)  # bfloat16 would change the third digit


def test_threads_that_learn_and_read(vectors, sentences):
    """Six threads teach one encoder, some before it has learnt anything, while others read it."""
    laes = se.LAES(vectors, hidden=4, device=HERE)
    failed = []

    def teach(part):
        laes.partial_fit(sentences[part::6])

    def read():
        for _ in range(20):
            try:
                assert np.isfinite(laes.encode(sentences[:20])).all()
            except se.NotFittedError:
                pass
            except Exception as error:
                failed.append(error)

    threads = [threading.Thread(target=teach, args=[part]) for part in range(6)]
    threads += [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    check_same(laes, se.LAES(vectors, hidden=4).fit(sentences), sentences)


def test_a_failure_changes_nothing(vectors, sentences):
    laes = se.LAES(vectors, hidden=4, device=HERE).fit(sentences[:100])
    before = laes.encode(sentences)

    def interrupted():
        yield from sentences
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        laes.partial_fit(interrupted())
    with pytest.raises(TypeError):
        laes.partial_fit([*sentences, 5])
    assert laes.n_sentences_ == se.LAES(vectors, hidden=4).fit(sentences[:100]).n_sentences_
    np.testing.assert_array_equal(laes.encode(sentences), before)


def test_on_workers(vectors, sentences, tmp_path):
    (tmp_path / "lines.txt").write_text("\n".join(sentences), encoding="utf-8")
    expected = se.LAES(vectors, hidden=5).fit(sentences)
    laes = se.LAES(vectors, hidden=5, device=HERE)
    encoder = se.scale.fit(laes, tmp_path / "lines.txt", workers=1, shard_size=500)
    check_same(encoder, expected, sentences)
