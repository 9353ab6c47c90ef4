"""Tables of students, on a small benchmark and a teacher that is an average of words, bent."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sentencode as se
from sentencode.cli import main
from sentencode.reproduce import distill, evaluator
from sentencode.reproduce.results_folder import slug

WORDS = [f"w{i}" for i in range(1500)]  # each so rare that weights differ little
PLACES = {word: i for i, word in enumerate(WORDS)}
ROWS = ["teacher", "student", "single-words", "student-not-mapped", "student-1-4-of-the-sentences"]
ROWS += ["student-half-whitened", "student-sif", "student-its-sentences-words", "model2vec"]


class Teacher:
    """Means of word vectors; single words are rotated."""

    def __init__(self, seed=0):
        random = np.random.default_rng(seed)
        self.rows = random.standard_normal((len(WORDS), 12)).astype(np.float32)
        self.turn = np.linalg.qr(random.standard_normal((12, 12)))[0].astype(np.float32)

    def encode(self, sentences):
        rows = []
        for sentence in sentences:
            ids = [PLACES[word] for word in sentence.split() if word in PLACES]
            row = self.rows[ids].mean(0) if ids else np.zeros(12, np.float32)
            rows.append(np.tanh(row @ self.turn if len(ids) == 1 else row))
        return np.array(rows, np.float32)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """STSBenchmark in SentEval's layout with the teacher's cosines as scores, and sentences."""
    folder = tmp_path_factory.mktemp("distill")
    random = np.random.default_rng(1)

    def sentence(words):
        return " ".join(random.choice(words, random.integers(2, 7)))

    teacher, stsb = Teacher(), folder / "data" / "downstream" / "STS" / "STSBenchmark"
    stsb.mkdir(parents=True)
    for split, count in {"train": 30, "dev": 30, "test": 150}.items():
        pairs = [[sentence(WORDS) for _ in range(2)] for _ in range(count)]
        one, other = (teacher.encode(side) for side in zip(*pairs, strict=True))
        cosines = (one * other).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
        scores = 2.5 + 2.5 * cosines
        lines = [
            f"g\tf\t2014\t{i}\t{score:.3f}\t{a}\t{b}"
            for i, ((a, b), score) in enumerate(zip(pairs, scores, strict=True))
        ]
        (stsb / f"sts-{split}.csv").write_text("\n".join(lines) + "\n")
    lines = [sentence(WORDS[:1400]) for _ in range(3000)]
    (folder / "text.txt").write_text("\n".join(lines) + "\n")
    (folder / "words.txt").write_text("\n".join(WORDS) + "\n")
    return folder


@pytest.fixture(scope="module", autouse=True)
def hardly_timed():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluator, "_TIMED", 0.005)
        yield


@pytest.fixture(scope="module")
def report(files, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "distill"
    results = distill.reproduce(
        files / "data",
        Teacher(),
        [files / "text.txt"],
        words=files / "words.txt",
        out=out,
        rows=ROWS,
        resamples=100,
        partial=True,
    )
    return results, out


def score(report, row):
    (row_result,) = (result for result in report.results if slug(result["row"]) == row)
    return row_result["scores"]["STSBenchmarkCosine"]["value"]


@pytest.mark.parametrize("content", ["", "\n \n\t\n"])
def test_without_sentences_nothing_is_done(files, tmp_path, content, monkeypatch, capsys):
    (tmp_path / "none.txt").write_text(content)
    monkeypatch.setattr(distill, "Evaluator", lambda **_: None)  # neither is a task read

    def loaded(*_args, **_options):
        raise AssertionError("the teacher was loaded")

    monkeypatch.setattr(distill, "teacher_named", loaded)
    command = [
        "reproduce",
        "distill",
        "teacher",
        "--data",
        str(files / "data"),
        "--out",
        str(tmp_path / "out"),
    ]
    assert main([*command, "--sentences", str(tmp_path / "none.txt")]) == 1
    error = f"sentencode: error: there are no sentences to distil from in {tmp_path / 'none.txt'}\n"
    assert capsys.readouterr().err == error
    assert not (tmp_path / "out").exists()


def test_contributions_of_the_parts(report):
    results, _ = report
    assert score(results, "teacher") > 99
    assert score(results, "student") > 90
    # A hundred words are in no sentence, and alone they lie elsewhere.
    for row in ("student-not-mapped", "single-words"):
        assert score(results, "student") > score(results, row) + 1
    (student,) = (r for r in results.results if r["row"] == "student")
    assert student["student"]["words"] == 1500
    assert student["scores"]["STSBenchmarkCosine"]["low"] < score(results, "student")
    assert student["sentences_per_second"]["low"] > 1000
    (single,) = (r for r in results.results if r["row"] == "single words")
    less = single["less"]["STSBenchmarkCosine"]
    assert less["value"] == pytest.approx(
        score(results, "single-words") - score(results, "student"), abs=0.01
    )
    assert less["low"] < less["value"] < less["high"] < 0
    assert less["high"] - less["low"] < 100


def test_rows_that_cannot_be_computed_are_reported(report):
    results, out = report
    assert not (out / "rows" / "model2vec.json").exists()  # a resume tries again
    assert (
        "Left out: model2vec (model2vec requires the name of a sentence-transformers model)."
        in results.text()
    )
    assert "| student, not mapped |" in results.markdown()


class PieceTeacher(Teacher):
    """A teacher whose tokenizer has the words as pieces."""

    class tokenizer:  # noqa: N801
        @staticmethod
        def to_str():
            vocabulary = {word: i for i, word in enumerate(["[UNK]", *WORDS])}
            model = {"type": "WordPiece", "unk_token": "[UNK]", "vocab": vocabulary}
            model |= {"continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
            return json.dumps({"pre_tokenizer": {"type": "WhitespaceSplit"}, "model": model})


def test_word_pieces(files, tmp_path):
    arguments = (files / "data", PieceTeacher(), [files / "text.txt"])
    options = {"words": files / "words.txt", "resamples": 50, "partial": True}
    rows = ["student-word-pieces", "student-words-and-pieces"]
    results = distill.reproduce(*arguments, rows=rows, out=tmp_path / "out", **options)
    for result in results.results:
        assert result["student"]["words"] == 1501
        assert result["scores"]["STSBenchmarkCosine"]["value"] > 90
    arguments = (files / "data", Teacher(), [files / "text.txt"])
    results = distill.reproduce(*arguments, rows=rows, out=tmp_path / "none", **options)
    for result in results.results:
        assert result["missing"].startswith("words: the teacher Teacher has no tokenizer of Hugging Face")


def test_results_are_stored_and_resumed(report, files):
    results, out = report
    assert {"tables.md", "results.json", "quality-speed.svg", "rows", "reports"} <= {
        p.name for p in out.iterdir()
    }
    stored = json.loads((out / "results.json").read_text())
    assert [row["row"] for row in stored["rows"]] == [r["row"] for r in results.results]
    arguments = (files / "data", Teacher(), [files / "text.txt"])
    again = distill.reproduce(
        *arguments, words=files / "words.txt", out=out, rows=ROWS, resamples=100, partial=True, resume=True
    )
    assert again.markdown() == results.markdown()
    with pytest.raises(ValueError, match="other settings: teacher was"):
        distill.reproduce(
            files / "data",
            Teacher(seed=1),
            [files / "text.txt"],
            words=files / "words.txt",
            out=out,
            rows=ROWS,
            resamples=100,
            partial=True,
            resume=True,
        )
    with pytest.raises(FileExistsError, match="resume"):
        distill.reproduce(
            *arguments, words=files / "words.txt", out=out, rows=ROWS, resamples=100, partial=True
        )
    with pytest.raises(ValueError, match=r"words was '[0-9a-f]{64}' and is None"):
        distill.reproduce(*arguments, out=out, rows=ROWS, resamples=100, partial=True, resume=True)


def test_old_names_of_rows():
    with pytest.warns(DeprecationWarning, match="'student-256-numbers' is now 'student-256-dimensions'"):
        _, rows = distill.FAMILY.selected(None, ["student-256-numbers"])
    assert rows == ["student, 256 dimensions"]
    report = distill.FAMILY.report([{"row": "student, cut as Penn Treebank"}], {})
    assert report.of("student, Penn Treebank tokens")


def test_without_rows_those_of_the_tables_are_computed():
    _, rows = distill.FAMILY.selected(["parts"], None)
    assert "student" in rows
    assert "teacher" not in rows


def test_command(files, tmp_path, capsys):
    vectors = se.WordVectors.from_array(WORDS, Teacher().rows)
    se.Average(vectors).save(tmp_path / "teacher.sentencode")
    vectors.save(tmp_path / "vectors.sentencode")
    command = ["reproduce", "distill", str(tmp_path / "teacher.sentencode"), "--data", str(files / "data")]
    command += ["--sentences", str(files / "text.txt"), "--vectors", str(tmp_path / "vectors.sentencode")]
    command += ["--rows", "student", "word-vectors-weighted-mean", "--out", str(tmp_path / "out")]
    command += ["--resamples", "50", "--partial", "--quiet"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "word vectors, weighted mean" in shown
    assert "results in" in shown
    assert main([*command, "--bfloat16", "--resume"]) == 1
    assert "bfloat16 is for teachers of sentence-transformers" in capsys.readouterr().err
    assert main([*command[:-1], "--rows", "no-such", "--resume"]) == 1
    assert "no row is named 'no-such'" in capsys.readouterr().err
