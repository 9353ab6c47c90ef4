"""`compare`: tests of predictions, and refused reports."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from scipy import stats

sys.path.insert(0, str(Path(__file__).parent))
import reports as made

import sentencode as se
from sentencode.evaluation import (
    Kind,
    Report,
    Split,
    Task,
    TaskResult,
    mcnemar_test,
    paired_bootstrap,
    paired_bootstrap_correlation,
    paired_t_test,
    williams_test,
)
from sentencode.evaluation.data.task import Question
from sentencode.evaluation.metrics.results import SplitPredictions
from sentencode.evaluation.statistics.seeds import over_runs


@pytest.fixture(scope="module")
def two():
    return made.report("near", 0.1), made.report("far away", 1.5)


@pytest.fixture(scope="module")
def comparisons(two):
    return se.compare(*two, resamples=300)


def test_a_row_for_each_task_and_test(comparisons):
    rows = [(row.task, row.part, row.figure, row.test.partition(",")[0]) for row in comparisons]
    accuracies = [("kind", "test", "acc", test) for test in ("McNemar", "paired t-test", "paired bootstrap")]
    correlations = [
        ("similar", part, figure, test)
        for figure in ("pearson", "spearman")
        for part, tests in (
            ("one", ("Williams", "paired bootstrap")),
            ("two.three", ("Williams", "paired bootstrap")),
            ("pooled", ("Williams", "paired bootstrap")),
            ("weighted mean", ("paired bootstrap within subsets",)),
        )
        for test in tests
    ]
    assert rows == accuracies + correlations
    assert comparisons.of("kind") == comparisons[:3]


def test_accuracies_are_tested_example_by_example(two, comparisons):
    right = [
        report["kind"].predictions["test"].predicted == report["kind"].predictions["test"].gold
        for report in two
    ]
    for row, expected in zip(comparisons[:3], (mcnemar_test(*right), paired_t_test(*right)), strict=False):
        assert (row.a, row.b) == pytest.approx([report["kind"]["acc"] for report in two], abs=0.01)
        assert row.difference == pytest.approx(row.a - row.b)
        assert row.difference == pytest.approx(100 * expected.difference)
        assert row.interval == pytest.approx([100 * end for end in expected.interval])
        assert row[7:-1] == expected[:1] + expected[3:]
    assert comparisons[0].difference > 0
    assert comparisons[0].p_two_tailed < 0.05


def test_correlations_are_those_of_the_report(two, comparisons):
    for row in comparisons.of("similar"):
        names = {"pooled": "all.{}.pooled", "weighted mean": "all.{}.wmean"}
        key = names.get(row.part, row.part + ".{}").format(row.figure)
        for value, report in zip((row.a, row.b), two, strict=True):
            assert value == pytest.approx(100 * report["similar"].figure(key))
        assert row.difference == pytest.approx(row.a - row.b)
        assert row.interval.low <= row.difference <= row.interval.high
        assert row.n == (24 if row.part in ("one", "two.three") else 48)
    one = [report["similar"].predictions["one"] for report in two]
    expected = williams_test(one[0].predicted, one[1].predicted, one[0].gold)
    assert comparisons.of("similar")[0].p_one_tailed == expected.p_one_tailed


def task_asking(question):
    """A task about the words w0, w1, ..., which `Noisy` encodes."""
    if question == "classification":
        return made.classes("mine", f1=True)
    if question == "similarity":
        return made.scores("mine")
    parts = ("train", "dev", "test")
    pairs = {part: made.scores(subsets=(part,), seed=i)[part] for i, part in enumerate(parts)}
    if question == "relatedness":
        return Task("mine", pairs, Kind(question, "dev", pairs=True, features=("|u-v|", "u*v")))
    if question == "duplicates":
        close = (pairs["test"].labels > 3).astype(int)
        return Task("mine", {"all": Split(pairs["test"].sentences, close)}, Kind(question, pairs=True))
    if question == "retrieval":
        images = made.Noisy(0.0).encode(made.WORDS[::5])
        images[0] = images[1]  # a tie
        splits = {part: Split((made.WORDS,), np.repeat(np.arange(12), 5), images) for part in parts}
        return Task("mine", splits, Kind(question))
    words, labels = made.WORDS[:36], np.arange(36) // (6 if question == "groups" else 18)
    splits = {"all": Split((words,), labels)}
    if question == "search":
        splits = {"queries": Split((words[::2],), labels[::2]), "documents": Split((words,), labels)}
    return Task("mine", splits, Kind(question), tuple("abcdef"[: labels.max() + 1]))


@pytest.mark.parametrize("question", get_args(Question))
def test_what_is_compared_is_the_figure_of_the_report(question):
    task = task_asking(question)
    two = [
        se.evaluate(made.Noisy(noise), task, name=f"{noise}", protocol="fast", resamples=50)
        for noise in (0.3, 0.8)
    ]
    comparisons = se.compare(*two, resamples=200)
    if question == "clustering":
        assert "clusters of two encoders" in comparisons.notes["mine"]
        return
    names = {"pooled": "all.{}.pooled", "weighted mean": "all.{}.wmean"}
    for row in comparisons:
        correlation = row.figure in ("pearson", "spearman")
        key = names.get(row.part, row.part + ".{}") if question == "similarity" else "{}"
        figures = [report["mine"].figure(key.format(row.figure)) for report in two]
        scale, rounding = (100, 1e-9) if correlation else (1, 0.01)
        assert (row.a, row.b) == pytest.approx([scale * figure for figure in figures], abs=rounding)
        assert row.difference == pytest.approx(row.a - row.b)
    assert comparisons[0].a != comparisons[0].b


def test_a_perfect_encoder_has_no_wrong_few_shots():
    """Ten classifiers test two of a class's 18 examples each, so some are tested often, others never."""
    task = task_asking("few_shot")
    perfect = se.evaluate(lambda texts: [[int(t[1:]) < 18, 1] for t in texts], task, name="perfect")
    noisy = se.evaluate(made.Noisy(0.8), task, name="noisy")
    assert perfect["mine"]["few_shot"] == 100
    assert perfect["mine"].wrong() == []
    row = se.compare(perfect, noisy)[0]
    assert (row.a, row.b) == pytest.approx((100, noisy["mine"]["few_shot"]))
    tests = noisy["mine"].predictions["all"]
    assert tests.gold.sum() == 10 * 4  # all but 16 of each class
    assert tests.gold.min() > 0
    assert row.n == len(tests.gold) < 36
    random = np.random.default_rng(0).integers(0, row.n, (4000, row.n))
    lost = 100 * (tests.gold - tests.predicted)[random].sum(1) / tests.gold[random].sum(1)
    assert row.interval == pytest.approx(np.quantile(lost, (0.025, 0.975)), abs=3)
    assert [row.encoder for row in se.rank([noisy, perfect])["mine"]] == ["perfect", "noisy"]


