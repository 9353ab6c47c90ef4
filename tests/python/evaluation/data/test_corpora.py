"""Tasks from plain text: small files of the same layouts, and the real ones."""

from __future__ import annotations

import gzip
import lzma
import os
from pathlib import Path

import numpy as np
import pytest

import sentencode as se
from sentencode.evaluation import baseline, compare, evaluate, load_task
from sentencode.evaluation.data.corpora import CORPORA

TOPICS = [("business", 510), ("entertainment", 386), ("politics", 417), ("sport", 511), ("tech", 401)]


def news():
    """An article of two sentences, then an empty line, as often as there are articles."""
    return "".join(f"{t} news {i}\nIt is {t}.\n\n" for t, count in TOPICS for i in range(count))


@pytest.fixture
def data(tmp_path):
    for folder in ("text", "captions", "multi30k"):
        (tmp_path / folder).mkdir()

    def packed(name, text, kind=lzma):
        with kind.open(tmp_path / name, "wt", encoding="utf-8") as file:
            file.write(text)

    packed("text/news.txt.xz", news())
    packed(
        "text/wikipedia.txt.xz", "A  cat .\nIt sleeps .\nOften .\n\nOne sentence .\n\n\nA dog .\nIt barks .\n"
    )
    for split in ("train", "test"):
        packed(f"text/ratings.{split}.tsv.xz", "7\tso good\n4\tso bad\n5\tso so\n10\tbest\n1\tworst\n")
    (tmp_path / "captions/coco_5x5000.txt").write_text("".join(f"image {i // 5} {i}\n" for i in range(15)))
    for code in ("en", "de", "fr", "cs"):
        packed(f"multi30k/test_2016_flickr.{code}.gz", f"a {code}\nb {code}\n", gzip)
    return tmp_path


def test_news(data):
    for name in ("BBCClustering", "BBCNeighbours", "BBCFewShot"):
        task = load_task(name, data)
        assert len(task["all"]) == 2225
        assert list(zip(task.classes, np.bincount(task["all"].labels).tolist(), strict=True)) == TOPICS
        for text, label in zip(task["all"].sentences[0], task["all"].labels, strict=True):
            assert text.startswith(f"{task.classes[label]} news ")
            assert text.endswith(f" It is {task.classes[label]}.")
    with lzma.open(data / "text/news.txt.xz", "wt") as file:
        file.write(news()[: -len("tech news 400\nIt is tech.\n\n")])
    with pytest.raises(
        se.FormatError, match=r"news.txt.xz has 2224 articles, expected 2225: their positions"
    ):
        load_task("BBCClustering", data, partial=True)


def test_searches(data):
    wikipedia = load_task("WikipediaSearch", data)
    assert wikipedia["queries"].sentences == (["A cat .", "A dog ."],)
    assert wikipedia["documents"].sentences == (["It sleeps . Often .", "It barks ."],)
    captions = load_task("COCOSearch", data)
    assert captions["queries"].sentences == (["image 0 0", "image 1 5", "image 2 10"],)
    assert captions["documents"].labels.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert captions["documents"].sentences[0][4:6] == ["image 1 6", "image 1 7"]
    german = load_task("Multi30kGerman", data)
    assert german["queries"].sentences == (["a de", "b de"],)
    assert german["documents"].sentences == (["a en", "b en"],)
    assert german["documents"].labels.tolist() == german["queries"].labels.tolist() == [0, 1]
    (data / "captions/coco_5x5000.txt").write_text("one\ntwo\n")
    with pytest.raises(se.FormatError, match="has 2 lines, expected a multiple of 5"):
        load_task("COCOSearch", data)
    with gzip.open(data / "multi30k/test_2016_flickr.fr.gz", "wt") as file:
        file.write("a fr\n")
    with pytest.raises(se.FormatError, match=r"flickr.fr.gz has 1 lines, but .*en.gz has 2"):
        load_task("Multi30kFrench", data)


def test_ratings(data):
    task = load_task("IMDB", data)
    assert task.classes == ("negative", "positive")
    assert task["train"].sentences == (["so good", "so bad", "best", "worst"],)
    assert task["test"].labels.tolist() == [1, 0, 1, 0]
    with lzma.open(data / "text/ratings.test.tsv.xz", "wt") as file:
        file.write("11\ttoo good\n")
    with pytest.raises(se.FormatError, match="expected a score from 1 to 10, got '11'"):
        load_task("IMDB", data)


