"""Damaged files raise errors with their names; undamaged ones, also old ones, yield the same embeddings."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import sentencode as se

from .saved_files import (
    NEURAL,
    STORAGES,
    TEXTS,
    WORDS,
    encoders,
    neural_encoder,
    parts,
    table,
    with_checksums,
    without_checksums,
)

OLD = Path(__file__).parent / "version-1"
KINDS = ("average", "sif", "usif", "laes", "laes-residual", "dict-rep", "paragraph-vec")
KINDS += ("concatenation", "whitening")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for name, encoder in encoders().items():
        encoder.save(folder / name)
    for storage in STORAGES:
        table(storage).save(folder / storage)
    small = {"vector_size": 3, "epochs": 1, "inference_epochs": 1, "min_count": 1}
    se.ParagraphVec("dm", **small).fit(TEXTS).save(folder / "paragraph-vec")
    se.Concatenation([encoders()["sif"], encoders()["average"]]).save(folder / "concatenation")
    se.Whitening(encoders()["average"]).fit(TEXTS).save(folder / "whitening")
    return folder


def rows_of(path):
    if path.name in STORAGES or path.name.startswith("vectors") or path.parent.name in STORAGES:
        vectors = se.WordVectors.load(path, verify=True)
        assert [word in vectors for word in WORDS] == [True] * len(WORDS)
        return vectors.matrix()
    return se.load(path).encode(TEXTS)


@pytest.mark.parametrize(
    ("kind", "samples"), [*((kind, 1500) for kind in (*KINDS, *STORAGES)), *((kind, 300) for kind in NEURAL)]
)
def test_any_flipped_bit_is_detected(files, tmp_path, kind, samples):
    if kind in NEURAL:
        pytest.importorskip("torch")
        neural_encoder(kind).save(files / kind)
    content, generator = (files / kind).read_bytes(), random.Random(kind)
    (tmp_path / kind).mkdir()
    damaged, whole = tmp_path / kind / "damaged", rows_of(files / kind)
    # Every byte of short files; of longer ones, as many.
    for offset in sorted(generator.sample(range(len(content)), min(len(content), samples))):
        data = bytearray(content)
        data[offset] ^= 1 << generator.randrange(8)
        damaged.write_bytes(data)
        try:
            rows = rows_of(damaged)
        except se.FormatError as error:
            named = str(damaged) in str(error)
        else:
            named = np.array_equal(rows, whole)
        assert named, f"byte {offset}"


def test_words_are_always_verified_and_vectors_on_request(files, tmp_path):
    header, _ = parts((files / "float32").read_bytes())
    content = bytearray((files / "float32").read_bytes())
    begin = len(content) - max(one["data_offsets"][1] for one in header.values() if "data_offsets" in one)
    for name in ("words", "slots", "rows"):
        damaged = bytearray(content)
        damaged[begin + header[name]["data_offsets"][0]] ^= 1
        path = tmp_path / name
        path.write_bytes(damaged)
        if name == "rows":
            assert len(se.WordVectors.load(path)) == len(WORDS)
        with pytest.raises(se.FormatError, match=f"damaged: the checksum of tensor '{name}'"):
            se.WordVectors.load(path, verify=name == "rows")


@pytest.mark.parametrize("storage", ["float32", "float16"])
def test_rows_that_are_not_finite_are_refused_with_their_word(files, tmp_path, storage):
    header, body = parts((files / storage).read_bytes())
    begin, end = header["rows"]["data_offsets"]
    bad = np.frombuffer(body[begin:end], dtype=storage).copy()
    bad[4 * WORDS.index("dog") + 1] = np.inf
    path = tmp_path / "bad"
    path.write_bytes(with_checksums(header, body[:begin] + bad.tobytes() + body[end:]))
    with pytest.raises(se.FormatError, match="the vector of 'dog' holds NaN or infinity"):
        se.WordVectors.load(path, verify=True)


@pytest.mark.parametrize("kind", [*KINDS, *STORAGES])
def test_a_file_that_lost_its_checksums_is_refused(files, tmp_path, kind):
    header, body = parts((files / kind).read_bytes())
    names = [key for key in header["__metadata__"] if key.startswith("checksum.")]
    assert len(names) == len(header)  # of each tensor and of the header
    old = without_checksums((files / kind).read_bytes())
    for key in ("version", "format_version"):
        now = header["__metadata__"].get(key, "")
        old = old.replace(f'"{key}": "1"'.encode(), f'"{key}": "{now}"'.encode())
    (tmp_path / "lost").write_bytes(old)
    with pytest.raises(se.FormatError, match="has no checksums"):
        se.WordVectors.load(tmp_path / "lost") if kind in STORAGES else se.load(tmp_path / "lost")
    path = tmp_path / "again"
    path.write_bytes(with_checksums(header, body))  # who writes it so is believed
    se.WordVectors.load(path) if kind in STORAGES else se.load(path)


@pytest.mark.parametrize("name", sorted(json.loads((OLD / "rows.json").read_text())["rows"]))
def test_files_of_before_there_were_checksums_load(name):
    old = json.loads((OLD / "rows.json").read_text())
    if name.upper() in (kind.upper() for kind in NEURAL):
        pytest.importorskip("torch")
    path = OLD / f"{name}.sentencode"
    vectors = se.WordVectors.load(path).matrix() if "vectors" in name else se.load(path).encode(old["texts"])
    np.testing.assert_allclose(vectors, old["rows"][name], atol=1e-6)


def test_fingerprints_do_not_know_of_checksums(files):
    """Caches stay valid."""
    assert all(
        b"checksum" not in encoder._described_model().to_bytes(statistics=False)
        for encoder in encoders().values()
    )


READ = """
    import sys
    import sentencode as se

    def peak():  # in MiB
        (line,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
        return int(line.split()[1]) >> 10

    whole, *lies = sys.argv[1:]
    se.load(whole).encode("the cat")
    for path in lies:
        before = peak()
        try:
            se.load(path)
            print("loaded")
        except se.FormatError as error:
            print(peak() - before, "named" if path in str(error) else error)
"""
# 28,000 units of an LSTM would be 25 GB. Of hundreds the file has enough numbers, of layers it has not.
LIES = {
    "CompoundNMT": [
        *({name: 1_000_000_000} for name in ("hidden", "decoder_hidden", "attention", "source_words")),
        *({name: 1_000_000_000} for name in ("words", "features", "heads", "layers", "size")),
        *({"architecture": "final", "size": 0, name: 100_000} for name in ("hidden", "decoder_hidden")),
        {"architecture": "trf", "size": 0, "features": 200_000, "hidden": 100_000, "inner": 1_000_000},
        {"architecture": "trf", "size": 0, "features": 6, "attention_heads": 1, "layers": 1_000_000_000},
        {"begins_with_sentence": True},
        {"tied": True},
    ],
    "LSTMSDAE": [{"hidden": 28_000}, {"words": 2_000_000_000}],
    "CNNLSTMAE": [{"filters": 1_000_000}, {"windows": [1, 1_000_000]}],
    "RAE": [{"inner": 100_000_000}],
    "MeanMaxAAE": [{"hidden": 80_000}],
    "RNNCNN": [
        *({name: 1_000_000_000} for name in ("hidden", "words", "features", "predict", "channels")),
        *({name: 1_000_000_000} for name in ("inner", "window", "decoder_layers", "sampled_words")),
        *({"hidden": 300}, {"predict": 300, "channels": 300}, {"channels": 300, "inner": 300}),
        {"decoder_layers": 300, "inner": 300},
        {"decoder_layers": 300, "inner": 1, "channels": 1, "window": 1},
        {"decoder": "autoregressive_rnn"},
        {"cell": "lstm", "hidden": 300},
    ],
    "CompositeCNN": [{"filters": 1_000_000}, {"words": 1_000_000_000}],
    "HierarchicalCNN": [{"hidden": 28_000}, {"windows": [1, 1_000_000]}],
    "FastSent": [{"words": 1_000_000_000}, {"features": 1_000_000}, {"word_bias": True}, {"tied": True}],
    "SkipThoughts": [
        *({"hidden": 50_000}, {"words": 1_000_000_000}, {"tied": False}, {"hidden": 200}),
        {"layer_norm": True},
    ],
}


@pytest.mark.parametrize("kind", LIES)
def test_sizes_in_a_file_do_not_allocate_memory(tmp_path, kind):
    pytest.importorskip("torch")
    neural_encoder(kind).save(tmp_path / "whole")
    header, body = parts((tmp_path / "whole").read_bytes())
    true = json.loads(header["__metadata__"]["config"])
    paths = []
    for lie in LIES[kind]:
        assert lie.keys() <= true["network"].keys()
        header["__metadata__"]["config"] = json.dumps({**true, "network": {**true["network"], **lie}})
        paths.append(tmp_path / f"lie-{len(paths)}")
        paths[-1].write_bytes(with_checksums(header, body))
    command = [sys.executable, "-c", textwrap.dedent(READ), *map(str, [tmp_path / "whole", *paths])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    for lie, line in zip(LIES[kind], done.stdout.splitlines(), strict=True):
        grown, named = line.split(maxsplit=1)
        assert named == "named", lie
        assert int(grown) < 50, lie