def test_old_reports_of_few_shots():
    """Older versions wrote the fraction of right classifiers, and ones as gold."""
    task = task_asking("few_shot")
    new = se.evaluate(made.Noisy(0.8), task, name="new")
    old = result_of("old", {"few_shot": 50.0}, np.ones(36), np.linspace(0, 1, 36))
    row = se.compare(old, old)[0]
    assert (row.a, row.difference) == (50, 0)
    old.results["mine"] = old.results.pop("t")
    old["mine"].predictions["all"] = old["mine"].predictions.pop("test")
    with pytest.raises(ValueError, match="an older version wrote one of the reports"):
        se.compare(new, old)


def test_too_few_resamples_for_holms_correction(two):
    count = 9  # rows of the bootstrap
    assert "paired bootstrap" not in se.compare(*two, resamples=20 * count).notes
    comparisons = se.compare(*two, resamples=100)
    bootstrap = [row for row in comparisons if row.test.startswith("paired bootstrap")]
    assert len(bootstrap) == count
    note = "with 100 resamples, p, Holm, of 9 rows cannot be below 0.089; use resamples=180 or more"
    assert comparisons.notes["paired bootstrap"] == note
    assert min(row.p_holm for row in bootstrap) >= 0.089
    assert f"paired bootstrap: {note}." in comparisons.to_markdown()


