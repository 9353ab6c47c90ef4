"""`sentencode encode INPUT... --output DIR`."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sentencode as se
from sentencode.cli import main

pytest.importorskip("pyarrow")
LINES = [f"the {'dog ' * (i % 5)} {'cat' if i % 3 else ''}" for i in range(300)]


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(3)
    vectors = se.WordVectors.from_array(["the", "dog", "cat"], rng.normal(size=(3, 5)), [90, 9, 1])
    vectors.save(tmp_path / "vectors.sentencode")
    encoder = se.SIF(vectors).fit(LINES)
    encoder.save(tmp_path / "sif.sentencode")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("\n".join(LINES[:200]) + "\n")
    (tmp_path / "in" / "b.txt").write_text("\n".join(LINES[200:]))
    return tmp_path, encoder


def command(folder, *more):
    return [
        "encode",
        "--encoder",
        str(folder / "sif.sentencode"),
        "--quiet",
        "--workers",
        "1",
        *map(str, more),
    ]


def test_a_folder(files, capsys, fails):
    folder, encoder = files
    arguments = command(folder, folder / "in", "--output", folder / "out", "--shard-size", "1KB")
    for _ in range(2):
        assert main(arguments) == 0
        assert capsys.readouterr().out == f"{folder / 'out'}: 300 rows of 5\n"
    embeddings = se.scale.Embeddings(folder / "out")
    assert len(embeddings.files) > 3
    np.testing.assert_allclose(embeddings.to_numpy(), encoder.encode(LINES), atol=1e-6)
    fails([*arguments, "--precision", "float16"], "was made with precision = 'float32', now 'float16'")
    assert main([*arguments, "--precision", "float16", "--overwrite"]) == 0
    assert se.scale.Embeddings(folder / "out").to_numpy().dtype == np.float16


def test_quantized(files, capsys, fails):
    folder, encoder = files
    (folder / "sample.txt").write_text("\n".join(LINES[:50]))
    arguments = command(folder, folder / "in", "--output", folder / "out", "--shard-size", "1KB")
    int8 = [*arguments, "--precision", "int8", "--truncate-dim", "3"]
    fails(int8, "requires ranges, or calibrate")
    assert main([*int8, "--calibrate", str(folder / "sample.txt")]) == 0
    assert capsys.readouterr().out == f"{folder / 'out'}: 300 rows of 3\n"
    embeddings = se.scale.Embeddings(folder / "out")
    np.testing.assert_array_equal(embeddings.ranges, encoder.calibrate(LINES[:50], truncate_dim=3))
    options = {"precision": "int8", "truncate_dim": 3, "ranges": embeddings.ranges}
    np.testing.assert_array_equal(embeddings.to_numpy(), encoder.encode(LINES, **options))
    assert main(int8) == 0  # with the ranges of the folder
    ranges = folder / "ranges.npy"
    np.save(ranges, 2 * embeddings.ranges)
    fails([*int8, "--ranges", str(ranges)], "was made with ranges = ")
    fails([*int8, "--ranges", str(ranges), "--calibrate", "x"], "either --ranges FILE or --calibrate", 2)
    assert main([*int8, "--ranges", str(ranges), "--overwrite"]) == 0
    np.testing.assert_array_equal(se.scale.Embeddings(folder / "out").ranges, np.load(ranges))


def test_a_table(files, capsys):
    folder, encoder = files
    rows = [{"key": f"k{i}", "body": line or None} for i, line in enumerate(["the dog", "", "cat"])]
    (folder / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    options = ["--column", "body", "--id", "key", "--missing", "null", "--output", folder / "out"]
    assert main(command(folder, folder / "in.jsonl", *options)) == 0
    ((ids, embeddings),) = se.scale.Embeddings(folder / "out").batches()
    assert ids.tolist() == ["k0", "k1", "k2"]
    assert np.isnan(embeddings[1]).all()
    np.testing.assert_allclose(embeddings[[0, 2]], encoder.encode(["the dog", "cat"]), atol=1e-6)


def test_an_encoder_fitted_by_the_command(files):
    folder, _ = files
    arguments = [
        "encode",
        "--kind",
        "sif",
        "--vectors",
        folder / "vectors.sentencode",
        "--fit",
        folder / "in" / "a.txt",
    ]
    arguments += [
        "--save",
        folder / "new.sentencode",
        folder / "in",
        "--output",
        folder / "out",
        "--workers",
        "1",
    ]
    before = se.cache_dir()
    se.set_cache_dir(folder / "cache")
    assert main([*map(str, arguments), "--quiet"]) == 0
    se.set_cache_dir(before)
    expected = se.load(folder / "new.sentencode").encode(LINES)
    np.testing.assert_allclose(se.scale.Embeddings(folder / "out").to_numpy(), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("more", "error"),
    [
        (["in"], "give INPUT and OUTPUT, or INPUT... and --output DIR"),
        (["in", "a", "b"], "give INPUT and OUTPUT, or INPUT... and --output DIR"),
        (["in", "out.npy", "--id", "id"], "--id requires --output DIR"),
        (["in", "out.npy", "--engine", "ray"], "--engine requires --output DIR"),
        (["in", "--output", "out", "--batch-size", "5"], "--batch-size excludes --output DIR"),
        (["in", "--output", "out", "--address", "x"], "--address requires --engine ray, spark or dask"),
        (["in", "--output", "out", "--kind", "sif"], "give either --encoder FILE or --kind"),
    ],
)
def test_wrong_usage(files, more, error, fails):
    folder, _ = files
    arguments = ["encode", "--encoder", str(folder / "sif.sentencode"), *more]
    fails(arguments, error, status=2)
