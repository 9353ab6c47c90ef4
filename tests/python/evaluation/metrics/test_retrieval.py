"""Retrieval: ranks against a slow loop, training of the projections, reports."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("scipy")

import sentencode as se
from sentencode.errors import FormatError
from sentencode.evaluation import Kind, Report, Split, Task
from sentencode.evaluation.metrics.protocols import PROTOCOLS, protocol_named
from sentencode.evaluation.metrics.retrieval import Ranking, ranks_of, recalls, resampled_recalls, retrieve

OPTIONS = {"projdim": 40, "max_epoch": 5}


def captioned(n, seed, noise=0.3):
    """Features of images and embeddings of captions, both linear in hidden variables."""
    random = np.random.default_rng(seed)
    to_image, to_caption = (np.random.default_rng(s).normal(size=(8, d)) for s, d in ((1, 20), (2, 12)))
    hidden = random.normal(size=(n, 8))
    images = hidden @ to_image + noise * random.normal(size=(n, 20))
    captions = np.repeat(hidden, 5, axis=0) + noise * random.normal(size=(5 * n, 8))
    return images.astype(np.float32), (captions @ to_caption).astype(np.float32)


def problem(sizes=(300, 100, 100), noise=0.3):
    rows, row_of, splits, begin = [], {}, {}, 0
    for seed, (name, n) in enumerate(zip(("train", "dev", "test"), sizes, strict=True)):
        images, captions = captioned(n, 10 + seed, noise)
        rows.append(captions)
        row_of[name] = np.arange(begin, begin + 5 * n)
        begin += 5 * n
        sentences = [f"{name} {i}" for i in range(5 * n)]
        splits[name] = Split((sentences,), np.repeat(np.arange(n), 5), images)
    return np.concatenate(rows), row_of, splits


def slow_ranks(images, captions):
    """Ranks by sorting for each query."""
    n = len(images)
    scores = captions @ images.T
    i2t, t2i = [], []
    for i in range(n):
        order = list(np.argsort(-scores[:, i], kind="stable"))
        i2t.append(min(order.index(c) for c in range(5 * i, 5 * i + 5)))
    for c in range(5 * n):
        t2i.append(list(np.argsort(-scores[c], kind="stable")).index(c // 5))
    return {"i2t": np.array(i2t), "t2i": np.array(t2i)}


def test_ranks_equal_sorting():
    random = np.random.default_rng(3)
    images, captions = random.normal(size=(30, 4)), random.normal(size=(150, 4)) + 0
    captions += np.repeat(images, 5, axis=0)
    ranks, first = ranks_of(images.astype(np.float32), captions.astype(np.float32))
    expected = slow_ranks(images, captions)
    assert expected["i2t"].max() > expected["i2t"].min() == 0
    for direction, row in ranks.items():
        np.testing.assert_array_equal(row, expected[direction])
    np.testing.assert_array_equal(first, (captions @ images.T).argmax(1))
    by_direction = recalls(ranks)
    for direction, row in expected.items():
        shares = [100 * np.mean(row < k) for k in (1, 5, 10)]
        assert by_direction[direction] == pytest.approx((*shares, np.floor(np.median(row)) + 1))


def test_folds_of_a_thousand_images():
    """Folds are ranked separately, and scores are means over them."""
    random = np.random.default_rng(4)
    images, captions = random.normal(size=(2000, 5)), random.normal(size=(10000, 5))
    images, captions = images.astype(np.float32), (captions + np.repeat(images, 5, 0)).astype(np.float32)
    ranks, first = ranks_of(images, captions)
    halves = [ranks_of(images[i : i + 1000], captions[5 * i : 5 * i + 5000]) for i in (0, 1000)]
    for direction in ranks:
        np.testing.assert_array_equal(
            ranks[direction], np.concatenate([half[0][direction] for half in halves])
        )
        each = [recalls(half[0])[direction] for half in halves]
        assert recalls(ranks)[direction] == pytest.approx(np.mean(each, axis=0))
    np.testing.assert_array_equal(first, np.concatenate([halves[0][1], 1000 + halves[1][1]]))


@pytest.mark.parametrize("same", [np.zeros(3, np.float32), np.full(3, np.nan, np.float32)])
def test_equal_embeddings_have_the_worst_ranks(same):
    images = np.random.default_rng(5).normal(size=(20, 3)).astype(np.float32)
    ranks, nearest = ranks_of(images, np.tile(same, (100, 1)))
    assert set(ranks["t2i"]) == {19}
    assert set(ranks["i2t"]) == {95}
    assert (nearest != np.repeat(np.arange(20), 5)).all()


@pytest.mark.parametrize("shared", [False, True])
def test_a_projection_that_can_be_learnt(shared):
    ranking = Ranking(shared=shared, **OPTIONS)
    retrieval = retrieve(ranking, *problem(noise=0.1), resamples=50)
    assert retrieval.recalls["t2i"].r1 > 60  # chance level: 1
    assert retrieval.recalls["i2t"].r10 > 95  # chance level: 10
    assert retrieval.recalls["i2t"].medr == 1
    assert 450 < retrieval.dev_recalls <= 600
    for key, (low, high) in retrieval.intervals.items():
        direction, figure = key.split(".")
        assert low <= getattr(retrieval.recalls[direction], figure) <= high
    assert len(retrieval.intervals) == 8


def test_samples_have_whole_images():
    _, _, splits = problem((40, 20, 20))
    task = Task("captions", splits, Kind("retrieval")).sample(10)
    assert task.partial
    for name, split in task.splits.items():
        step = len(splits[name].images) // 10
        np.testing.assert_array_equal(split.labels, np.repeat(np.arange(10), 5))
        np.testing.assert_array_equal(split.images, splits[name].images[::step])
        assert split.sentences[0][5] == f"{name} {5 * step}"


def test_random_embeddings_have_chance_recall():
    rows, row_of, splits = problem((200, 300, 300))
    rows = np.random.default_rng(6).normal(size=rows.shape).astype(np.float32)
    retrieval = retrieve(Ranking(**OPTIONS), rows, row_of, splits, resamples=50)
    assert retrieval.recalls["t2i"].r10 == pytest.approx(100 * 10 / 300, abs=3)
    assert retrieval.recalls["t2i"].medr == pytest.approx(150, abs=25)


def test_it_begins_and_draws_as_the_original_does():
    """The first steps of SentEval's code, which repeats pairs for each negative."""
    rows, row_of, splits = problem((40, 20, 20))
    images, captions = splits["train"].images[splits["train"].labels], rows[row_of["train"]]
    random = np.random.RandomState(7)
    torch.manual_seed(7)
    nets = [torch.nn.Linear(x.shape[1], 6) for x in (images, captions)]
    optimiser = torch.optim.Adam([p for net in nets for p in net.parameters()])

    def normal(net, x):
        y = net(torch.from_numpy(x))
        return y / y.pow(2).sum(1, keepdim=True).sqrt()

    order = list(random.permutation(len(captions)))
    for i in range(0, len(order), 64):
        batch, others = order[i : i + 64], order[:i] + order[i + 64 :]
        image_numbers, caption_numbers = (random.choice(others, 3 * len(batch)) for _ in range(2))
        repeated = (np.repeat(x[batch], 3, 0) for x in (images, captions))
        image, caption = map(normal, nets, repeated)
        far = [(image * normal(nets[1], captions[caption_numbers])).sum(1)]
        far.append((caption * normal(nets[0], images[image_numbers])).sum(1))
        loss = sum(torch.clamp(0.2 - (image * caption).sum(1) + one, min=0).sum() for one in far)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    x = [splits["test"].images, rows[row_of["test"]]]
    with torch.no_grad():
        expected, _ = ranks_of(*(normal(net, one).numpy() for net, one in zip(nets, x, strict=True)))
    ranking = Ranking(projdim=6, ncontrast=3, batch_size=64, max_epoch=0, seed=7)
    retrieval = retrieve(ranking, rows, row_of, splits, resamples=5)
    for direction, ranks in retrieval.ranks.items():
        np.testing.assert_array_equal(ranks, expected[direction])