def test_averages_of_tasks_without_common_examples():
    """Against a bootstrap with independent resamples of the tasks."""
    random = np.random.default_rng(8)
    right = random.random((2, 2, 400)) < [[[0.8], [0.7]], [[0.6], [0.65]]]  # [task, encoder, example]
    reports = []
    for encoder in range(2):
        results = {}
        for i, name in enumerate(("one", "two")):
            rows, keys = right[i, encoder].astype(int), 400 * i + np.arange(400)
            tests = SplitPredictions("test", np.arange(400), rows, np.ones(400, int), keys=keys)
            results[name] = TaskResult(name, {"acc": 100 * rows.mean()}, predictions={"test": tests})
        reports.append(Report("ab"[encoder], results))
    (row,) = (row for row in se.compare(*reports, resamples=5000) if row.part == "average")
    differences = 100 * (right[:, 0].astype(int) - right[:, 1])  # [task, example]
    assert row.difference == pytest.approx(differences.mean())
    samples = np.mean([random.choice(each, (5000, 400)).mean(1) for each in differences], axis=0)
    assert row.interval == pytest.approx(np.quantile(samples, (0.025, 0.975)), abs=0.25)


def test_the_bootstrap_of_correlations():
    rng = np.random.default_rng(0)
    gold = rng.normal(size=300)
    a, b = gold + 0.5 * rng.normal(size=300), gold + 0.9 * rng.normal(size=300)
    better = paired_bootstrap_correlation(a, b, gold)
    assert better.difference == pytest.approx(stats.pearsonr(a, gold)[0] - stats.pearsonr(b, gold)[0])
    assert 0 < better.interval.low < better.difference < better.interval.high
    assert better.p_one_tailed <= better.p_two_tailed < 0.01
    worse = paired_bootstrap_correlation(b, a, gold)
    assert worse.p_one_tailed > 0.99
    assert worse.p_two_tailed == better.p_two_tailed
    assert paired_bootstrap_correlation(a, 2 * a, gold)[1:] == (0, (0, 0), 0, 1, 1, 300)
    assert math.isnan(paired_bootstrap_correlation(a, np.ones(300), gold).difference)
    # Of systems that are equally good, p-values below 0.1 are a tenth.
    small = [
        paired_bootstrap_correlation(g + x, g + y, g, resamples=200, seed=i).p_two_tailed < 0.1
        for i, (g, x, y) in enumerate(rng.normal(size=(300, 3, 80)))
    ]
    assert 0.05 < np.mean(small) < 0.17


def test_the_weighted_mean_has_an_interval_in_the_report(two):
    result = two[0]["similar"]
    for figure in ("pearson", "spearman"):
        for kind in ("mean", "wmean", "pooled"):
            low, high = result.intervals[f"all.{figure}.{kind}"]
            assert low < result["all"][figure][kind] < high
    assert two[0].rows()[1][3] is not None


def test_examples_on_which_two_differ(two, comparisons):
    a, b = (report["kind"].predictions["test"] for report in two)
    differing = comparisons.differing("kind")
    assert (
        len(differing) == np.sum(a.predicted[np.argsort(a.indices)] != b.predicted[np.argsort(b.indices)]) > 0
    )
    for example in differing:
        (sentence,) = example.sentences
        assert example.gold == int(sentence[1:-2]) % 2
        assert example.a != example.b
    assert comparisons.differing("kind", limit=2) == differing[:2]
    scored = comparisons.differing("similar", 5)
    assert len(scored) == 5
    assert all(len(example.sentences) == 2 and example.a != example.b for example in scored)


def test_the_same_encoder_differs_nowhere(two):
    same = se.compare(two[0], two[0], resamples=50)
    assert same.differing("kind") == same.differing("similar") == []
    assert all(row.difference == 0 and row.p_two_tailed == 1 for row in same)
    assert "near (a) | near (b)" in same.to_markdown()


def test_other_folds_order_examples_otherwise(two):
    task = made.classes("nested")
    task = Task("nested", {"all": task["train"]}, Kind("classification", "nested", features=("u",)))
    a, b = (
        se.evaluate(made.Noisy(0.5), task, options={"folds": folds}, resamples=20, name=f"{folds}")
        for folds in (3, 5)
    )
    assert (a["nested"].predictions["all"].indices != b["nested"].predictions["all"].indices).any()
    right = [
        np.sort(one.indices[one.predicted == one.gold])
        for one in (a["nested"].predictions["all"], b["nested"].predictions["all"])
    ]
    only = [len(np.setdiff1d(*pair)) for pair in (right, right[::-1])]
    row = se.compare(a, b)[0]
    assert row.difference == pytest.approx(100 * (only[0] - only[1]) / 60)


