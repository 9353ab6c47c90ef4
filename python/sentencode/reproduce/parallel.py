"""Parallel corpora of a reproduction: preprocessed for training, raw for BLEU."""

from __future__ import annotations

import os
import re
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
    """A parallel corpus: tokenized, truecased sentences, with their translations as labels.

    Attributes:
        languages: Languages of the sentences and of the translations.
        source: Preprocessing of sentences.
        target: Preprocessing of translations, and its inverse.
        references: Split -> raw sentences and translations.
        parameters: Tokenizer parameters of every encoder that is trained on the corpus.
    """

    languages: tuple[str, str] = ("", "")
    source: Moses = field(default=None)  # type: ignore[assignment]
    target: Moses = field(default=None)  # type: ignore[assignment]
    references: Mapping[str, Examples] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    _prepared: dict[str, str] = field(default_factory=dict, init=False, repr=False)

    def prepare(self, texts: Sequence[str]) -> list[str]:
        """The texts of a task, preprocessed like the training text.

        Many of SentEval's texts are tokenized as in the Penn Treebank, which is undone first: "does n't" was
        "doesn't". The results are cached, because all rows have the same texts and Moses is slower than
        encoding.
        """
        new = [text for text in dict.fromkeys(texts) if text not in self._prepared]
        whole = [_without_treebank(text) for text in new]
        self._prepared.update(zip(new, self.source.prepare(whole), strict=True))
        return [self._prepared[text] for text in texts]

    @property
    def direction(self) -> str:
        """The direction in names of scores: "en-de"."""
        return "-".join(self.languages)


class Translated(NamedTuple):
    """The translation of a split.

    Attributes:
        bleu: BLEU of the split.
        texts: Detokenized translations.
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
    """Reads a parallel corpus, learns truecasing and BPE, and preprocesses it.

    Args:
        languages: Language codes of two letters, as for `Moses`.
        train: Training files: of sentences, and of their translations line by line.
        valid: Validation files, which are also the split "dev".
        tests: Split -> test files.
        pieces: Number of pieces of a joint BPE; 0: words.
        most: Number of training pairs, the first ones. None: all.

    Raises:
        ImportError: sacremoses, or tokenizers for a BPE, are not installed.
        ValueError: There are not as many translations as sentences, or none.
    """
    files = {"train": train, "dev": valid, **tests}
    raw = {name: _read(name, sides) for name, sides in files.items()}
    if most is not None:
        raw["train"] = Examples(*(side[:most] for side in raw["train"]))
    moses = [Moses(language).learn(side) for language, side in zip(languages, raw["train"], strict=True)]

    def prepared(examples: Examples) -> Examples:
        return Examples(*(one.prepare(side) for one, side in zip(moses, examples, strict=True)))

    training = prepared(raw["train"])
    parameters = {"tokenizer": learn_bpe(*training, size=pieces)} if pieces else {}
    references = {name: examples for name, examples in raw.items() if name != "train"}
    facts = {
        "files": {
            name: [[file_identity(file) for file in side] for side in sides] for name, sides in files.items()
        },
        "text": {"languages": list(languages), "pieces": pieces},
        **{name: len(examples.sentences) for name, examples in raw.items()},
    }
    return Parallel(
        training,
        prepared(raw["dev"]),
        facts=facts,
        languages=languages,
        source=moses[0],
        target=moses[1],
        references=references,
        parameters=parameters,
    )


def translated(encoder: Any, corpus: Parallel, split: str, *, resamples: int, **search: Any) -> Translated:
    """Translates a split and computes BLEU.

    Args:
        encoder: Fitted encoder.
        corpus: Its training corpus.
        split: Split of `references`.
        resamples: Number of bootstrap resamples.
        **search: Options of `translate`.
    """
    raw = corpus.references[split]
    tokenized = encoder.translate(corpus.source.prepare(raw.sentences), **search)
    texts = corpus.target.restore(tokenized)
    return Translated(bleu(texts, raw.labels, resamples=resamples), texts)


_CLITICS = re.compile(r" (n't|'(?:s|re|ve|ll|d|m))(?!\w)", re.IGNORECASE)
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "``": '"', "''": '"'}


def _without_treebank(text: str) -> str:
    """The text of Penn Treebank tokens: clitics joined, brackets and quotes restored."""
    words = (_BRACKETS.get(word, word) for word in text.split(" "))
    return _CLITICS.sub(r"\1", " ".join(words))


def _read(name: str, sides: tuple[Side, Side]) -> Examples:
    """The pairs of aligned files, without pairs that are blank on one side."""
    if any(len(side) == 0 for side in sides) or len(sides[0]) != len(sides[1]):
        raise ValueError(f"{name}: give as many files of sentences as of translations, at least one")
    pairs: list[tuple[str, str]] = []
    for files in zip(*sides, strict=True):
        sentences, translations = (list(Corpus(file, keep_empty=True)) for file in files)
        if len(sentences) != len(translations):
            raise ValueError(
                f"{os.fsdecode(files[0])} has {len(sentences):,} lines and {os.fsdecode(files[1])} "
                f"{len(translations):,}: expected a translation for each sentence"
            )
        pairs += zip(sentences, translations, strict=True)
    pairs = [pair for pair in pairs if all(text.strip() for text in pair)]
    if not pairs:
        raise ValueError(f"{name}: the files have no sentences")
    return Examples(*(list(side) for side in zip(*pairs, strict=True)))