def test_it_stops_when_dev_does_not_rise():
    done = []
    retrieval = retrieve(
        Ranking(projdim=10, tenacity=0, batch_size=8),
        *problem((30, 10, 10), noise=2),
        resamples=5,
        on_progress=lambda epoch, total: done.append((epoch, total)),
    )
    assert done == [(epoch, 21) for epoch in range(1, retrieval.epochs + 1)]
    assert retrieval.epochs < 21


def test_the_seed_decides():
    def retrieved(seed):
        return retrieve(Ranking(seed=seed, **OPTIONS), *problem((60, 40, 40)), resamples=20)

    one, same, other = map(retrieved, (1, 1, 2))
    assert one.recalls == same.recalls
    assert one.intervals == same.intervals
    assert not np.array_equal(one.ranks["t2i"], other.ranks["t2i"])


def test_torchs_global_generator_is_unchanged():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    retrieve(Ranking(projdim=4, max_epoch=0), *problem((4, 2, 2)), resamples=5)
    assert torch.equal(torch.rand(2), expected)


# --- in evaluate ---


def task_of(splits):
    return Task("ImageCaptionRetrieval", splits, Kind("retrieval", "dev"))


def run(splits, rows, **options):
    number = {s: i for i, s in enumerate(s for split in splits.values() for s in split.sentences[0])}
    options = {"options": dict(OPTIONS), "resamples": 30, "cache": False, "name": "mine", **options}
    return se.evaluate(lambda sentences: rows[[number[s] for s in sentences]], task_of(splits), **options)


