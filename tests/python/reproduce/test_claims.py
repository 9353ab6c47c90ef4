"""Claims that rows are equally good, or better."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sentencode.evaluation import Report, Split, Task, evaluate, task_kind
from sentencode.reproduce import claims
from sentencode.reproduce.claims import Claim, _between_seeds, _half_width
from sentencode.reproduce.report import Report as Reproduced
from sentencode.reproduce.rows import Row, untrained


@pytest.mark.parametrize(
    ("within", "interval", "verdict"),
    [
        (1.0, (-0.9, 0.9), "holds"),
        (1.0, (0.1, 0.9), "holds"),
        (1.0, (1.1, 2.0), "holds"),
        (1.0, (-1.1, 0.9), "undecided"),
        (1.0, (-3.0, -1.1), "differs"),
        (None, (0.1, 5.0), "holds"),
        (None, (-0.1, 5.0), "undecided"),
        (None, (-5.0, -0.1), "differs"),
    ],
)
def test_verdicts(within, interval, verdict):
    assert Claim("", "a", "b", ("MR",), within).verdict(*interval) == verdict


@pytest.mark.parametrize(
    ("trained", "verdict"), [(None, "holds"), (1.1, "holds"), (1.0, "undecided"), (-3.0, "undecided")]
)
def test_rows_that_training_changed_little_are_not_equally_good(trained, verdict):
    assert Claim("", "a", "b", ("MR",), within=1.0).verdict(-0.9, 0.9, trained) == verdict


class Predictor:
    """Embeddings that predict a fraction of the labels."""

    def __init__(self, share, seed=0):
        self.share, self.seed = share, seed

    def encode(self, sentences):
        rows = np.zeros((len(sentences), 2), np.float32)
        for row, sentence in zip(rows, sentences, strict=True):
            number, label = sentence if isinstance(sentence, list) else sentence.split()
            value = np.random.default_rng([int(number), self.seed]).random()
            row[int(label) if value < self.share else 1 - int(label)] = 1
        return rows


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    labels = np.arange(1200) % 2
    sentences = [f"{i} {label}" for i, label in enumerate(labels)]
    train = Split((sentences[:300],), labels[:300])
    tests = {"TREC": slice(300, 900), "CR": slice(900, 1200)}
    splits = {
        name: {"train": train, "test": Split((sentences[part],), labels[part])}
        for name, part in tests.items()
    }
    tasks = [Task(name, both, task_kind("TREC"), ("0", "1"), partial=True) for name, both in splits.items()]
    by_name = {}
    for name, encoders in {
        "good": [Predictor(0.95), Predictor(0.95, 1)],
        "as good": [Predictor(0.95), Predictor(0.95, 1)],
        "bad": [Predictor(0.7), Predictor(0.7, 1)],
    }.items():
        paths = [folder / f"{name} {i}.json" for i in range(len(encoders))]
        for encoder, path in zip(encoders, paths, strict=True):
            evaluate(encoder, tasks, out=path, cache=False, tokens=True, resamples=50)
        by_name[name] = paths
    return by_name


def evaluated_claims(compared, reports, resamples, rows=None, results=()):
    report = Reproduced(results, {}, {}, "", rows or {name: Row("RNNCNN") for name in reports})
    return claims.evaluated_claims(compared, report, reports, resamples)


def test_differences_are_those_of_the_means(reports):
    compared = [
        Claim("same", "good", "as good", ("TREC",), within=3.0),
        Claim("other", "bad", "good", ("TREC",)),
        Claim("better", "good", "bad", ("TREC",), within=None),
        Claim("worse", "bad", "good", ("TREC",), within=None),
        Claim("not there", "good", "nothing", ("TREC",)),
        Claim("no task", "good", "bad", ("MR",)),
    ]
    by_claim = {one["claim"]: one for one in evaluated_claims(compared, reports, 200)}
    assert set(by_claim) == {"same", "other", "better", "worse"}
    verdicts = {name: one["verdict"] for name, one in by_claim.items()}
    assert verdicts == {"same": "holds", "other": "differs", "better": "holds", "worse": "differs"}
    assert by_claim["same"]["value"] == 0
    assert by_claim["same"]["low"] < 0 < by_claim["same"]["high"]  # seeds vary
    assert 15 < by_claim["better"]["low"] < by_claim["better"]["value"] < by_claim["better"]["high"] < 35
    assert by_claim["worse"]["value"] == -by_claim["better"]["value"]
    assert evaluated_claims(compared, reports, 200) == list(by_claim.values())


def test_differences_are_means_over_tasks(reports):
    tasks = ("TREC", "CR")
    one, other, both = (
        evaluated_claims([Claim("", "good", "bad", names)], reports, 200)[0]
        for names in (("TREC",), ("CR",), tasks)
    )
    assert both["tasks"] == list(tasks)
    assert both["value"] == pytest.approx((one["value"] + other["value"]) / 2, abs=0.011)
    assert 15 < both["low"] < both["value"] < both["high"] < 35


def test_differences_are_paired(reports):
    one_seed = {row: paths[:1] for row, paths in reports.items()}
    (same, other) = evaluated_claims(
        [Claim("", "good", "as good", ("TREC",)), Claim("", "good", "bad", ("TREC", "MR"))], one_seed, 200
    )
    assert same["low"] == same["value"] == same["high"] == 0
    assert (same["seeds"], same["of"], other["of"], other["tasks"]) == (1, 1, 2, ["TREC"])
    # What differs is known of each example: the interval of paired differences, by the normal law.
    predictions = [Report.load(one_seed[row][0])["TREC"].predictions["test"] for row in ("good", "bad")]
    right = [(one.per_seed == one.gold)[0].astype(float) for one in predictions]
    half = 100 * 1.96 * np.std(right[0] - right[1]) / np.sqrt(len(right[0]))
    assert (other["high"] - other["low"]) / 2 == pytest.approx(half, rel=0.2)


def test_rows_without_a_training_seed_have_no_variance_of_seeds(reports):
    rows = {name: Row("RNNCNN") for name in reports}
    claim = Claim("", "good", "words", ("TREC",))
    both = {**reports, "words": reports["bad"][:1]}
    words = Row(trained=False, make=lambda vectors: vectors)
    (seeded,) = evaluated_claims([claim], both, 200, {**rows, "words": Row("RNNCNN")})
    (finding,) = evaluated_claims([claim], both, 200, {**rows, "words": words})
    assert (seeded["seeds"], finding["seeds"]) == (1, 2)
    assert finding["high"] - finding["low"] < seeded["high"] - seeded["low"]
    (finding,) = evaluated_claims([claim], {**both, "good": both["words"]}, 200, dict.fromkeys(both, words))
    assert finding["seeds"] == 1


def test_a_report_without_examples_is_refused(reports, tmp_path):
    content = json.loads(reports["good"][0].read_text())
    content["results"]["TREC"]["judged"] = {}
    path = tmp_path / "bare.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="does not hold the predictions for each example"):
        evaluated_claims([Claim("", "a", "b", ("TREC",))], {"a": [path], "b": [path]}, 20)


@pytest.mark.parametrize("seeds", [2, 3])
@pytest.mark.parametrize("examples", [0.0, 0.5])
def test_intervals_cover_the_true_difference_at_their_level(seeds, examples):
    rng, inside, runs = np.random.default_rng(3), 0, 1500
    for _ in range(runs):
        rows = rng.normal(0, 0.7, (6, seeds))  # of which none is better than another
        difference = rows[0].mean() - rows[1].mean() + rng.normal(0, examples**0.5)
        half = _half_width(examples, _between_seeds(rows.tolist()), [seeds, seeds])
        inside += abs(difference) <= half
    assert 0.935 <= inside / runs <= 0.975


ROWS = {
    "trained": Row("RNNCNN", {"pooling": "max"}),
    "wide": Row("RNNCNN"),
    "untrained": untrained(Row("RNNCNN")),
    "untrained wide": untrained(Row("RNNCNN")),
    "other corpus": untrained(Row("RNNCNN", {"pooling": "max"}, corpus="reviews")),
    "words": Row(trained=False, make=lambda vectors: vectors),
}


def stored(name, dim, cr, pearson):
    """A result with intervals of 2 points to each side."""
    scores = {"CR accuracy": {"value": cr, "low": cr - 2, "high": cr + 2}}
    scores["STS14 pearson"] = {"value": pearson, "low": pearson - 0.02, "high": pearson + 0.02}
    return {"row": name, "seed": 0, "dim": dim, "scores": scores}


def test_stored_scores_make_findings_with_what_training_gave():
    results = [
        *(stored("trained", 300, 75.0, 0.5), stored("wide", 600, 74.0, 0.45), stored("words", 100, 70, 0.2)),
        *(stored("untrained", 300, 74.0, 0.3), stored("untrained wide", 600, 74.0, 0.44)),
    ]
    compared = [
        Claim("wider", "wide", "trained", ("CR", "STS14", "MR"), within=None),
        Claim("equal", "wide", "trained", ("CR",), within=9.0),
        Claim("words", "trained", "words", ("STS14 pearson",), within=None),
    ]
    wider, equal, words = evaluated_claims(compared, {}, 20, ROWS, results)
    assert (wider["tasks"], wider["of"], wider["paired"]) == (["CR", "STS14"], 3, False)
    assert wider["value"] == -3.0  # the mean of -1 and -5
    assert wider["high"] - wider["value"] == pytest.approx(np.sqrt(4 * 2**2) / 2)
    assert wider["trained"]["control"] == "untrained wide"
    assert wider["trained"]["value"] == 0.5
    assert wider["verdict"] == "differs"
    assert (equal["trained"]["value"], equal["verdict"]) == (0.0, "undecided")
    assert claims.claim_cells(equal)[3:5] == ["-9", "+0.0"]
    assert claims.claim_cells(equal)[-1] == "training gave only +0.0, one seed"
    assert "trained" not in words  # of another pooling
    (words,) = evaluated_claims(compared[2:], {}, 20, ROWS, [*results, stored("trained", 300, 76.0, 0.5)])
    assert words["seeds"] == 2
    assert "Margin" in claims.rules([equal])
    assert "Margin" not in claims.rules([wider])


def test_the_control_is_the_untrained_network_of_the_same_width_and_pooling():
    dims = dict.fromkeys(ROWS, 300) | {"wide": 600, "untrained wide": 600}
    results = [stored(name, dim, 70, 0.2) for name, dim in dims.items()]
    report = Reproduced(results, {}, {}, "", ROWS)
    controls = {name: claims.untrained_control(report, name) for name in ROWS}
    assert controls["trained"] == "other corpus"
    assert controls["wide"] == "untrained wide"
    assert controls["words"] is controls["untrained"] is None
    narrow = [one for one in results if one["row"] not in ("untrained wide", "other corpus")]
    report = Reproduced(narrow, {}, {}, "", ROWS)
    assert claims.untrained_control(report, "wide") is None  # of 600 dimensions
    assert claims.untrained_control(report, "trained") is None  # of the maximum


def test_of_several_controls_that_of_the_same_corpus_is_preferred():
    rows = {"row": Row("RAE"), "other": untrained(Row("RAE", corpus="b")), "same": untrained(Row("RAE"))}
    report = Reproduced([stored(name, 8, 70, 0.2) for name in rows], {}, {}, "", rows)
    assert claims.untrained_control(report, "row") == "same"


def test_a_net_difference_is_less_that_of_untrained_networks():
    rows = {"narrow": Row("RNNCNN"), "wide": Row("RNNCNN")}
    rows |= {f"untrained {name}": untrained(row) for name, row in rows.items()}
    dims, crs = [300, 600, 300, 600], [74.0, 77.0, 70.0, 72.5]
    results = [stored(*one, 0.3) for one in zip(rows, dims, crs, strict=True)]
    claim = Claim("wider", "wide", "narrow", ("CR",), within=None, net=True)
    (finding,) = evaluated_claims([claim], {}, 20, rows, results)
    assert finding["net"] == ["untrained wide", "untrained narrow"]
    assert (finding["value"], finding["high"], finding["verdict"]) == (0.5, 4.5, "undecided")
    assert claims.claim_cells(finding)[1] == "wide / narrow, CR, net"
    assert finding["trained"]["value"] == 4.5
    assert '"Net"' in claims.rules([finding])
    results[1]["scores"]["CR accuracy"] = {"value": 90.0, "low": 89.0, "high": 91.0}
    (without,) = evaluated_claims([claim], {}, 20, rows, results[:3])
    assert (without["value"], without["verdict"]) == (16.0, "undecided")
    assert claims.claim_cells(without)[-1] == "no untrained control of wide, one seed"
    assert "training gave is unknown" in claims.rules([without])


def test_intervals_of_scores_cover_seeds():
    rows = {"a": Row("RNNCNN"), "b": Row("RNNCNN")}
    results = [
        stored(name, 8, value, 0.3) | {"seed": seed}
        for name, values in (("a", (75.0, 76.0, 77.0)), ("b", (70.0, 71.0, 72.0)))
        for seed, value in enumerate(values)
    ]
    claim = Claim("", "a", "b", ("CR",), within=None)
    (three,) = evaluated_claims([claim], {}, 20, rows, results)
    (one,) = evaluated_claims([claim], {}, 20, rows, results[::3])
    assert (three["value"], three["seeds"], one["value"], one["seeds"]) == (5.0, 3, 5.0, 1)
    examples = (one["high"] - one["low"]) / 2
    half = _half_width((examples / 1.96) ** 2, _between_seeds([[75, 76, 77], [70, 71, 72]]), [3, 3])
    assert (three["high"] - three["low"]) / 2 == pytest.approx(half, abs=1e-3)
    assert half > examples
    del results[0]["scores"]["CR accuracy"]  # a seed without the task
    assert evaluated_claims([claim], {}, 20, rows, results) == []


def test_net_differences_are_paired(reports):
    rows = {"good": Row("RNNCNN"), "as good": Row("RNNCNN", {"pooling": "max"})}
    rows |= {"bad": untrained(rows["good"]), "bad max": untrained(rows["as good"])}
    results = [{"row": name, "seed": 0, "dim": 2, "scores": {}} for name in rows]
    claim = Claim("", "good", "as good", ("TREC",), within=None, net=True)
    both = {**reports, "bad max": reports["bad"]}
    (finding,) = evaluated_claims([claim], both, 200, rows, results)
    assert (finding["value"], finding["net"]) == (0, ["bad", "bad max"])
    assert "paired" not in finding


def test_evaluation_reports_say_what_training_gave(reports):
    rows = {"good": Row("RNNCNN"), "as good": Row("RNNCNN"), "bad": untrained(Row("RNNCNN"))}
    results = [{"row": name, "seed": 0, "dim": 2, "scores": {}} for name in rows]
    claim = Claim("", "good", "as good", ("TREC",), within=3.0)
    (finding,) = evaluated_claims([claim], reports, 200, rows, results)
    (better,) = evaluated_claims([Claim("", "good", "bad", ("TREC",))], reports, 200, rows, results)
    assert finding["trained"] == {"control": "bad"} | {key: better[key] for key in ("value", "low", "high")}
    assert finding["verdict"] == "holds"


def test_forest_plot_has_the_papers_difference_ours_and_what_training_gave():
    pytest.importorskip("matplotlib")
    finding = {"claim": "I", "row": "a", "other": "b", "value": 0.5, "low": -0.5, "high": 1.5}
    finding |= {
        "tasks": ["CR"],
        "verdict": "undecided",
        "within": 1.0,
        "paper": 2.0,
        "trained": {"value": 30.0},
    }
    figure = claims.forest_plot([finding, {**finding, "trained": {"value": -1.0}, "paper": None}])
    (axes,) = figure.axes
    assert axes.get_xlim()[0] > -2
    assert axes.get_xlim()[1] < 3  # the band does not set the scale
    assert [bar.get_width() for bar in axes.patches] == [60.0, 0.0]
    assert [text.get_text() for text in axes.texts] == ["+30.0", "-1.0"]
    (names,) = ([text.get_text() for text in legend.get_texts()] for legend in figure.legends)
    assert {"ours: undecided", "the paper's"} < set(names)
