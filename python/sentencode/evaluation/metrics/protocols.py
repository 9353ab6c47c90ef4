"""What a classifier is, how many folds there are, and where training stops, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from ...checks import checked_int, checked_str
from ...code_digest import code_digest
from ..data import Kind
from .classifiers import Adam, Classifier, Optimum, ScikitLearn
from .retrieval import Ranking

__all__ = ["PROTOCOLS", "Protocol", "protocol_named"]

# SentEval's parameters that have another name.
_SENTEVALS = {
    "kfold": "folds",
    "usepytorch": "the protocol, senteval-torch or senteval-sklearn,",
}
# What is trained for which questions.
_TRAINED = {"classification": "classifier", "relatedness": "classifier", "retrieval": "ranking"}


@dataclass(frozen=True)
class Protocol:
    """How tasks with classifiers are judged.

    Attributes:
        name: What results are called by.
        classifier: What is trained.
        folds: Of cross-validation; SentEval's literature has 10.
        seeds: How many seeds what is random is trained with, one after the other from its own: figures are
            the means, their intervals cover other seeds too.
        ranking: How images and captions are ranked.
        similarity: What scores a pair where nothing is learnt: `"cosine"`, or a function of two rows, as
            SentEval's parameter of that name.
    """

    name: str
    classifier: Classifier
    folds: int = 10
    seeds: int = 1
    ranking: Ranking = field(default_factory=Ranking)
    similarity: Literal["cosine"] | Callable[[Any, Any], float] = "cosine"

    def __post_init__(self) -> None:
        checked_int("folds", self.folds, 2)
        checked_int("seeds", self.seeds, 1)
        if self.similarity != "cosine" and not callable(self.similarity):
            raise ValueError(
                f"similarity must be 'cosine' or a function of two rows, got {self.similarity!r}"
            )

    @property
    def scored(self) -> str:
        """What scores pairs where nothing is learnt, by name."""
        return str(_shown(self.similarity))

    def seeded(self, question: str) -> list[Protocol]:
        """The same with one seed each, for tasks that ask this; one alone where nothing is trained.

        Args:
            question: A `Kind`'s.

        Returns:
            The protocols.

        Raises:
            ValueError: There are several seeds for a classifier that has none.

        Example:
            >>> from sentencode.evaluation.metrics import protocol_named
            >>> both = protocol_named("senteval-torch", seeds=2)
            >>> [one.classifier.seed for one in both.seeded("classification")]
            [1111, 1112]
            >>> [one.ranking.seed for one in both.seeded("retrieval")]
            [1111, 1112]
            >>> len(both.seeded("similarity"))
            1
        """
        if self.seeds == 1 or question not in _TRAINED:
            return [self]
        part = _TRAINED[question]
        random: Any = getattr(self, part)
        if not hasattr(random, "seed"):
            raise ValueError(f"seeds: nothing is random in the classifier of {self.name}")
        changed: list[dict[str, Any]] = [
            {part: replace(random, seed=random.seed + i)} for i in range(self.seeds)
        ]
        return [replace(self, seeds=1, **change) for change in changed]

    def classifier_for(self, kind: Kind) -> Classifier:
        """The classifier for a task: SentEval's own has other settings for SNLI and WordContent.

        Args:
            kind: The task's.

        Returns:
            The classifier.

        Example:
            >>> from sentencode.evaluation import PROTOCOLS, task_kind
            >>> PROTOCOLS["senteval-torch"].classifier_for(task_kind("SNLI")).max_epoch
            15
        """
        if isinstance(self.classifier, Adam):
            settings: dict[str, Any] = dict(kind.settings)
            return replace(self.classifier, **settings)
        return self.classifier


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol("optimum", Optimum()),
        Protocol("fast", Optimum(), folds=5, ranking=Ranking(ncontrast=128, shared=True)),
        Protocol("senteval-sklearn", ScikitLearn("lbfgs")),
        Protocol("liblinear", ScikitLearn("liblinear")),
        Protocol("senteval-torch", Adam()),
    )
}


def _shown(value: object) -> object:
    """An option as a protocol's name has it. Functions without a name are told apart by what they compute."""
    if not callable(value):
        return value
    name = getattr(value, "__name__", type(value).__name__)
    if name != "<lambda>":
        return name
    return f"<lambda {(code_digest(value) or 'unknown')[:8]}>"


def protocol_named(protocol: str | Protocol, **options: Any) -> Protocol:
    """A protocol, with options of its classifier changed.

    Args:
        protocol: One of `PROTOCOLS`, or a `Protocol`.
        **options: `folds`, `seeds`, `similarity`, or attributes of its classifier, its ranking, or both.

    Returns:
        The protocol; one whose options were changed says so in its name.

    Raises:
        ValueError: There is no such protocol.
        ValueError: An option is out of range.
        TypeError: Neither its classifier nor its ranking has such an option.

    Example:
        >>> from sentencode.evaluation.metrics import protocol_named
        >>> protocol_named("senteval-torch", nhid=50).name
        'senteval-torch, nhid=50'
    """
    if not isinstance(protocol, Protocol):
        if checked_str("protocol", protocol) not in PROTOCOLS:
            raise ValueError(f"no protocol is named {protocol!r}; there are {', '.join(PROTOCOLS)}")
        protocol = PROTOCOLS[protocol]
    if not options:
        return protocol
    name = ", ".join([protocol.name, *(f"{option}={_shown(value)}" for option, value in options.items())])
    similarity = options.pop("similarity", protocol.similarity)
    folds, seeds = options.pop("folds", protocol.folds), options.pop("seeds", protocol.seeds)
    classifier: Any = protocol.classifier
    ranked, classified = ([one.name for one in fields(of)] for of in (protocol.ranking, classifier))
    for option in options:
        if option not in (*ranked, *classified):
            known = dict.fromkeys(["folds", "seeds", "similarity", *classified, *ranked])
            advice = f" SentEval's {option} is {_SENTEVALS[option]} here." if option in _SENTEVALS else ""
            raise TypeError(
                f"{protocol.name} has no option {option!r}: there are {', '.join(known)}.{advice}"
            )
    ranking = {option: value for option, value in options.items() if option in ranked}
    rest = {option: value for option, value in options.items() if option in classified}
    changed = replace(protocol.ranking, **ranking)
    return Protocol(name, replace(classifier, **rest), folds, seeds, changed, similarity)