def test_keys_are_the_originals(tmp_path):
    rows, _, splits = problem((100, 40, 40))
    report = run(splits, rows)
    result = report["ImageCaptionRetrieval"]
    assert list(result)[:4] == ["devacc", "acc", "ndev", "ntest"]
    assert (result["ndev"], result["ntest"]) == (200, 200)
    assert [len(one) for one in result["acc"]] == [4, 4]
    assert result["acc"] == [tuple(result["i2t"].values()), tuple(result["t2i"].values())]
    ranks = result.details["ranks"]
    assert result["t2i"]["r5"] == pytest.approx(100 * np.mean(ranks["t2i"] < 5))
    assert len(ranks["i2t"]) == 40
    ((_, key, value, interval),) = report.rows()
    assert (key, value) == ("t2i.r1", result["t2i"]["r1"])
    assert interval == result.intervals["t2i.r1"]
    assert report.averages == []
    report.to_json(tmp_path / "report.json")
    again = Report.load(tmp_path / "report.json")["ImageCaptionRetrieval"]
    assert again.figures == result.figures
    assert again.details["ranks"]["t2i"] == ranks["t2i"].tolist()


def test_several_seeds():
    rows, _, splits = problem((60, 40, 40))
    name = "ImageCaptionRetrieval"
    result = run(splits, rows, options={**OPTIONS, "seeds": 3})[name]
    alone = [run(splits, rows, options={**OPTIONS, "seed": 1111 + i})[name] for i in range(3)]
    for key in ("devacc", "t2i.r1", "i2t.r10", "t2i.medr"):
        values = [one.figure(key) for one in alone]
        assert result.details["by_run"][key] == values
        assert result.figure(key) == pytest.approx(np.mean(values), abs=0.0051)
        assert result.deviation(key) == pytest.approx(np.std(values, ddof=1))
    assert result.deviation("t2i.r5") > 0
    assert result["acc"] == [tuple(result[direction].values()) for direction in ("i2t", "t2i")]
    assert (result["ndev"], result["ntest"], result.details["seeds"]) == (200, 200, 3)
    assert set(result.intervals) == set(alone[0].intervals)
    for key, (low, high) in result.intervals.items():
        assert low <= result.figure(key) <= high
    assert result.details["ranks"]["t2i"].tolist() == alone[0].details["ranks"]["t2i"].tolist()


def test_resampled_with_the_same_images():
    random = np.random.default_rng(8)
    ranks = {"i2t": random.integers(0, 12, 50), "t2i": random.integers(0, 12, 250)}
    worse = {direction: one + 1 for direction, one in ranks.items()}
    both = resampled_recalls([ranks, worse], 300)
    alone = resampled_recalls([ranks], 300)
    for key, samples in both.items():
        assert samples.shape == (300, 2)
        assert ((samples[:, 0] > samples[:, 1]) | (samples[:, 0] == samples[:, 1])).all() == (
            key[4:] != "medr"
        )
        assert alone[key].mean() == pytest.approx(samples[:, 0].mean(), rel=0.05)
    np.testing.assert_array_equal(both["t2i.medr"][:, 1], both["t2i.medr"][:, 0] + 1)


def test_learning_curve():
    rows, _, splits = problem((100, 40, 40))
    number = {s: i for i, s in enumerate(s for split in splits.values() for s in split.sentences[0])}
    options = {"options": OPTIONS, "resamples": 30, "cache": False}
    curve = se.evaluation.learning_curve(
        lambda s: rows[[number[one] for one in s]], task_of(splits), sizes=[50, 1.0], repeats=2, **options
    )
    assert curve.x == (50, 500)
    assert curve.y[0] < curve.y[1] == pytest.approx(run(splits, rows)["ImageCaptionRetrieval"]["t2i"]["r1"])
    assert curve.y_label == "recall at 1 of images, percent"


