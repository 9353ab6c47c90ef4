"""Tasks from plain text: news by topic, film reviews, articles, captions and translations.

Texts are not tokenized, and long ones are one sentence. The table at the end has the files of each task.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from ...errors import FormatError
from .files import Scores, Table, read_lines, tokens
from .task import Kind, Split

__all__ = ["CORPORA", "Corpus"]

_Content = tuple[dict[str, Split], tuple[str, ...]]


@dataclass(frozen=True)
class Corpus:
    """A task in text files that are not SentEval's.

    Attributes:
        kind: Kind of the task.
        files: Files of each split.
        reader: Reads the splits and the names of the classes; with True, last lines must have a line end.
    """

    kind: Kind
    files: Mapping[str, tuple[str, ...]]
    reader: Callable[[list[Path], bool], _Content]
    folder: str = ""
    advice: str = "the guide to evaluation lists the files of each task"

    def read(
        self, folder: Path, names: list[str], *, whole: bool
    ) -> tuple[Mapping[str, Split], tuple[str, ...]]:
        """All splits, and the names of the classes."""
        paths = dict.fromkeys(path for split in self.files.values() for path in split)
        return self.reader([folder / path for path in paths], whole)


# Topics of the BBC's articles of 2004 and 2005 (Greene and Cunningham, 2006), in the order of the file.
_BBC = {"business": 510, "entertainment": 386, "politics": 417, "sport": 511, "tech": 401}
_CAPTIONS = 5  # of an image


def _articles(path: Path, whole: bool) -> list[list[str]]:
    """Sentences of each article: one per line, with an empty line between articles."""
    lines = map(tokens, read_lines(path, whole=whole))
    return [list(article) for full, article in groupby(lines, key=bool) if full]


def _news(paths: list[Path], whole: bool) -> _Content:
    articles = _articles(paths[0], whole)
    if len(articles) != sum(_BBC.values()):
        raise FormatError(
            f"{paths[0]} has {len(articles)} articles, expected {sum(_BBC.values())}: their positions "
            "determine their topics"
        )
    labels = np.repeat(np.arange(len(_BBC)), list(_BBC.values()))
    return {"all": Split(([" ".join(article) for article in articles],), labels)}, tuple(_BBC)


def _ratings(paths: list[Path], whole: bool) -> _Content:
    """Reviews of 7 to 10 stars are positive, of 1 to 4 negative; others are left out."""
    table = Table(columns=("stars", "review"), label="stars", sentences=("review",))
    splits = {}
    for name, path in zip(("train", "test"), paths, strict=True):
        examples = table.examples(path, whole=whole)
        stars = Scores(1, 10).values(examples, ())
        clear = np.flatnonzero((stars <= 4) | (stars >= 7))
        reviews = [tokens(examples[i].sentences[0]) for i in clear]
        splits[name] = Split((reviews,), (stars[clear] >= 7).astype(np.int64))
    return splits, ("negative", "positive")


def _first_sentences(paths: list[Path], whole: bool) -> _Content:
    articles = [article for article in _articles(paths[0], whole) if len(article) > 1]
    return _searched([article[0] for article in articles], [" ".join(article[1:]) for article in articles])


def _captions(paths: list[Path], whole: bool) -> _Content:
    lines = [tokens(line) for line in read_lines(paths[0], whole=whole)]
    if len(lines) % _CAPTIONS:
        raise FormatError(f"{paths[0]} has {len(lines)} lines, expected a multiple of {_CAPTIONS}")
    others = [caption for i, caption in enumerate(lines) if i % _CAPTIONS]
    return _searched(lines[::_CAPTIONS], others)


def _translations(paths: list[Path], whole: bool) -> _Content:
    documents, queries = ([tokens(line) for line in read_lines(path, whole=whole)] for path in paths)
    if len(documents) != len(queries):
        raise FormatError(f"{paths[1]} has {len(queries)} lines, but {paths[0]} has {len(documents)}")
    return _searched(queries, documents)


def _searched(queries: list[str], documents: list[str]) -> _Content:
    """Queries, and as many or a multiple of documents in the same order."""
    labels = np.arange(len(queries))
    relevant = np.repeat(labels, len(documents) // max(1, len(queries)))
    return {"documents": Split((documents,), relevant), "queries": Split((queries,), labels)}, ()


def _search(reader: Callable[[list[Path], bool], _Content], *files: str) -> Corpus:
    documents, queries = files[0], files[-1]
    paths = {"documents": (documents,), "queries": (queries,)}
    return Corpus(Kind("search"), paths, reader)


def _topics(kind: Kind) -> Corpus:
    return Corpus(kind, {"all": ("text/news.txt.xz",)}, _news)


def _multi30k(language: str) -> Corpus:
    return _search(_translations, *(f"multi30k/test_2016_flickr.{code}.gz" for code in ("en", language)))


CORPORA = {
    "BBCClustering": _topics(Kind("clustering")),
    "BBCNeighbours": _topics(Kind("neighbours")),
    "BBCFewShot": _topics(Kind("few_shot")),
    "IMDB": Corpus(
        Kind("classification", "folds", features=("u",)),
        {"train": ("text/ratings.train.tsv.xz",), "test": ("text/ratings.test.tsv.xz",)},
        _ratings,
    ),
    "WikipediaSearch": _search(_first_sentences, "text/wikipedia.txt.xz"),
    "COCOSearch": _search(_captions, "captions/coco_5x5000.txt"),
    "Multi30kGerman": _multi30k("de"),
    "Multi30kFrench": _multi30k("fr"),
    "Multi30kCzech": _multi30k("cs"),
}