def test_reports_from_files(two, comparisons, tmp_path):
    for name, report in zip("ab", two, strict=True):
        report.to_json(tmp_path / name)
    read = [Report.load(tmp_path / name) for name in "ab"]
    assert list(se.compare(*read, resamples=300)) == list(comparisons)
    with pytest.raises(ValueError, match="kind: the sentences are not part of a saved report"):
        se.compare(*read).differing("kind")
    assert se.compare(read[0], two[1]).differing("kind", 3) == comparisons.differing("kind", 3)


def test_markdown_and_json(comparisons):
    text = comparisons.to_markdown()
    assert text == comparisons._repr_markdown_()
    html = comparisons._repr_html_()
    assert (html.count("<tr>"), html.count("<th>")) == (1 + len(comparisons), 11)
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table) == 2 + len(comparisons)
    assert {line.count("|") for line in table} == {12}
    assert "p, Holm, is corrected for all rows of the same kind of test" in text
    values = json.loads(json.dumps(comparisons.to_dict(), allow_nan=False))
    assert values["rows"][0]["difference"] == comparisons[0].difference
    assert values["rows"][0]["interval"] == [*comparisons[0].interval]
    assert repr(comparisons) == "Comparisons('near', 'far away': 17 tests on kind, similar)"


def test_reports_that_cannot_be_compared(two):
    other = made.report("other", 0.1, [made.scores("similar", seed=3), made.classes("another")])
    with pytest.raises(
        ValueError,
        match="compare: similar, one: the reports are of different examples: the label of example 0",
    ):
        se.compare(two[0], other)
    short = made.report("short", 0.1, [made.scores(n=20)])
    with pytest.raises(ValueError, match="different examples: 24 in a, 20 in b"):
        se.compare(two[0], short)
    parts = made.report("parts", 0.1, [made.scores(subsets=("one", "two"))])
    with pytest.raises(ValueError, match=r"similar: a was evaluated on one, two.three, b on one, two"):
        se.compare(two[0], parts)
    with pytest.raises(ValueError, match="no task in common: a has kind, similar, b has another"):
        se.compare(two[0], made.report("x", 0.1, [made.classes("another")]))
    renamed = made.scores()
    split = renamed["one"]
    moved = {**renamed.splits, "one": Split((split.sentences[1], split.sentences[0]), split.labels)}
    swapped = made.report("swapped", 0.1, [Task("similar", moved, renamed.kind)])
    with pytest.raises(ValueError, match="their sentences are not the same"):
        se.compare(two[0], swapped)


def test_tasks_without_a_figure_are_dropped(two):
    def broken(sentences):
        return np.full((len(sentences), 2), np.nan)

    failed = se.evaluate(broken, [made.classes(), made.scores("mine")], name="broken")
    comparisons = se.compare(two[0], failed)
    assert len(comparisons) == 0
    assert comparisons.skipped.keys() == {"kind", "similar", "mine"}
    assert "NaN or infinity" in comparisons.skipped["kind"]
    assert "kind: not compared, b has no figure" in comparisons.to_markdown()
    with pytest.raises(KeyError, match="similar was not compared: only one report has it"):
        comparisons.differing("similar")


def test_names_and_the_level_in_markdown():
    a, b = made.report("a|b", 0.3), made.report("<i>", 1.0)
    lines = se.compare(a, b, confidence=0.5).to_markdown().splitlines()
    assert lines[0].startswith(r"| task | figure | a\|b | \<i> | difference | 50 % interval |")


def test_different_protocols_are_reported():
    a = made.report("good", 0.1, [made.classes()])
    b = se.evaluate(made.Noisy(0.5), made.classes(), options={"folds": 3}, resamples=50)
    assert "optimum, folds=3): the scores are not comparable" in se.compare(a, b).to_markdown()
    assert "protocols" not in se.compare(a, a).to_markdown()