def test_reports_show_and_compare_it(tmp_path):
    rows, _, splits = problem((100, 40, 40))
    good, bad = run(splits, rows), run(splits, np.random.default_rng(1).normal(size=rows.shape), name="bad")
    comparisons = se.compare(good, bad)
    assert comparisons[0].a == pytest.approx(good["ImageCaptionRetrieval"]["t2i"]["r1"])
    assert comparisons[0].p_two_tailed < 0.01
    assert all("by groups" in row.test and row.n == 40 for row in comparisons)  # images, not their captions
    wrong = bad["ImageCaptionRetrieval"].wrong(3)
    assert all(one.gold == int(one.sentences[0].split()[1]) // 5 != one.predicted for one in wrong)
    good.to_html(tmp_path / "report.html", [bad])
    page, table = (tmp_path / "report.html").read_text(), good.to_markdown()
    for way in ("i2t", "t2i"):
        for key, value in good["ImageCaptionRetrieval"][way].items():
            assert f">{value:.2f}</b>" in page
            low, high = good["ImageCaptionRetrieval"].intervals[f"{way}.{key}"]
            assert f"| {way}.{key} | {value:.2f} | {low:.2f} to {high:.2f} |" in table


def test_other_images_are_another_task(tmp_path):
    rows, _, splits = problem((30, 10, 10))
    out = tmp_path / "report.json"
    first = run(splits, rows, out=out, key="a")
    images = splits["test"].images[::-1].copy()
    changed = splits | {"test": Split(splits["test"].sentences, splits["test"].labels, images)}
    again, second = run(splits, rows, out=out, key="a"), run(changed, rows, out=out, key="a")
    name = "ImageCaptionRetrieval"
    assert again[name].details["seconds_judge"] == first[name].details["seconds_judge"]  # was not run
    assert second[name].figures != first[name].figures


def test_all_tasks_include_it(tmp_path):
    rows, _, splits = problem((30, 10, 10))
    folder = tmp_path / "downstream" / "COCO"
    folder.mkdir(parents=True)
    for name, split in zip(("train", "valid", "test"), splits.values(), strict=True):
        captions = np.array(split.sentences[0])
        np.savez(folder / f"{name}.npz", features=split.images, captions=captions, images=split.labels)
    number = {s: i for i, s in enumerate(s for split in splits.values() for s in split.sentences[0])}

    def encode(sentences):
        return rows[[number[s] for s in sentences]]

    options = {"options": OPTIONS, "resamples": 20, "cache": False}
    report = se.evaluate(encode, "all", tmp_path, partial=True, **options)
    assert list(report) == ["ImageCaptionRetrieval"]
    assert report["ImageCaptionRetrieval"]["acc"] == run(splits, rows)["ImageCaptionRetrieval"]["acc"]
    with pytest.raises(FormatError, match="113287 were published"):
        se.evaluate(encode, "ImageCaptionRetrieval", tmp_path, **options)


def test_options_go_where_they_belong():
    protocol = protocol_named("senteval-torch", projdim=5, nhid=3, seed=2, batch_size=16)
    assert (protocol.ranking.projdim, protocol.classifier.nhid) == (5, 3)
    assert protocol.ranking.seed == protocol.classifier.seed == 2
    assert protocol.ranking.batch_size == protocol.classifier.batch_size == 16
    assert protocol_named("optimum", margin=0.5).classifier == PROTOCOLS["optimum"].classifier
    assert PROTOCOLS["fast"].ranking.shared
    assert not PROTOCOLS["optimum"].ranking.shared
    with pytest.raises(TypeError, match="projdims"):
        protocol_named("optimum", projdims=5)
    with pytest.raises(ValueError, match="projdim must be at least 1, got 0"):
        protocol_named("optimum", projdim=0)


def test_wrong_arguments():
    rows, _, splits = problem((30, 10, 10))
    test = splits["test"]
    narrow = Split(test.sentences, test.labels, test.images[:, :3])
    mixed = Split(test.sentences, test.labels[::-1], test.images)
    broken = {
        "needs the splits train, dev, test; there are train, dev": {"test": None},
        "features of images must have the same dimensions in all splits, got 20 in train": {"test": narrow},
        "captions of test must be in the order of their images": {"test": mixed},
        "retrieval requires the features of images": {"test": Split(test.sentences, test.labels)},
    }
    for message, change in broken.items():
        changed = {name: split for name, split in (splits | change).items() if split is not None}
        assert run(changed, rows).results["ImageCaptionRetrieval"].error.startswith(message)