def test_evaluation_of_what_is_there(data):
    (data / "text/ratings.test.tsv.xz").unlink()
    bow, random = (evaluate(baseline(name), data=data, resamples=50) for name in ("bow", "random"))
    assert set(bow) == {*CORPORA} - {"IMDB"}
    assert "ratings.test.tsv.xz is missing: the guide to evaluation" in bow.skipped["IMDB"]
    for name, key in (
        ("BBCClustering", "v_measure"),
        ("BBCNeighbours", "nearest"),
        ("BBCFewShot", "few_shot"),
    ):
        assert bow[name].headline == key
        assert bow[name][key] > 90 > 50 > random[name][key]
        assert bow[name].intervals[key].low <= bow[name][key] <= bow[name].intervals[key].high + 1e-6
    assert bow["BBCFewShot"].deviation("few_shot") is not None
    rows = {(row.task, row.figure): row for row in compare(bow, random, resamples=50).rows}
    assert rows["BBCNeighbours", "nearest"].difference > 50
    assert rows["BBCFewShot", "few_shot"].difference > 40


def test_strings_for_text_that_is_not_tokenized(data):
    """Tokens, where the text is not tokenized, would have their punctuation attached."""
    vectors = se.WordVectors.from_array(
        ["cat", "sleeps", "dog", "it", ".", "barks"], np.eye(6, dtype=np.float32)
    )
    with lzma.open(data / "text/wikipedia.txt.xz", "wt") as file:
        file.write("Cat.\nIt sleeps.\n\nDog.\nIt barks.\n")
    for tokens, unknown in ((None, 0), (True, 0.75)):
        encoder = se.Average(vectors, tokenizer="words", lowercase=True)
        report = evaluate(encoder, "WikipediaSearch", data, tokens=tokens, cache=False, resamples=10)
        assert report["WikipediaSearch"].details["unknown_tokens"] == pytest.approx(0, abs=unknown)
        rows = encoder.encode(["Cat."] if tokens is None else [["Cat."]])
        assert (rows != 0).any() == (tokens is None)


def test_pairs_of_one_class(tmp_path):
    folder = tmp_path / "senteval" / "downstream" / "SNLI"
    folder.mkdir(parents=True)
    (folder / "labels.test").write_text("entailment\nneutral\ncontradiction\nentailment\n")
    for side in ("s1", "s2"):
        (folder / f"{side}.test").write_text("a\nb\nc\nd\n")
    task = load_task("SNLIPairs", tmp_path, partial=True)
    assert task["test"].labels.tolist() == [1, 0, 0, 1]
    assert task.classes == ("not entailment", "entailment")
    (folder / "labels.test").write_text("entailment\nneutral\n-\nentailment\n")
    with pytest.raises(se.FormatError, match="expected one of entailment, neutral, contradiction, got '-'"):
        load_task("SNLIPairs", tmp_path, partial=True)


def test_samples(data):
    task = load_task("BBCClustering", data).sample(445)
    assert task.partial
    assert np.bincount(task["all"].labels).tolist() == pytest.approx([102, 77.2, 83.4, 102.2, 80.2], abs=1)
    captions = load_task("COCOSearch", data).sample(2)
    assert captions["queries"].labels.tolist() == [0, 1]
    assert captions["documents"].labels.tolist() == [0] * 4 + [1] * 4
    assert not load_task("COCOSearch", data).sample(3).partial
    with pytest.raises(ValueError, match="size must be"):
        task.sample(0)
    report = evaluate(baseline("bow"), "WikipediaSearch", data, limit=1, cache=False, resamples=10)
    assert report["WikipediaSearch"]["ndocuments"] == 1
    assert "the number of examples is not the published one" in report.to_markdown()


@pytest.mark.skipif("SENTENCODE_DATA" not in os.environ, reason="SENTENCODE_DATA is not set")
def test_real_files():
    data = Path(os.environ["SENTENCODE_DATA"])
    sizes = {
        "BBCClustering": {"all": 2225},
        "IMDB": {"train": 25000, "test": 10000},
        "WikipediaSearch": {"documents": 8998, "queries": 8998},
        "COCOSearch": {"documents": 20000, "queries": 5000},
        "Multi30kCzech": {"documents": 1000, "queries": 1000},
        "MRPCPairs": {"test": 1725},
        "SICKPairs": {"test": 4927},
        "SNLIPairs": {"test": 9824},
    }
    for name, expected in sizes.items():
        task = load_task(name, data)
        assert {split: len(examples) for split, examples in task.splits.items()} == expected, name
    news = load_task("BBCClustering", data)["all"]
    firsts = [news.sentences[0][i] for i in np.flatnonzero(np.diff(news.labels, prepend=-1))]
    expected = ["Ad sales boost", "Gallery unveils", "Labour plans", "Claxton hunting", "Ink helps drive"]
    assert all(text.startswith(start) for text, start in zip(firsts, expected, strict=True))
    encoder = se.Average(se.WordVectors.default())
    report = evaluate(encoder, ["BBCNeighbours", "MRPCPairs"], data, cache=False, resamples=100)
    assert report["BBCNeighbours"]["nearest"] > 90
    assert report["MRPCPairs"]["ap"] > 75