def test_loaded_reports_of_other_sentences_are_refused(tmp_path):
    """Equal scores do not make equal examples."""
    reports = []
    for i in range(2):
        sides = [f"w{j} x" for j in range(6)], [f"w{j * j + i} y" for j in range(6)]
        task = Task("mine", {"test": Split(sides, np.arange(6.0))}, Kind("similarity", pairs=True))
        report = se.evaluate(made.Noisy(0.3), task, resamples=50, cache=False)
        report.to_json(tmp_path / f"{i}.json")
        reports.append(Report.load(tmp_path / f"{i}.json"))
    with pytest.raises(
        ValueError, match="mine, test: the reports are of different examples: their sentences"
    ):
        se.compare(*reports)
    assert len(se.compare(reports[0], reports[0])) == 4


def test_wrong_arguments():
    with pytest.raises(TypeError, match="b must be a Report, got dict"):
        se.compare(made.report("good", 0.1), {})


def result_of(name, figures, gold, *seeds):
    """A report of one task with these predictions."""
    runs = []
    for predicted in seeds:
        predictions = SplitPredictions("test", np.arange(len(gold)), np.asarray(predicted), gold)
        runs.append(TaskResult("t", figures, predictions={"test": predictions}))
    result = over_runs(runs, resamples=10) if len(runs) > 1 else runs[0]
    if len(runs) > 1:
        result.details["seeds"] = len(runs)
    return Report(name, {"t": result})


RECALLS = {"acc": [(1.0,) * 4] * 2, "i2t": {"r1": 1.0}, "t2i": {"r1": 1.0}}


@pytest.mark.parametrize("figures", [{"nn_cosine": 50.0}, RECALLS], ids=["groups", "retrieval"])
def test_dependent_examples_are_tested_as_groups(figures):
    """Two equally good encoders that predict whole groups right or wrong."""
    gold, small = np.repeat(np.arange(100), 5), []
    for seed in range(60):
        random = np.random.default_rng(seed)
        rights = np.repeat(random.random((2, 100)) < 0.5, 5, axis=1)
        a, b = (result_of("ab"[i], figures, gold, np.where(rights[i], gold, -1)) for i in range(2))
        comparisons = se.compare(a, b, resamples=200)
        small.append([row.p_two_tailed < 0.1 for row in comparisons])
    assert (np.mean(small, axis=0) < 0.21).all()  # they were 0.4 and more
    assert [row.test.partition(",")[0] for row in comparisons] == [
        "McNemar by groups",
        "paired t-test by groups",
        "paired bootstrap by groups",
    ]
    assert {row.n for row in comparisons} == {100}
    assert "are not independent, so that groups are tested" in comparisons.to_markdown()
    assert "are not independent" in comparisons.to_dict()["notes"]["t"]
    right = [report["t"].predictions["test"].predicted == gold for report in (a, b)]
    expected = paired_bootstrap(*right, groups=gold, resamples=200)
    assert comparisons[2].interval == pytest.approx([100 * end for end in expected.interval])


def test_all_seeds_are_compared(tmp_path):
    random = np.random.default_rng(0)
    gold = random.integers(0, 2, 300)
    accuracies = ((0.9, 0.6, 0.6), (0.7, 0.7))
    seeds = [[np.where(random.random(300) < share, gold, 1 - gold) for share in each] for each in accuracies]
    a, b = (result_of(name, {"acc": 1.0}, gold, *each) for name, each in zip("ab", seeds, strict=True))
    comparisons = se.compare(a, b, resamples=500)
    means = [np.mean([predicted == gold for predicted in each], axis=0) for each in seeds]
    for row in comparisons:
        assert (row.a, row.b) == pytest.approx([100 * mean.mean() for mean in means])
        assert row.difference == pytest.approx(row.a - row.b)
        assert row.n == 300
    expected = paired_t_test(*means)
    assert comparisons[1].p_two_tailed == pytest.approx(expected.p_two_tailed)
    assert comparisons[1].interval == pytest.approx([100 * end for end in expected.interval])
    assert comparisons[2].test == "paired bootstrap over seeds"
    width = np.ptp(comparisons[2].interval)
    assert width > 1.5 * np.ptp(comparisons[1].interval)  # which knows nothing of other seeds
    assert comparisons[2].interval.low < 0 < comparisons[2].interval.high
    assert "means of seeds, 3 of a and 2 of b: the bootstrap resamples seeds" in comparisons.to_markdown()
    for name, report in zip("ab", (a, b), strict=True):
        report.to_json(tmp_path / name)
    read = [Report.load(tmp_path / name) for name in "ab"]
    assert list(se.compare(*read, resamples=500)) == list(comparisons)
    one = result_of("one", {"acc": 1.0}, gold, seeds[1][0])
    assert se.compare(a, one, resamples=20)[0].b == pytest.approx(100 * np.mean(seeds[1][0] == gold))


