"""Training text without the sentences of tasks."""

from __future__ import annotations

from sentencode.evaluation import Decontaminator, Kind, Split, Task

PAIRS = Split((["A dog ca n't run .", "Caf\u00e9 OPEN"], ["...", "Two men sit ."]), [1.0, 2.0])
SINGLE = Split((["Two men sit .", "good"],), [0, 1])


def tasks():
    kind = Kind("classification", validation="folds")
    return [
        Task("Pairs", {"test": PAIRS}, Kind("similarity", pairs=True)),
        Task("Single", {"train": SINGLE, "test": SINGLE}, kind, classes=("no", "yes")),
    ]


def test_removes_sentences_in_any_spelling():
    clean = Decontaminator(tasks())
    assert len(clean) == 4
    texts = [
        "a dog can't run",
        "A dog can run.",
        "cafe\u0301 open!",
        "two men sit",
        "12\tTwo men sit",
        "",
        "?!",
    ]
    assert list(clean(texts)) == ["A dog can run.", "", "?!"]
    assert (clean.seen, clean.removed) == (7, 4)
    assert clean.by_task == {"Pairs": 4, "Single": 2}
    assert "GOOD." in clean
    assert list(clean(["fine", "Good"])) == ["fine"]
    assert (clean.seen, clean.removed, clean.by_task["Single"]) == (9, 5, 3)


def test_removes_sentences_of_articles():
    articles = Split((["It rains. Dr. Who sleeps.", "Snow fell."],), [0, 1])
    kind = Kind("clustering")
    clean = Decontaminator([Task("News", {"all": articles}, kind, classes=("a", "b"))])
    texts = ["it rains", "Dr. Who sleeps", "Who sleeps.", "snow fell", "It rains. Dr. Who sleeps."]
    assert list(clean(texts)) == ["Who sleeps."]
