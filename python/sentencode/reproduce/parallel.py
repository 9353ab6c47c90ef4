"""Sentences and their translations for a reproduction: prepared to learn from, raw to be judged by."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..evaluation import Bleu, bleu
from ..text.corpus import Corpus
from ..text.moses import Moses
from ..text.subwords import learn_bpe
from .labelled import Examples, Labels
from .results_folder import file_identity

__all__ = ["Parallel", "Translated", "parallel_of_files", "translated"]

File = str | os.PathLike[str]
Side = Sequence[File]


@dataclass(frozen=True, eq=False)
class Parallel(Labels):
    """A parallel corpus. Its labels are translations; sentences are tokens, cased as within sentences.

    Attributes:
        languages: Of the sentences, and of their translations.
        source: Prepares sentences.
        target: Prepares translations, and restores what is written.
        references: By what splits are called, sentences and translations as they came.
        parameters: Of every encoder that learns from it: what cuts words.
    """

    languages: tuple[str, str] = ("", "")
    source: Moses = field(default=None)  # type: ignore[assignment]
    target: Moses = field(default=None)  # type: ignore[assignment]
    references: Mapping[str, Examples] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    _prepared: dict[str, str] = field(default_factory=dict, init=False, repr=False)

    def prepare(self, texts: Sequence[str]) -> list[str]:
        """What is done to texts before an encoder that learnt from it reads them.

        All rows are judged on the same ones, and Moses takes longer than encoding: they are kept.
        """
        new = [text for text in dict.fromkeys(texts) if text not in self._prepared]
        self._prepared.update(zip(new, self.source.prepare(new), strict=True))
        return [self._prepared[text] for text in texts]

    @property
    def direction(self) -> str:
        """As figures are called after: "en-de"."""
        return "-".join(self.languages)


class Translated(NamedTuple):
    """How a split was translated.

    Attributes:
        bleu: Of it.
        texts: As they are printed.
    """

    bleu: Bleu
    texts: list[str]


def parallel_of_files(
    languages: tuple[str, str],
    train: tuple[Side, Side],
    valid: tuple[Side, Side],
    tests: Mapping[str, tuple[Side, Side]],
    *,
    pieces: int = 0,
    most: int | None = None,
) -> Parallel:
    """Reads a parallel corpus, learns how its words are cased and cut, and prepares it.

    Args:
        languages: Two letters each, as `Moses` takes them.
        train: Files of sentences, and files of their translations line by line.
        valid: The like. They are the split "dev", too.
        tests: The like, by what splits are called.
        pieces: Of a joint BPE; 0: words.
        most: To train on; None: all. The first ones are.

    Raises:
        ImportError: sacremoses, or tokenizers for a BPE, are not installed.
        ValueError: There are not as many translations as sentences, or none.
    """
    raw = {name: _read(name, of) for name, of in {"train": train, "dev": valid, **tests}.items()}
    if most is not None:
        raw["train"] = Examples(*(side[:most] for side in raw["train"]))
    moses = [Moses(language).learn(side) for language, side in zip(languages, raw["train"], strict=True)]

    def prepared(of: Examples) -> Examples:
        return Examples(*(one.prepare(side) for one, side in zip(moses, of, strict=True)))

    learnt = prepared(raw["train"])
    parameters: dict[str, Any] = {}
    if pieces:
        parameters["tokenizer"] = learn_bpe(*learnt, size=pieces)
    references = {name: of for name, of in raw.items() if name != "train"}
    facts = {
        "files": {
            name: [[file_identity(file) for file in side] for side in of]
            for name, of in {"train": train, "dev": valid, **tests}.items()
        },
        "text": {"languages": list(languages), "pieces": pieces},
        **{name: len(of.sentences) for name, of in raw.items()},
    }
    return Parallel(
        learnt,
        prepared(raw["dev"]),
        facts=facts,
        languages=languages,
        source=moses[0],
        target=moses[1],
        references=references,
        parameters=parameters,
    )


def translated(encoder: Any, corpus: Parallel, split: str, *, resamples: int, **search: Any) -> Translated:
    """Translates a split, and compares it with what it is translated to.

    Args:
        encoder: Fitted.
        corpus: Which it learnt from.
        split: One of its `references`.
        resamples: Of the bootstrap.
        **search: Of `translate`.
    """
    raw = corpus.references[split]
    written = encoder.translate(corpus.source.prepare(raw.sentences), **search)
    texts = corpus.target.restore(written)
    return Translated(bleu(texts, raw.labels, resamples=resamples), texts)


def _read(name: str, of: tuple[Side, Side]) -> Examples:
    """Files of both sides, line by line; pairs of which one side is blank are left out."""
    if any(len(side) == 0 for side in of) or len(of[0]) != len(of[1]):
        raise ValueError(f"{name}: give as many files of sentences as of translations, at least one")
    found: list[tuple[str, str]] = []
    for files in zip(*of, strict=True):
        sides = [list(Corpus(file, keep_empty=True)) for file in files]
        if len(sides[0]) != len(sides[1]):
            raise ValueError(
                f"{os.fsdecode(files[0])} has {len(sides[0]):,} lines and {os.fsdecode(files[1])} "
                f"{len(sides[1]):,}: expected a translation for each sentence"
            )
        found += zip(*sides, strict=True)
    kept = [pair for pair in found if all(text.strip() for text in pair)]
    if not kept:
        raise ValueError(f"{name}: the files have no sentences")
    return Examples(*(list(side) for side in zip(*kept, strict=True)))