def test_f1_is_compared_by_the_bootstrap():
    from sklearn.metrics import f1_score

    random = np.random.default_rng(2)
    gold = (random.random(400) < 0.7).astype(int)
    predicted = [np.where(random.random(400) < share, gold, 1 - gold) for share in (0.8, 0.7)]
    figures = {"acc": 1.0, "f1": 1.0}
    a, b = (result_of(name, figures, gold, one) for name, one in zip("ab", predicted, strict=True))
    comparisons = se.compare(a, b, resamples=4000)
    assert [row.figure for row in comparisons] == ["acc"] * 3 + ["f1"]
    row = comparisons[3]
    assert row.test == "paired bootstrap"
    assert (row.a, row.b) == pytest.approx([100 * f1_score(gold, one) for one in predicted])
    assert row.difference == row.statistic == pytest.approx(row.a - row.b)
    samples = random.integers(0, 400, (1500, 400))
    apart = [100 * np.subtract(*(f1_score(gold[i], one[i]) for one in predicted)) for i in samples]
    assert row.interval == pytest.approx(np.percentile(apart, [2.5, 97.5]), abs=0.5)
    assert row.p_one_tailed <= row.p_two_tailed < 0.05
    other = se.compare(b, a, resamples=4000)[3]
    assert other.p_one_tailed > 0.95
    assert other.difference == -row.difference

    seeds = result_of("seeds", figures, gold, *predicted)
    comparisons = se.compare(seeds, b, resamples=500)[3]
    assert comparisons.test == "paired bootstrap over seeds"
    assert comparisons.a == pytest.approx(np.mean([row.a, row.b]))


def test_seeds_that_agree_are_one():
    random = np.random.default_rng(1)
    gold = random.integers(0, 2, 200)
    predicted = [np.where(random.random(200) < share, gold, 1 - gold) for share in (0.8, 0.7)]
    a, b = (
        result_of(name, {"acc": 1.0}, gold, *[one] * 3) for name, one in zip("ab", predicted, strict=True)
    )
    alone = (result_of(name, {"acc": 1.0}, gold, one) for name, one in zip("ab", predicted, strict=True))
    comparisons, expected = se.compare(a, b), se.compare(*alone)
    for row, other in zip(comparisons, expected, strict=True):
        assert row[3:6] == pytest.approx(other[3:6])
        assert row.p_two_tailed == pytest.approx(other.p_two_tailed, abs=0.01)
        assert tuple(row.interval) == pytest.approx(tuple(other.interval), abs=1)
    assert comparisons[2].interval == pytest.approx(expected[2].interval)  # of the same draws


def test_seeds_of_correlations():
    random = np.random.default_rng(2)
    gold = random.normal(size=200)
    seeds = [[gold + noise * random.normal(size=200) for noise in each] for each in ((0.3, 0.9), (1, 1.1))]
    a, b = (result_of(name, {"pearson": 0.5}, gold, *each) for name, each in zip("ab", seeds, strict=True))
    comparisons = se.compare(a, b, resamples=300)
    assert [(row.figure, row.test) for row in comparisons] == [
        (figure, "paired bootstrap over seeds") for figure in ("pearson", "spearman")
    ]
    for row, of in zip(comparisons, (stats.pearsonr, stats.spearmanr), strict=True):
        expected = [100 * np.mean([of(predicted, gold)[0] for predicted in each]) for each in seeds]
        assert (row.a, row.b) == pytest.approx(expected)
        assert row.interval.low < row.difference < row.interval.high


def test_old_reports_of_several_seeds_compare_the_first():
    gold = np.arange(20) % 2
    old, new = (result_of(name, {"acc": 1.0}, gold, gold) for name in ("old", "new"))
    old["t"].details["seeds"] = 3
    text = se.compare(old, new, resamples=20).to_markdown()
    assert "t: the report has the predictions of the first of a's 3 seeds: they are compared." in text
    assert "seeds" not in se.compare(new, new, resamples=20).to_markdown()
