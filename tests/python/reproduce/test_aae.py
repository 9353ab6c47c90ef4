"""All rows of table 3 at a tiny size, from training to tables."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch")

import sentencode as se
from sentencode.cli import main
from sentencode.cli.reproduce import Aae
from sentencode.evaluation import published
from sentencode.reproduce import aae, bench
from sentencode.reproduce.controls import AverageOfWord2vec, MeanMaxOfWords, Projection
from sentencode.reproduce.curves import Curves
from sentencode.reproduce.decoder_attention import attention_results
from sentencode.reproduce.results_folder import slug
from sentencode.training import History

sys.path.insert(0, str(Path(__file__).parent))
from small import QUICK, WORDS, fill, word_vectors  # a module of this folder

TINY = aae.Size(
    hidden=8,
    filters=3,
    training={"vocabulary_size": 30, "learning_rate": 0.01, "batch_size": 8, "warmup": 2},
    steps=4,
    valid_sentences=10,
    probe=3,
)
ASKED = [name for name, row in aae.ROWS.items() if row.asked]
SAVED = ["BiLSTM-max on NLI", "BiLSTM-max on SST"]
DEFAULT = [name for name in aae.ROWS if name not in (*ASKED, *SAVED)]
TRAINED = [name for name in DEFAULT if aae.ROWS[name].trained and not aae.ROWS[name].joined]


@pytest.fixture(scope="module")
def vectors():
    return word_vectors()


@pytest.fixture(scope="module")
def folder(tmp_path_factory, vectors):
    root = tmp_path_factory.mktemp("aae")
    fill(root, vectors)
    entries = [f"{i:08} 03 n 01 {word} 0 000 | the film {word}" for i, word in enumerate(WORDS)]
    for part in ("noun", "verb", "adj", "adv"):  # WordNet
        (root / f"data.{part}").write_text("\n".join(entries))
    return root


def reproduce(folder, vectors, out, **more):
    train = [folder / "books.txt", folder / "reviews.txt"]
    arguments = {"size": TINY, **QUICK, **more}
    return aae.reproduce(folder / "data", vectors, train, [folder / "valid.txt"], out=out, **arguments)


@pytest.fixture(scope="module")
def done(folder, vectors, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "aae"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("WNSEARCHDIR", str(folder))
        return reproduce(folder, vectors, out), out


def test_every_row_is_trained_and_evaluated(done):
    report, out = done
    assert {result["row"] for result in report.results if "missing" not in result} == set(DEFAULT)
    for result in report.results:
        if "missing" in result:
            assert result["row"] in SAVED
            assert result["missing"] == "no encoder was given"
            continue
        assert set(result["scores"]) == {
            *("CR accuracy", "TREC accuracy", "STSBenchmark pearson", "STSBenchmark spearman"),
            *(["mean attention"] if result["row"] in aae._ATTENDING else []),
        }
        cr = result["scores"]["CR accuracy"]
        assert cr["low"] <= cr["value"] <= cr["high"]
        if result["row"] in TRAINED:
            assert result["steps"] == 4
            assert result["sentences"] == 32 or result["row"] in aae._ORDERED
            assert result["config"]["max_steps"] == 4
            assert result["dev"]["loss"] > 0
            assert 0 <= result["dev"]["accuracy"] <= 1
            name = f"{slug(result['row'])}-0"
            assert len(History.from_csv(out / "logs" / f"{name}.csv").steps) == 4
            assert se.load(out / "encoders" / f"{name}.sentencode").dim == result["dim"]
    rows = {result["row"]: result for result in report.results}
    assert rows["mean AAE"]["dim"] == rows["max RAE"]["dim"] == rows["LSTM SDAE"]["dim"] == 8
    assert rows["mean-max AAE"]["dim"] == rows["untrained mean-max AAE"]["dim"] == 16
    assert (rows["combine-CNN"]["dim"], rows["combine-CNN"]["steps"]) == (18, 8)
    assert (rows["CNN-LSTM AE"]["dim"], rows["mean and max of words"]["dim"]) == (9, 12)
    assert rows["word2vec"]["dim"] == rows["SIF"]["dim"] == 6
    assert not list((out / "encoders").glob("combine-cnn*"))  # those of its two parts
    assert not list((out / "work").glob("*"))
    assert not any("curve" in result for result in report.results)


def test_rows_that_must_be_named_are_shown_afterwards(folder, vectors, tmp_path):
    encoder = folder / "infersent.sentencode"
    se.Average(vectors).save(encoder)
    saved = {"infersent": encoder, "infersent_sst": encoder}
    options = {"rows": [*ASKED, *SAVED], "tables": ["1", "2"], **saved}
    report = reproduce(folder, vectors, tmp_path / "out", **options)
    steps = {result["row"]: result.get("steps") for result in report.results}
    assert steps == {**dict.fromkeys(ASKED, 4), "combine-skip": 8, **dict.fromkeys(SAVED)}
    dims = {result["row"]: result["dim"] for result in report.results}
    assert {dims[row] for row in ASKED if "skip" in row} == {8}
    rates = [report.of(row)[0]["config"]["learning_rate"] for row in ("FastSent", "uni-skip")]
    assert rates == [5 * 0.01, 0.01]
    markdown = report.markdown()
    for row in (*ASKED, "BiLSTM-Max (on SNLI)", "BiLSTM-Max (on SST)"):
        assert f"| {row}, paper |" in markdown
    again = reproduce(folder, vectors, tmp_path / "out", tables=["1"], resume=True, **saved)
    assert {result["row"] for result in again.results} > {*ASKED, "average of words", "mean-max AAE"}
    with pytest.raises(ValueError, match="infersent"):
        reproduce(folder, vectors, tmp_path / "out", resume=True, **{**options, "infersent": None})


@pytest.mark.parametrize("preset", ["paper", "reference"])
def test_every_row_can_be_trained_with_both_presets(preset):
    networks = {"preset": preset, **aae.FAMILY.options, "device": "cpu"}
    bench.checked_networks([row for row in aae.ROWS.values() if row.kind or row.joined], networks, 6)


def test_minutes_are_shared_by_trainings():
    rows = {
        name: aae.ROWS[name] for name in ("hierarchical-CNN", "composite-CNN", "combine-CNN", "combine-skip")
    }
    rows |= {"uni-skip": aae.ROWS["uni-skip"], "SIF": aae.ROWS["SIF"]}

    def count(rows):
        return bench.Bench(None, {}, TINY, None, None, rows=rows)._trainings()

    assert count(rows) == 2  # those of combine-CNN are other rows; others are only computed if they are named
    del rows["composite-CNN"]
    assert count(rows) == 2
    rows["combine-skip"] = replace(rows["combine-skip"], asked=False)
    assert count(rows) == 4


def test_attention_to_the_mean(done):
    report, out = done
    (result,) = report.of("mean-max AAE")
    encoder = se.load(out / "encoders" / "mean-max-aae-0.sentencode")
    words, weights = encoder.attention("the king rode to the town")
    percents = [pytest.approx(100 * weights[:, i, 0].mean(), abs=0.06) for i in range(len(words))]
    assert result["attention"][0] == [list(pair) for pair in zip(words, percents, strict=True)]
    (finding,) = (one for one in report.findings if one.get("unit") == "percent above half")
    share = result["scores"]["mean attention"]
    assert share["low"] < share["value"] < share["high"]
    assert finding["value"] == share["value"] - 50
    assert "### Figure 2: attention to the mean, sentence 1" in report.markdown()
    assert (out / "fig2.png").exists() or importlib.util.find_spec("matplotlib") is None


def test_share_of_the_mean_is_that_over_sentences():
    class Encoder:
        def attention(self, sentence):
            if sentence == "?":
                raise ValueError("no word is read")
            weights = np.full((2, 2, 2), 0.4 if sentence == "low" else 0.8)
            return [sentence, "</s>"], weights

    share = attention_results(Encoder(), ["low", "?", "high", "high"], {})["mean attention"]
    margin = 1.96 * np.std([40, 80, 80]) / 3**0.5
    assert share["value"] == pytest.approx(200 / 3, abs=1e-3)
    assert share["high"] - share["value"] == pytest.approx(margin, abs=1e-2)
    assert attention_results(Encoder(), ["?"], {}) == {}


@contextmanager
def interrupted(monkeypatch, event, step, row):
    """Ctrl-C in the training of a row, at an event after a step."""

    def on_event(self, trainer, report):
        getattr(super(Log, self), event)(trainer, report)
        if report.step == step and row in self.path.name:
            raise KeyboardInterrupt

    Log = type("Log", (bench.CsvLog,), {event: on_event})
    with monkeypatch.context() as patch:
        patch.setattr(bench, "CsvLog", Log)
        with pytest.raises(KeyboardInterrupt):
            yield


def test_scores_against_sentences_seen(folder, vectors, tmp_path, monkeypatch):
    columns = ("STSBenchmark pearson", "STS14 pearson")  # of which one has files
    family = replace(
        aae.FAMILY, curve=("STSBenchmark",), tables={**aae.FAMILY.tables, "curve": Curves(columns)}
    )
    monkeypatch.setattr(aae, "FAMILY", family)
    options = {"rows": ["max-aae", "combine-skip", "average-of-words"], "curves": True}

    with interrupted(monkeypatch, "on_validation", 2, "max-aae"):
        reproduce(folder, vectors, tmp_path / "out", **options)
    report = reproduce(folder, vectors, tmp_path / "out", resume=True, **options)
    rows = {result["row"]: result for result in report.results}
    assert [row for row in rows if "curve" in rows[row]] == ["max AAE"]  # not of several networks
    plain = reproduce(folder, vectors, tmp_path / "plain", rows=["max-aae"])
    (same,), row = plain.of("max AAE"), rows["max AAE"]
    assert row["scores"] == same["scores"]  # the training is the same
    curve = row["curve"]
    assert [seen for seen, _ in curve] == [0, 8, 16, 24, 32]
    steps, losses, _ = zip(*row["validations"], strict=True)
    best = steps[losses.index(min(losses))]
    final = row["scores"]["STSBenchmark pearson"]["value"]
    assert curve[best][1]["STSBenchmark pearson"] == pytest.approx(final, abs=1e-4)
    assert len({scores["STSBenchmark pearson"] for _, scores in curve}) > 1
    if importlib.util.find_spec("matplotlib") is not None:
        assert "sentences seen" in (tmp_path / "out" / "curve.svg").read_text()
        assert not (tmp_path / "plain" / "curve.svg").exists()


def test_parameters_are_counted(done):
    report, out = done
    counts = report.of("mean-max AAE")[0]["parameters"]
    network = se.load(out / "encoders" / "mean-max-aae-0.sentencode").network
    words = len(WORDS) + 2
    assert counts["with_softmax"] - counts["without_softmax"] == 8 * words + words
    assert counts["with_softmax"] == sum(p.numel() for p in network.parameters() if p.requires_grad)
    assert report.of("untrained mean-max AAE")[0]["parameters"] == counts


def test_a_row_without_its_dictionary_is_left_out(folder, vectors, tmp_path, monkeypatch):
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path / "none"))
    (result,) = reproduce(folder, vectors, tmp_path / "out", rows=["dictrep"]).results
    assert "WordNet is not installed: apt install wordnet-base" in result["missing"]


def test_controls(done, vectors):
    report, _ = done
    tokens = ["The", "film", "was", "unknown"]
    mean = np.mean([vectors[word] for word in ("the", "film", "was")], axis=0)
    most = np.max([vectors[word] for word in ("the", "film", "was")], axis=0)
    rows = MeanMaxOfWords(vectors).encode([tokens, ["unknown"]])
    np.testing.assert_allclose(rows[0], np.concatenate([mean, most]), rtol=1e-6)
    assert not rows[1].any()
    trained, untrained = (report.scores(name) for name in ("mean-max AAE", "untrained mean-max AAE"))
    assert trained != untrained


def test_a_projection_keeps_lengths_and_cosines_on_average(vectors):
    texts = [["the", "film"], ["great", "a", "was"], ["unknown"]]
    rows, wide = MeanMaxOfWords(vectors).encode(texts), Projection(vectors, 20_000)
    np.testing.assert_allclose(wide.encode(texts) @ wide.encode(texts).T, rows @ rows.T, atol=0.3)
    assert Projection(vectors, 5).encode(texts).shape == (3, 5)
    assert Projection(vectors, 5).fingerprint() != wide.fingerprint()


def test_word2vec_is_trained_on_the_sentences(folder, vectors):
    control = AverageOfWord2vec(vectors)
    control.fit((folder / "books.txt").read_text().split("\n"), show_progress_bar=False)
    rows = control.encode([["the", "film"], ["unknown"]])
    words = control.average.vectors
    np.testing.assert_allclose(rows[0], (words["the"] + words["film"]) / 2, rtol=1e-5)
    assert not rows[1].any()


def test_widths_are_compared(done):
    report, out = done
    rows = {result["row"]: result for result in report.results}
    for width in (512, 1024, 2048, 4096):
        for name in ("untrained mean-max AAE", "projected mean and max of words"):
            assert rows[f"{name}, {width:,} dimensions"]["dim"] == width
    _, _, table = report.markdown().partition("### Width of the embedding")
    header, _, *lines = table.strip().splitlines()
    assert header == "| encoder | dimensions | mean of CR TREC |"
    cells = dict(line.strip("| ").split(" | ", 1) for line in lines[: lines.index("")])
    assert len(cells) == 8 + sum(aae.ROWS[name].trained for name in DEFAULT) + 2
    scores = report.scores("mean-max AAE")
    mean = (scores["CR accuracy"] + scores["TREC accuracy"]) / 2
    assert cells["mean-max AAE, ours"].startswith(f"16 | {mean:.1f} ± ")
    assert "| untrained mean-max AAE, 512 dimensions" not in report.markdown().partition("### Width")[0]
    if importlib.util.find_spec("matplotlib") is not None:
        assert "4,096" in (out / "widths.svg").read_text()


def test_tables_show_our_rows_among_the_published(done):
    report, out = done
    text = report.text()
    markdown = (out / "tables.md").read_text()
    assert markdown == report.markdown()
    assert text.isascii()
    for row in TRAINED:
        assert f"\n{row}, paper" in text
        assert f"\n{row}, ours" in text
    printed = {figure.system: figure for figure in published("000", "3") if figure.task == "CR"}
    line = next(line for line in markdown.splitlines() if line.startswith("| mean-max AAE, paper | 78.7"))
    assert f"{printed['mean-max AAE'].printed} ‡" in line.split(" | ")  # marked: another protocol
    ours = report.scores("mean-max AAE")
    line = next(line for line in markdown.splitlines() if line.startswith("| mean-max AAE, ours | -"))
    cells = [cell.strip(" *") for cell in line.strip("| \n").split("|")]  # bold: among the best
    assert cells[2].startswith(f"{ours['CR accuracy']:.1f} ± ")
    assert cells[6].startswith(f"{ours['TREC accuracy']:.1f} ± ")
    assert cells[-1].startswith(f"{ours['STSBenchmark pearson']:.3f} ± ")
    for minutes in ("50.4", "25.4", "25.9", "3.3"):
        assert re.search(rf"paper( +-)+ +{minutes} ", text)
    assert "skip-thoughts" in text


def test_figures_of_another_protocol_are_marked():
    values = {"CR accuracy": 77, "TREC accuracy": 80, "STSBenchmark pearson": 0.5, "STS14 pearson": 0.4}
    scores = {column: {"value": value} for column, value in values.items()}
    result = {"row": "mean-max AAE", "seed": 0, "scores": scores, "dim": 8}
    report = aae.FAMILY.report([result], {"tasks": ["CR", "TREC"], "protocol": "optimum"}, ("1", "2"))
    text, markdown = report.text(), report.markdown()
    assert text.isascii()
    assert markdown.count("‡ Published under another protocol") == 1
    assert text.count("* Published under another protocol") == 1
    tables = [line.strip("| ").split(" | ") for line in markdown.splitlines() if line.startswith("|")]
    (heading, averages) = (line for line in tables if line[0] == "encoder")
    assert heading[-4:] == ["SICK-R, learnt", "STS14 r, cosine", "STS14 rho, cosine", "STSB, learnt"]
    row_line, average_line = (line for line in tables if line[0] == "mean-max AAE, paper")
    for column, cell in zip(heading[1:], row_line[1:], strict=True):
        assert cell.endswith(" ‡") == (cell != "-" and not column.startswith("STS14")), column
    printed = ("84.7", "85.6", "86.0", "86.0", "85.0", "85.9", "86.8", "83.4")
    assert average_line[1:] == [f"{value} ‡" for value in printed]
    assert len(averages) == len(average_line)
    ours = next(line for line in tables if line[0] == "mean-max AAE, ours")
    assert not any("‡" in cell for cell in ours)


def test_averages_with_a_task_missing_name_their_tasks(done):
    report, _ = done
    _, _, rest = report.text().partition("Table 2")
    table, _, _ = rest.partition("Table 3")
    header, *lines = table.splitlines()[1:]
    assert header.endswith("macro of CR TREC  micro of CR TREC")
    ours = report.scores("max AAE")
    macro = (ours["CR accuracy"] + ours["TREC accuracy"]) / 2
    micro = (3775 * ours["CR accuracy"] + 500 * ours["TREC accuracy"]) / 4275
    (line,) = (line for line in lines if line.startswith("max AAE, ours"))
    assert line.split()[-8:] == [*["-"] * 6, f"{macro:.1f}", f"{micro:.1f}"]
    (line,) = (line for line in lines if line.startswith("mean-max AAE, paper"))  # over the same tasks
    marked = ["84.7", "85.6", "86.0", "86.0", "85.0", "85.9", "86.8", "83.4"]
    assert line.split()[3:] == [part for value in marked for part in (value, "*")]
    assert "Table 2: the averages over the evaluated tasks are ours" in report.text()


def test_a_stopped_row_is_resumed(folder, vectors, tmp_path, done, monkeypatch):
    first, first_out = done
    rows = ["mean-max-aae", "max-rae"]

    with interrupted(monkeypatch, "on_step", 3, "rae"):
        reproduce(folder, vectors, tmp_path / "out", rows=rows)
    assert [path.name for path in (tmp_path / "out" / "rows").iterdir()] == ["mean-max-aae-0.json"]
    with pytest.raises(FileExistsError, match="resume"):
        reproduce(folder, vectors, tmp_path / "out", rows=rows)
    with pytest.raises(ValueError, match="other settings: preset was 'paper' and is 'reference'"):
        reproduce(folder, vectors, tmp_path / "out", rows=rows, preset="reference", resume=True)
    again = reproduce(folder, vectors, tmp_path / "out", rows=rows, resume=True)
    assert [step.step for step in History.from_csv(tmp_path / "out/logs/max-rae-0.csv").steps] == [1, 2, 3, 4]
    for row in ("mean-max AAE", "max RAE"):
        resumed, expected = again.of(row)[0], first.of(row)[0]
        assert {k: resumed[k] for k in ("scores", "dev", "sentences")} == {
            k: expected[k] for k in ("scores", "dev", "sentences")
        }
    states = [
        se.load(out / "encoders/max-rae-0.sentencode").network.state_dict()
        for out in (first_out, tmp_path / "out")
    ]
    assert all(bool((states[0][name] == states[1][name]).all()) for name in states[0])


def test_the_command_names_the_default_minutes():
    assert f"{aae.SIZES['cpu'].minutes}" == Aae.END
    assert f"`--minutes` ({Aae.END})" in (Path(__file__).parents[3] / "docs/cli.md").read_text()


def test_minutes_make_steps_of_a_measured_time(folder, vectors, tmp_path, monkeypatch):
    out = tmp_path / "out"
    seen = {}
    fit = se.MeanMaxAAE.fit

    def watched(self, *args, **more):
        seen[self.max_steps] = more.get("checkpoints")
        if more.get("checkpoints"):  # the training: the plan is there
            seen["plan"] = json.loads((out / "work/mean-aae-0/plan.json").read_text())
        return fit(self, *args, **more)

    monkeypatch.setattr(se.MeanMaxAAE, "fit", watched)
    size = replace(TINY, steps=None, minutes=None)
    report = reproduce(folder, vectors, out, rows=["mean-aae"], minutes=len(TRAINED) * 0.3 / 60, size=size)
    plan = seen["plan"]
    assert seen[3] is None  # the probe
    assert plan["steps"] == max(10, int(0.3 / plan["seconds_a_step"]))
    assert report.of("mean AAE")[0]["steps"] == plan["steps"]


def rows_of(report):
    return {result["row"]: result["scores"] for result in report.results}


def test_the_preset_reference_normalises_as_the_public_code(folder, vectors, tmp_path, monkeypatch):
    options = {"rows": ["mean-max-aae", "mean-max-rae", "untrained-mean-max-aae"], "preset": "reference"}
    halves = reproduce(folder, vectors, tmp_path / "halves", **options)
    plain = reproduce(folder, vectors, tmp_path / "plain", normalize="none", **options)
    assert halves.settings["normalize"] == "halves"
    assert "normalize" not in plain.settings
    assert halves.settings == {**plain.settings, "normalize": "halves"}
    note = "Evaluated with normalize='halves': mean-max AAE, untrained mean-max AAE."
    assert note in halves.text()
    assert "normalize" not in plain.text()
    assert rows_of(halves)["mean-max RAE"] == rows_of(plain)["mean-max RAE"]  # there is no public code of it
    for row in ("mean-max AAE", "untrained mean-max AAE"):
        assert rows_of(halves)[row] != rows_of(plain)[row]
    # A resumed run keeps its setting.
    monkeypatch.setattr(bench.Bench, "result", lambda *_: pytest.fail("computed again"))
    again = reproduce(folder, vectors, tmp_path / "plain", resume=True, **options)
    assert again.text() == plain.text()
    with pytest.raises(ValueError, match="other settings: normalize was None and is 'halves'"):
        reproduce(folder, vectors, tmp_path / "plain", resume=True, normalize="halves", **options)
    with pytest.raises(ValueError, match="normalize must be one of none, halves, got 'whole'"):
        reproduce(folder, vectors, tmp_path / "more", normalize="whole", **options)


def test_rows_are_evaluated_with_normalised_halves(done, vectors):
    _, out = done
    encoder = se.load(out / "encoders" / "mean-max-aae-0.sentencode")
    shared = SimpleNamespace(normalize="halves", labels=lambda row: None)
    normalized = bench.Bench._evaluated(shared, encoder, aae.ROWS["mean-max AAE"])
    sentences = [["the", "film", "was", "great"], ["awful"]]
    np.testing.assert_array_equal(normalized.encode(sentences), encoder.encode(sentences, normalize="halves"))
    halves = normalized.encode(sentences).reshape(2, 2, 8)
    np.testing.assert_allclose(np.linalg.norm(halves, axis=-1), 1, rtol=1e-5)
    assert normalized.fingerprint() != encoder.fingerprint()


def test_a_family_option_that_is_not_there(folder, vectors, tmp_path):
    with pytest.raises(TypeError, match="aae has no option unit_word"):
        reproduce(folder, vectors, tmp_path / "out", unit_word=True)


def test_several_seeds(folder, vectors, tmp_path):
    report = reproduce(
        folder, vectors, tmp_path / "out", rows=["lstm-sdae", "average-of-words"], seeds=[1, 5], tables=["3"]
    )
    assert [(r["row"], r["seed"]) for r in report.results] == [
        *(("average of words", 1), ("LSTM SDAE", 1), ("LSTM SDAE", 5))
    ]
    text = report.text()
    assert "LSTM SDAE, ours (2 seeds)" in text
    assert "Table 1" not in text
    values = [r["scores"]["CR accuracy"]["value"] for r in report.of("LSTM SDAE")]
    assert report.scores("LSTM SDAE")["CR accuracy"] == pytest.approx(np.mean(values))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rows": ["median-aae"]}, "no row is named 'median-aae'; there are mean-aae"),
        ({"tables": ["4"]}, "no table is named '4'; there are 1, 2, 3, widths, findings, fig2, cost, curve"),
        ({"size": "huge"}, "size must be one of cpu, paper, got 'huge'"),
        ({"seeds": []}, "seeds must be different numbers, at least one"),
        ({"seeds": [1, 1]}, "seeds must be different numbers"),
        ({"minutes": 1, "steps": 1}, "give minutes or steps, not both"),
        ({"minutes": 0}, "minutes"),
        ({"resamples": 0}, "resamples must be at least 1, got 0"),
        ({"preset": "papper"}, r"preset must be one of \['paper', 'reference', 'small'\], got 'papper'"),
        ({"device": "tpu9"}, "device='tpu9' cannot be used"),
        ({"protocol": "optimal"}, "optimal"),
    ],
)
def test_wrong_arguments_are_reported_before_any_work(arguments, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        aae.reproduce("nowhere", "nowhere", ["a"], ["b"], out=tmp_path / "out", **arguments)
    assert not (tmp_path / "out").exists()


def test_missing_files(folder, vectors, tmp_path):
    with pytest.raises(FileNotFoundError, match="no-such-file"):
        aae.reproduce(folder / "data", vectors, ["no-such-file"], ["b"], out=tmp_path / "out")
    with pytest.raises(FileNotFoundError, match="there are no files of a task"):
        aae.reproduce(tmp_path, vectors, [folder / "books.txt"], [folder / "valid.txt"], out=tmp_path / "out")


def test_command(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(aae.SIZES, "cpu", TINY)
    command = ["reproduce", "aae", "--data", folder / "data", "--vectors", folder / "vectors.sentencode"]
    command += ["--train", folder / "books.txt", folder / "reviews.txt", "--valid", folder / "valid.txt"]
    command += ["--rows", "mean-max-aae", "average-of-words", "--steps", "2", "--device", "cpu"]
    command = [*map(str, command), "--set", "folds=2", "--resamples", "20", "--partial", "--quiet"]
    assert main(command) == 0
    shown = capsys.readouterr()
    assert "Table 1" in shown.out
    assert "mean-max AAE, ours" in shown.out
    assert "results in aae-results: " in shown.out
    assert shown.err == ""
    result = json.loads((tmp_path / "aae-results/rows/mean-max-aae-0.json").read_text())
    assert result["steps"] == 2
    assert main(command) == 1
    assert "aae-results holds results: resume to keep them" in capsys.readouterr().err
    monkeypatch.setattr(bench.Bench, "result", lambda *_: pytest.fail("computed again"))
    assert main([*command, "--resume"]) == 0
