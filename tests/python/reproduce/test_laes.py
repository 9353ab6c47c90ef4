"""Tables I and II on a small benchmark, against paper 004 written out in NumPy."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import sentencode as se
from sentencode.cli import main
from sentencode.reproduce import laes

sys.path.insert(0, str(Path(__file__).parent))
import reference  # a module of this folder

WORDS = [f"w{chr(97 + i)}" for i in range(14)]
A = 1e-3
GRIDS = laes.Grids(hidden=(2, 4, 8), residual=range(1, 7), components=3)
SIZES = {"train": 40, "dev": 20, "test": 25}


@pytest.fixture(scope="module")
def vectors():
    generator = np.random.default_rng(1)
    matrix = generator.normal(size=(len(WORDS), 6)).astype(np.float32) + 0.3
    return se.WordVectors.from_array(WORDS, matrix, counts=[1000 // (i + 1) for i in range(len(WORDS))])


@pytest.fixture(scope="module")
def pairs():
    """For each task and split: two lists of sentences, and scores."""
    generator = np.random.default_rng(2)

    def sentence():
        return " ".join(generator.choice(WORDS, size=generator.integers(1, 6)))

    rows = {}
    for task in laes.TASKS:
        for split, n in SIZES.items():
            first = [sentence() for _ in range(n)]
            second = [
                " ".join([*one.split()[:-1], generator.choice(WORDS)])
                if generator.random() < 0.6
                else sentence()
                for one in first
            ]
            rows[task, split] = first, second, generator.uniform(1, 5, n).round(2)
    return rows


@pytest.fixture(scope="module")
def data(pairs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    sick, stsb = folder / "downstream" / "SICK", folder / "downstream" / "STS" / "STSBenchmark"
    sick.mkdir(parents=True)
    stsb.mkdir(parents=True)
    for split, name in {"train": "train", "dev": "trial", "test": "test_annotated"}.items():
        lines = ["pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"]
        rows = zip(*pairs["SICKRelatedness", split], strict=True)
        lines += [f"{i}\t{a}\t{b}\t{score}\tNEUTRAL" for i, (a, b, score) in enumerate(rows)]
        (sick / f"SICK_{name}.txt").write_text("\n".join(lines) + "\n")
        rows = zip(*pairs["STSBenchmark", split], strict=True)
        lines = [f"g\tf\t2014\t{i}\t{score}\t{a}\t{b}" for i, (a, b, score) in enumerate(rows)]
        (stsb / f"sts-{split}.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def report(data, vectors, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "laes"
    return laes.reproduce(data, vectors, out=out, grids=GRIDS, resamples=50, partial=True), out


class Oracle:
    """One task in plain NumPy."""

    def __init__(self, task, pairs, vectors):
        self.pairs = {split: pairs[task, split] for split in SIZES}
        counts = np.asarray(vectors.counts, dtype=float)
        self.rows = {
            word: np.asarray(vectors[word], dtype=float) * A / (A + count / counts.sum())
            for word, count in zip(vectors.words, counts, strict=True)
        }

    def words(self, sentence):
        return np.array([self.rows[word] for word in sentence.split()])

    def sentences(self, split):
        first, second, _ = self.pairs[split]
        return [self.words(sentence) for sentence in first + second]

    def pearson(self, encode, split):
        first, second, gold = self.pairs[split]
        sides = zip(map(self.words, first), map(self.words, second), strict=True)
        return reference.agreement(encode, sides, gold)

    def sif(self, split, m):
        axes = reference.directions(self.sentences(split))[:m]
        return lambda words: reference.mean(words) - axes.T @ (axes @ reference.mean(words))

    def laes(self, p, mode):
        forward = reference.Autoencoder(self.sentences("train"), p)
        backward = reference.Autoencoder([words[::-1] for words in self.sentences("train")], p)
        return {
            "hidden": forward.hidden,
            "reconstruction": forward.reconstruction,
            "residual": forward.residual,
            "sum": lambda words: (forward.residual(words) + backward.residual(words[::-1])) / 2,
            "concat": lambda words: np.concatenate([forward.residual(words), backward.residual(words[::-1])]),
        }[mode]

    def row(self, name):
        """What the table must say: Pearson for each split, and the setting chosen."""
        residual = list(GRIDS.residual)
        settings = {
            "Weighted average": [(0, lambda s: self.sif("train", 0))],
            "SIF": [(m, lambda s, m=m: self.sif("train", m)) for m in range(4)],
            "SIF, evaluated set": [(m, lambda s, m=m: self.sif(s, m)) for m in range(4)],
            "LAES-HID": [(p, lambda s, p=p: self.laes(p, "hidden")) for p in GRIDS.hidden],
            "LAES-RECO": [(p, lambda s, p=p: self.laes(p, "reconstruction")) for p in GRIDS.hidden],
            "LAES-RES": [(p, lambda s, p=p: self.laes(p, "residual")) for p in residual],
            "LAES-BRES": [
                ((p, how), lambda s, p=p, how=how: self.laes(p, how))
                for p in residual
                for how in ("sum", "concat")
            ],
            "LAES-BRES (cat)": [(p, lambda s, p=p: self.laes(p, "concat")) for p in residual],
        }[name]
        best = max(settings, key=lambda setting: self.pearson(setting[1]("dev"), "dev"))
        return best[0], {split: self.pearson(best[1](split), split) for split in SIZES}


@pytest.mark.parametrize("row", [row for row in laes.ROWS if not row.startswith(("uSIF", "Average of"))])
@pytest.mark.parametrize("task", laes.TASKS)
def test_rows_are_the_papers(row, task, report, pairs, vectors):
    cell = report[0].cell(row, task)
    setting, expected = Oracle(task, pairs, vectors).row(row)
    if row != "Weighted average":
        chosen = (cell["n_h"], cell["combine"]) if isinstance(setting, tuple) else cell["n_h"]
        assert chosen == setting
    for split, value in expected.items():
        assert cell["splits"][split]["pearson"] == pytest.approx(value, abs=2e-5)
        assert (
            cell["splits"][split]["low"] <= cell["splits"][split]["pearson"] <= cell["splits"][split]["high"]
        )


def test_usif_is_fitted_to_the_training_sentences_or_to_each_split(report, pairs, vectors):
    for row, fitted_to in {"uSIF": "train", "uSIF, evaluated set": "test"}.items():
        first, second, _ = pairs["STSBenchmark", fitted_to]
        encoder = se.USIF(vectors).fit(first + second)
        first, second, gold = pairs["STSBenchmark", "test"]
        cosines = [
            reference.cosine(*encoder.encode([a, b]).astype(float))
            for a, b in zip(first, second, strict=True)
        ]
        pearson = report[0].cell(row, "STSBenchmark")["splits"]["test"]["pearson"]
        assert pearson == pytest.approx(np.corrcoef(cosines, gold)[0, 1], abs=1e-5)


def test_rows_of_other_encoders_and_paired_differences(data, pairs, vectors, tmp_path):
    se.Average(vectors).save(tmp_path / "mine.sentencode")
    report = laes.reproduce(
        data,
        vectors,
        encoders=[tmp_path / "mine.sentencode"],
        rows=["average-of-the-built-in-vectors", "usif", "laes-res"],
        grids=GRIDS,
        resamples=20,
        partial=True,
    )
    (tmp_path / "damaged.sentencode").write_bytes((tmp_path / "mine.sentencode").read_bytes()[:-1])
    for files, error, why in (
        (["mine", "mine"], ValueError, "encoders: files must be named differently.* got mine, mine"),
        (["damaged"], se.FormatError, "damaged.sentencode"),
    ):
        with pytest.raises(error, match=why):
            laes.reproduce(
                data, vectors, encoders=[tmp_path / f"{name}.sentencode" for name in files], partial=True
            )
    first, second, gold = pairs["SICKRelatedness", "test"]
    rows = {
        "mine": se.Average(vectors),
        "Average of the built-in vectors": se.Average(se.WordVectors.default()),
    }
    for row, encoder in rows.items():
        cosines = [
            reference.cosine(*encoder.encode([a, b]).astype(float))
            for a, b in zip(first, second, strict=True)
        ]
        pearson = report.cell(row, "SICKRelatedness")["splits"]["test"]["pearson"]
        assert pearson == pytest.approx(np.corrcoef(cosines, gold)[0, 1], abs=1e-5)
        assert any(line.startswith(row) for line in report.text().splitlines())
    residual, other = (report.cell(row, "SICKRelatedness") for row in ("LAES-RES", "uSIF"))
    minus = residual["minus"]["uSIF"]
    both = [100 * cell["splits"]["test"]["pearson"] for cell in (residual, other)]
    assert minus["value"] == pytest.approx(both[0] - both[1])
    assert minus["low"] <= minus["value"] <= minus["high"]
    assert "LAES-RES minus uSIF" in report.text()


def test_the_folder_holds_everything(report):
    report, out = report
    names = {path.name for path in out.iterdir()}
    assert names == {"settings.json", "rows", "tables.md", "results.json", "figure-2.png", "figure-2.svg"}
    assert (out / "tables.md").read_text() == report.markdown()
    assert (out / "figure-2.png").read_bytes().startswith(b"\x89PNG")
    assert len(list((out / "rows").iterdir())) == len(laes.ROWS) * len(laes.TASKS)
    stored = json.loads((out / "results.json").read_text())
    assert {cell["row"] for cell in stored["cells"]} == set(laes.ROWS)
    line = next(line for line in report.text().splitlines() if line.startswith("LAES-BRES "))
    assert "72.3" in report.text()  # published
    assert f"{100 * report.cell('LAES-BRES', 'SICKRelatedness')['splits']['test']['pearson']:.1f}" in line


def test_stored_results_are_not_computed_again(data, vectors, tmp_path, monkeypatch):
    arguments = {
        "out": tmp_path,
        "grids": GRIDS,
        "resamples": 20,
        "partial": True,
        "rows": ["sif", "laes-res"],
    }
    first = laes.reproduce(data, vectors, tables=["I"], **arguments)
    monkeypatch.setattr(laes, "_cell", lambda *_: pytest.fail("computed again"))
    again = laes.reproduce(data, vectors, tables=["I"], resume=True, **arguments)
    assert again.text() == first.text()
    with pytest.raises(FileExistsError, match="resume"):
        laes.reproduce(data, vectors, tables=["I"], **arguments)
    with pytest.raises(ValueError, match="made with other settings: max_length was 64 and is 3"):
        laes.reproduce(data, vectors, tables=["I"], resume=True, max_length=3, **arguments)


def test_wrong_names(data, vectors):
    with pytest.raises(ValueError, match="no row is named 'bert'; there are weighted-average, sif"):
        laes.reproduce(data, vectors, rows=["bert"], partial=True)
    with pytest.raises(ValueError, match="no table is named 'III'; there are i, ii, differences, figure-2"):
        laes.reproduce(data, vectors, tables=["III"], partial=True)


@pytest.mark.parametrize("name", ["max_length", "resamples"])
def test_wrong_numbers_are_reported_before_any_work(name):
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
        laes.reproduce("nowhere", "nowhere", **{name: 0})


def test_command(data, vectors, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    vectors.save(tmp_path / "vectors.sentencode")
    command = ["reproduce", "laes", "--data", str(data), "--vectors", str(tmp_path / "vectors.sentencode")]
    command += ["--table", "I", "--rows", "weighted-average", "usif", "--quiet", "--resamples", "20"]
    assert main(command) == 1
    assert "holds 40 examples, but 4500 were published" in capsys.readouterr().err
    assert main([*command, "--partial", "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "Table I, STSBenchmark" in shown
    assert "Weighted average" in shown
    assert "tables.md" in shown
    assert main([*command, "--partial"]) == 0
    assert (tmp_path / "laes-results" / "tables.md").exists()
    assert main([*command, "--partial"]) == 1
    assert "laes-results holds results: resume to keep them" in capsys.readouterr().err
    monkeypatch.setattr(laes, "_cell", lambda *_: pytest.fail("computed again"))
    assert main([*command, "--partial", "--resume"]) == 0
    assert "results in laes-results: results.json" in capsys.readouterr().out


def test_figure_alone(data, vectors, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(laes, "Grids", lambda: GRIDS)
    vectors.save(tmp_path / "vectors.sentencode")
    command = ["reproduce", "laes", "--data", str(data), "--vectors", str(tmp_path / "vectors.sentencode")]
    command += ["--table", "figure-2", "--quiet", "--resamples", "20", "--partial"]
    command += ["--out", str(tmp_path / "out")]
    assert main([*command, "--rows", "sif"]) == 1
    assert "figure 2 requires the rows SIF and LAES-RES" in capsys.readouterr().err
    assert main(command) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == f"figure 2: {tmp_path / 'out' / 'figure-2.png'}"
    assert len(shown) == 2
    assert (tmp_path / "out" / "figure-2.png").read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "out" / "tables.md").exists()
