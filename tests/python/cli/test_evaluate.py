"""`sentencode evaluate`: one encoder and several, resumed, and refused."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import sentencode as se
from sentencode.cli import main
from sentencode.evaluation import Report

GOOD, BAD = ["fine", "great", "nice"], ["awful", "poor", "bad"]


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(7, 5))
    rows[:3, 0] += 3
    return se.WordVectors.from_array([*GOOD, *BAD, "film"], rows, [9, 8, 7, 6, 5, 4, 3])


@pytest.fixture
def folder(tmp_path, vectors, monkeypatch):
    rng = np.random.default_rng(2)
    reviews = tmp_path / "data" / "downstream" / "CR"
    reviews.mkdir(parents=True)
    for name, words in (("pos", GOOD), ("neg", BAD)):
        lines = [" ".join(rng.choice([*words, "film"], size=3)) for _ in range(30)]
        (reviews / f"custrev.{name}").write_text("\n".join(lines) + "\n")
    sts = tmp_path / "data" / "downstream" / "STS" / "STSBenchmark"
    sts.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        lines = []
        for i in range(20):
            a, b = rng.choice([*GOOD, *BAD], size=(2, 2))
            lines.append(f"news\tx\t2014\t{i}\t{5 * np.mean(a == b):.1f}\t{' '.join(a)}\t{' '.join(b)}")
        (sts / f"sts-{split}.csv").write_text("\n".join(lines) + "\n")
    se.Average(vectors).save(tmp_path / "average.sentencode")
    se.SIF(vectors, components=1).fit([*GOOD, *BAD]).save(tmp_path / "sif.sentencode")
    before = se.cache_dir()
    se.set_cache_dir(tmp_path / "cache")
    yield tmp_path
    se.set_cache_dir(before)


def arguments(folder, *more, encoders=("average",), partial=True):
    argv = [part for name in encoders for part in ("--encoder", str(folder / f"{name}.sentencode"))]
    small = ["--set", "folds=3", "--resamples", "50", *(["--partial"] if partial else [])]
    return ["evaluate", *argv, "--data", str(folder / "data"), *small, "--quiet", *map(str, more)]


def test_one_encoder(folder, capsys):
    out = folder / "report.json"
    assert main(arguments(folder, "--tasks", "CR", "STSBenchmark", "--out", out)) == 0
    shown = capsys.readouterr()
    report = Report.load(out)
    assert report.encoder == "average"
    assert report["CR"]["acc"] > 75
    assert report.facts["protocol"] == "optimum, folds=3"
    assert shown.err == ""
    lines = [line.split() for line in shown.out.splitlines()]
    assert ["CR", "acc", f"{report['CR']['acc']:.2f}"] in [line[:3] for line in lines]
    learnt = f"{100 * report['STSBenchmark']['pearson']:.2f}"
    assert ["STSBenchmark,", "learnt", "pearson", learnt] in [line[:4] for line in lines]
    assert ["STSBenchmark,", "learnt", "spearman"] in [line[:3] for line in lines]
    assert f"written: {out}" in shown.out


def test_several_encoders_and_all_tasks(folder, capsys, fails):
    page = folder / "report.html"
    names = ["--name", "mean <of> all", "--name", "SIF"]
    argv = arguments(folder, "--html", page, "--out", folder / "r.json", *names, encoders=("average", "sif"))
    assert main(argv) == 0
    shown = capsys.readouterr().out
    assert (folder / "r-mean-of-all.json").exists()
    assert Report.load(folder / "r-SIF.json").encoder == "SIF"
    assert "MR (files are missing" in shown
    text = page.read_text(encoding="utf-8")
    assert "mean &lt;of&gt; all" in text
    fails(argv, "report.html: exists already; --overwrite replaces it")


def test_names_of_folders_may_have_dots(folder, capsys):
    models = [folder / name for name in ("m-1.5", "m-1.6")]
    for model in models:
        se.load(folder / "average.sentencode").export(model)
    argv = arguments(folder, "--tasks", "CR", "--out", folder / "r.json", encoders=())
    assert main([*argv, *(part for model in models for part in ("--encoder", str(model)))]) == 0
    assert [Report.load(folder / f"r-{model.name}.json").encoder for model in models] == ["m-1.5", "m-1.6"]


def test_results_of_mteb(folder, capsys):
    for split, n in (("train", 5749), ("dev", 1500), ("test", 1379)):  # the published sizes
        file = folder / "data" / "downstream" / "STS" / "STSBenchmark" / f"sts-{split}.csv"
        lines = file.read_text().splitlines()
        file.write_text("".join(f"{lines[i % 20]}\n" for i in range(n)))
    argv = ["--tasks", "STSBenchmarkCosine", "--mteb", folder / "mteb"]
    assert main(arguments(folder, *argv, encoders=("average", "sif"), partial=False)) == 0
    shown = capsys.readouterr()
    paths = sorted((folder / "mteb").glob("*/*/STSBenchmark.json"))
    assert [path.parts[-3] for path in paths] == ["sentencode__average", "sentencode__sif"]
    assert all(f"written: {path}" in shown.out for path in paths)
    read = Report.from_mteb(paths[0].parent)
    assert read.encoder == "sentencode/average"
    expected = se.evaluate(
        se.load(folder / "average.sentencode"), "STSBenchmarkCosine", folder / "data", resamples=50
    )
    figure = "test.spearman"
    assert read["STSBenchmarkCosine"].figure(figure) == pytest.approx(
        expected["STSBenchmarkCosine"].figure(figure)
    )


def test_examples_that_mteb_does_not_have(folder, fails):
    argv = arguments(folder, "--tasks", "STSBenchmarkCosine", "--mteb", folder / "mteb")
    fails(argv, "--mteb: no result is one of mteb's")
    assert not (folder / "mteb").exists()


def test_markdown(folder, capsys):
    assert main(arguments(folder, "--tasks", "CR", "--markdown")) == 0
    assert "| average | figure | value | 95 % interval |\n| --- |" in capsys.readouterr().out


def test_a_stopped_run_resumes(folder, fails):
    out = folder / "report.json"
    assert main(arguments(folder, "--tasks", "CR", "--out", out)) == 0
    saved = json.loads(out.read_text())
    saved["results"]["CR"]["figures"]["acc"] = 12.34  # existing results are not computed again
    out.write_text(json.dumps(saved))
    assert main(arguments(folder, "--tasks", "CR", "STSBenchmark", "--out", out)) == 0
    report = Report.load(out)
    assert report["CR"]["acc"] == 12.34
    assert "pearson" in report["STSBenchmark"]
    assert main(arguments(folder, "--tasks", "CR", "STSBenchmark", "--out", out)) == 0
    assert Report.load(out).facts == report.facts  # nothing was encoded, and the speed is still known
    assert report.facts["sentences_per_second"] > 0
    fails(
        arguments(folder, "--tasks", "CR", "--out", out, encoders=("sif",)),
        "is the report of another encoder or protocol",
    )
    assert main(arguments(folder, "--tasks", "CR", "--out", out, "--overwrite")) == 0
    assert Report.load(out)["CR"]["acc"] != 12.34


def test_speed_excludes_cached_embeddings(folder):
    out = folder / "report.json"
    for more, known in (([], True), (["--overwrite"], False), (["--overwrite", "--no-cache"], True)):
        assert main(arguments(folder, "--tasks", "CR", "--out", out, *more)) == 0
        assert ("sentences_per_second" in Report.load(out).facts) == known


@pytest.mark.parametrize(
    ("more", "status", "message"),
    [
        (["--tasks", "MX"], 1, "no task is named 'MX'"),
        (["--tasks", "all", "CR"], 2, "--tasks: all excludes other tasks"),
        (["--tasks", "CR,MR"], 2, "--tasks: put spaces between names, not commas, got 'CR,MR'"),
        (["--tasks", "CR", "--confidence", "2"], 1, "confidence must be less than 1, got 2.0"),
        (["--curve", "STS14"], 2, "--curve: STS14 has nothing to learn"),
        (["--curve", "MX"], 1, "no task is named 'MX'"),
        (["--mteb", "results", "--limit", "20", "--tasks", "STSBenchmark"], 2, "--mteb excludes --limit"),
        (["--tsv", "mine.tsv"], 2, "--tsv: expected KIND=FILE, KIND one of classification, pair_class"),
        (["--tsv", "similarity=nowhere.tsv"], 1, "nowhere.tsv"),
        (["--groups", "nowhere.tsv"], 1, "nowhere.tsv"),
        (["--tasks", "CR", "--set", "kfold=5"], 1, "SentEval's kfold is folds here"),
        (["--tasks", "MR"], 1, "rt-polarity"),
        (["--tasks", "CR", "--protocol", "quick"], 1, "no protocol is named 'quick'; there are optimum"),
        (["--tasks", "CR", "--set", "depth=3"], 1, "error: optimum has no option 'depth'"),
        (["--tasks", "CR", "--set", "folds=x"], 1, "error: folds must be a whole number, got 'x' (str)"),
        (["--tasks", "CR", "--set", "shared=7"], 1, "error: shared must be True or False, got 7 (int)"),
        (["--tasks", "CR", "--set", "depth"], 2, "--set: expected NAME=VALUE, got 'depth'"),
        (["--tasks", "CR", "--name", "a", "--name", "b"], 2, "--name: give one for each --encoder"),
        (["--tasks", "CR", "--rows", "r.npy"], 2, "--sentences: give the sentences of --rows"),
        (["--sentences", "s.txt"], 2, "got 1 for 0"),
        (
            ["--baseline", "best"],
            2,
            "--baseline: expected one of random, random-words, bow, majority, bm25, got",
        ),
        (["--tasks", "CR", "--rows", "r.npy", "--sentences", "s.txt"], 1, "r.npy"),
        (["--tasks", "CR", "--out", "nowhere/report.json"], 1, "there is no such folder"),
        (["--tasks", "CR", "--out", "x.json", "--html", "x.json"], 2, "--out and --html are the same file"),
        (
            ["--tasks", "CR", "--mteb", "m"],
            2,
            "--mteb requires one of these --tasks: STSBenchmark, SICKRelatedness, STSBenchmarkCosine, SICK",
        ),
    ],
)
def test_errors_are_one_line(folder, more, status, message, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(arguments(folder, *more)) == status
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_other_errors(folder, fails, vectors):
    fails(arguments(folder, "--tasks", "CR", partial=False), "CR")
    fails(arguments(folder, "--tasks", "CR", encoders=("nobody",)), "nobody.sentencode")
    fails(arguments(folder, encoders=("sif", "sif")), "2 encoders are called sif", status=2)
    out = folder / "sif.sentencode"
    fails(arguments(folder, "--out", out, encoders=("sif",)), "is an input", status=2)
    (folder / "empty").mkdir()
    argv = arguments(folder)
    argv[argv.index("--data") + 1] = str(folder / "empty")
    fails(argv, "none of the tasks has its files in")
    flat = se.WordVectors.from_array(["unheard"], np.ones((1, 3)), [1])
    se.Average(flat).save(folder / "flat.sentencode")
    fails(
        arguments(folder, "--tasks", "CR", encoders=("flat",)),
        "no task has a score: flat gave the same embedding",
    )


def test_embeddings_instead_of_an_encoder(folder, capsys, fails):
    average = se.load(folder / "average.sentencode")
    tasks = [se.evaluation.load_task(name, folder / "data", partial=True) for name in ("CR", "STSBenchmark")]
    sentences = se.evaluation.sentences_of(*tasks)
    np.save(folder / "rows.npy", average.encode([s.split() for s in sentences]))
    np.save(folder / "twice.npy", np.load(folder / "rows.npy") * 2)
    (folder / "sentences.txt").write_text("\n".join(sentences) + "\n")
    argv = [
        "--sentences",
        folder / "sentences.txt",
        "--tasks",
        "CR",
        "STSBenchmark",
        "--out",
        folder / "r.json",
    ]
    rows = ["--rows", folder / "rows.npy", "--rows", folder / "twice.npy"]
    assert main(arguments(folder, *rows, *argv)) == 0
    encoder_report, embeddings_report, second_report = (
        Report.load(folder / f"r-{name}.json") for name in ("average", "rows", "twice")
    )
    for task in ("CR", "STSBenchmark"):
        assert embeddings_report[task].to_dict()["figures"] == encoder_report[task].to_dict()["figures"]
    assert second_report["STSBenchmark"]["pearson"] != embeddings_report["STSBenchmark"]["pearson"]
    (folder / "sentences.txt").write_text("\n".join(reversed(sentences[1:])) + "\n.\n")
    capsys.readouterr()
    missing = arguments(folder, "--rows", folder / "rows.npy", *argv[:4], encoders=())
    fails(missing, "rows.npy: no task has a score: rows raised ValueError: 1 of")
    fails(arguments(folder, "--tasks", "CR", encoders=()), "nothing to evaluate: give --encoder", status=2)


def test_baselines_next_to_an_encoder(folder, capsys):
    names = [word for name in ("random", "random-words", "bow", "majority") for word in ("--baseline", name)]
    out = folder / "r.json"
    assert main(arguments(folder, *names, "--tasks", "CR", "STSBenchmark", "--out", out)) == 0
    reports = {name: Report.load(folder / f"r-{name}.json") for name in ("average", *names[1::2])}
    assert reports["majority"]["CR"]["acc"] == pytest.approx(50)
    assert "majority predicts only classes" in reports["majority"].results["STSBenchmark"].error
    assert reports["bow"]["CR"]["acc"] > 80 > reports["random"]["CR"]["acc"]
    assert reports["random-words"]["STSBenchmark"]["pearson"] > -1
    assert se.compare(reports["average"], reports["majority"]).of("CR")[0].difference > 20


def test_a_task_without_a_figure_does_not_stop_the_others(folder, capsys):
    page = folder / "report.html"
    argv = ["--tasks", "STSBenchmarkCosine", "--html", page, "--out", folder / "r.json"]
    assert main(arguments(folder, "--baseline", "majority", "--baseline", "random", *argv)) == 1
    shown = capsys.readouterr()
    assert "STSBenchmarkCosine: no figure, majority predicts only classes." in shown.out
    assert [line.split()[0] for line in shown.out.splitlines() if "test.pearson" in line] == [
        "STSBenchmarkCosine"
    ] * 2
    assert "--baseline majority: no task has a score: majority predicts only" in shown.err
    assert page.exists()
    assert Report.load(folder / "r-random.json")["STSBenchmarkCosine"].error is None


def test_a_failing_encoder_does_not_stop_the_others(folder, capsys):
    for file in (folder / "data" / "downstream").glob("**/*.*"):
        file.write_text(8 * file.read_text())
    (folder / "broken.sentencode").write_bytes(b"no encoder")
    (folder / "r-bow.json").write_text("no report")
    page, out = folder / "report.html", folder / "r.json"
    argv = ["--tasks", "CR", "STSBenchmark", "--html", page, "--out", out, "--curve", "STSBenchmark"]
    baselines = ["--baseline", "majority", "--baseline", "bow", "--baseline", "random"]
    assert main(arguments(folder, *baselines, *argv, encoders=("broken",))) == 1
    shown = capsys.readouterr()
    assert "broken.sentencode" in shown.err
    assert "--baseline majority: --curve STSBenchmark: majority predicts only classes" in shown.err
    assert "--baseline bow: " in shown.err
    assert "r-bow.json is not a report of Sentencode" in shown.err
    assert shown.err.count("\n") == 1
    assert f"written: {folder / 'r-random.json'}" in shown.out
    assert f"written: {folder / 'r-bow.json'}" not in shown.out
    report = Report.load(folder / "r-random.json")
    assert set(report) == {"CR", "STSBenchmarkCosine", "STSBenchmark"}
    assert set(report.curves) == {"STSBenchmark"}
    assert "majority" in page.read_text()


def test_user_tasks(folder, capsys, fails):
    rows = [f"{i % 5}\t{GOOD[i % len(GOOD)]}\t{BAD[i % len(BAD)]} {GOOD[i % 2]}" for i in range(12)]
    (folder / "mine.tsv").write_text("\n".join(rows) + "\n")
    groups = [f"g{i % 2}\t{word} film" for i, word in enumerate([*GOOD, *BAD])]
    (folder / "groups.tsv").write_text("\n".join(sorted(groups)) + "\n")
    similarity = ["--tsv", f"similarity={folder / 'mine.tsv'}", "--groups", folder / "groups.tsv"]
    out = folder / "r.json"
    argv = arguments(folder, *similarity, "--confidence", "0.5", "--out", out)
    at = argv.index("--data")
    assert main(argv[:at] + argv[at + 2 :]) == 0
    assert "50 % interval" in capsys.readouterr().out
    assert list(Report.load(out)) == ["mine", "groups"]
    assert main(arguments(folder, *similarity[:2], "--tasks", "CR", "--out", folder / "more.json")) == 0
    assert list(Report.load(folder / "more.json")) == ["CR", "mine"]
    moods = folder / "moods"
    moods.mkdir()
    fails(arguments(folder, "--tsv", f"classification={moods}", "--tasks", "CR"), "--tsv: ")
    for split in ("train", "test"):
        (moods / f"{split}.tsv").write_text("".join(f"{len(w) % 2}\t{w} film\n" for w in (*GOOD, *BAD)))
    classification = ["--tsv", f"classification={moods}", "--set", "folds=2", "--out", folder / "splits.json"]
    assert main(arguments(folder, *classification, "--tasks", "CR")) == 0
    assert list(Report.load(folder / "splits.json")) == ["CR", "moods"]
    fails(arguments(folder, *similarity, "--tasks", "all"), "--tasks: all excludes other tasks", status=2)
    argv = arguments(folder, "--tasks", "CR")
    at = argv.index("--data")
    fails(argv[:at] + argv[at + 2 :], "--data: the folder of SentEval's data is missing", status=2)


def test_learning_curves(folder, monkeypatch):
    reviews = folder / "data" / "downstream" / "CR"
    for file in reviews.iterdir():
        file.write_text(4 * file.read_text())
    out, html = folder / "report.json", folder / "report.html"
    assert main(arguments(folder, "--tasks", "CR", "--out", out)) == 0
    argv = arguments(folder, "--tasks", "STSBenchmark", "--curve", "CR", "--out", out)
    assert main([*argv, "--html", str(html)]) == 0
    report = Report.load(out)
    assert set(report.results) == {"CR", "STSBenchmarkCosine", "STSBenchmark"}
    assert report.curves["CR"].x == (10, 20, 40, 80, 160)  # of three folds, two to train on
    assert "training examples" in html.read_text()

    def fail(*args, **keywords):
        raise AssertionError("computed again")

    with monkeypatch.context() as patched:
        patched.setattr("sentencode.evaluation.learning_curve", fail)
        assert main(argv) == 0
    for file in reviews.iterdir():
        file.write_text(2 * file.read_text())
    assert main(argv) == 0
    assert Report.load(out).curves["CR"].x[-1] == 320  # of other examples: anew
    limited = [*argv, "--limit", "240", "--overwrite"]
    assert main(limited) == 0
    assert Report.load(out).curves["CR"].x[-1] == 160
    with monkeypatch.context() as patched:
        patched.setattr("sentencode.evaluation.learning_curve", fail)
        assert main(limited[:-1]) == 0


def test_reports_compared(folder, capsys, fails):
    out = folder / "r.json"
    assert main(arguments(folder, "--tasks", "CR", "--out", out, encoders=("average", "sif"))) == 0
    capsys.readouterr()
    files = [str(folder / f"r-{name}.json") for name in ("average", "sif")]
    assert main(["compare", *files, "--confidence", "0.9", "--resamples", "100"]) == 0
    settings = {"confidence": 0.9, "resamples": 100}
    expected = se.compare(*map(Report.load, files), **settings).to_markdown()
    ranking = se.rank(list(map(Report.load, files)), **settings).to_markdown()
    assert capsys.readouterr().out == f"{expected}\n{ranking}"
    assert "| 90 % interval |" in expected
    assert "all that are not significantly worse at 90 %" in ranking
    assert main(["compare", files[0], files[0], "--resamples", "100"]) == 0  # of one name: no ranking
    assert "not significantly worse" not in capsys.readouterr().out
    fails(["compare", files[0], str(folder / "average.sentencode")], "is not a report of Sentencode")
    reports = list(map(Report.load, files))
    third = dataclasses.replace(reports[0], encoder="third")
    third.to_json(folder / "r-third.json")
    assert main(["compare", *files, str(folder / "r-third.json"), "--resamples", "100"]) == 0
    assert capsys.readouterr().out == se.rank([*reports, third], resamples=100).to_markdown()


def test_overwriting_replaces_a_report_only_by_results(folder, fails):
    out = folder / "report.json"
    run = arguments(folder, "--tasks", "CR", "--out", out, "--overwrite")
    assert main(run) == 0
    before = out.read_bytes()
    fails([*run, "--set", "fold=3"], "fold", 1)
    fails([*run[:2], str(folder / "missing"), *run[3:]], "missing", 1)
    assert out.read_bytes() == before
    assert main(arguments(folder, "--tasks", "STSBenchmark", "--out", out, "--overwrite")) == 0
    assert "CR" not in Report.load(out)


@pytest.mark.parametrize("option", ["--out", "--html"])
def test_an_input_is_not_replaced(folder, fails, option):
    pairs = folder / "pairs.tsv"
    pairs.write_text("5\tfine\tgreat\n0\tfine\tbad\n3\tnice\tfilm\n")
    more = ["--tsv", f"similarity={pairs}", option, str(pairs), "--overwrite"]
    fails([*arguments(folder)[:3], "--quiet", *more], "is an input", 2)
    assert pairs.read_text().startswith("5\tfine")


def test_a_report_next_to_the_files_of_a_model(folder, vectors, fails):
    model = folder / "model"
    se.Average(vectors).export(model)
    run = ["evaluate", "--encoder", str(model), "--data", str(folder / "data"), "--partial", "--quiet"]
    run += ["--set", "folds=3", "--tasks", "CR", "--overwrite", "--out"]
    assert main([*run, str(model / "report.json")]) == 0
    fails([*run, str(model / "config.json")], "is in the folder", 2)
