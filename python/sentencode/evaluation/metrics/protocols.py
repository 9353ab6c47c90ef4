"""Evaluation protocols: the classifier, the number of folds, and the stopping rule."""

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

# SentEval's parameters with another name here.
_SENTEVAL = {
    "kfold": "folds",
    "usepytorch": "the protocol, senteval-torch or senteval-sklearn,",
}
# Attribute of the protocol that a kind of task trains.
_TRAINED = {"classification": "classifier", "relatedness": "classifier", "retrieval": "ranking"}


@dataclass(frozen=True)
class Protocol:
    """How tasks are evaluated.

    Attributes:
        name: Name of the protocol in reports.
        classifier: Classifier of the tasks that train one.
        folds: Number of folds of cross-validation; 10 in SentEval's literature.
        seeds: Number of seeds, consecutive from that of the classifier or ranking: scores are means over
            seeds, and their intervals cover other seeds.
        ranking: Settings of image-caption retrieval.
        similarity: Similarity of pairs in tasks without training: `"cosine"`, or a function of two
            embeddings, as SentEval's parameter of that name.
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
                f"similarity must be 'cosine' or a function of two embeddings, got {self.similarity!r}"
            )

    @property
    def scored(self) -> str:
        """Name of the similarity of pairs."""
        return str(_shown(self.similarity))

    def seeded(self, question: str) -> list[Protocol]:
        """One protocol per seed, for tasks of this kind; the protocol itself where nothing is trained.

        Args:
            question: `question` of the task's `Kind`.

        Raises:
            ValueError: There are several seeds, but the classifier has none.

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
        name = _TRAINED[question]
        trained: Any = getattr(self, name)
        if not hasattr(trained, "seed"):
            raise ValueError(f"seeds: nothing is random in the classifier of {self.name}")
        by_seed: list[dict[str, Any]] = [
            {name: replace(trained, seed=trained.seed + i)} for i in range(self.seeds)
        ]
        return [replace(self, seeds=1, **options) for options in by_seed]

    def classifier_for(self, kind: Kind) -> Classifier:
        """The classifier for a task; SentEval's own has other settings for SNLI and WordContent.

        Args:
            kind: Kind of the task.

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
    """An option as shown in the name of a protocol; lambdas are identified by a digest of their code."""
    if not callable(value):
        return value
    name = getattr(value, "__name__", type(value).__name__)
    if name != "<lambda>":
        return name
    return f"<lambda {(code_digest(value) or 'unknown')[:8]}>"


def protocol_named(protocol: str | Protocol, **options: Any) -> Protocol:
    """A protocol, perhaps with other options, which become part of its name.

    Args:
        protocol: Name of one of `PROTOCOLS`, or a `Protocol`.
        **options: `folds`, `seeds`, `similarity`, or attributes of its classifier, its ranking, or both.

    Raises:
        ValueError: There is no such protocol, or an option is out of range.
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
    parts = _parts(protocol)
    names = [["folds", "seeds", "similarity"], *([f.name for f in fields(part)] for part in parts[1:])]
    known = [*dict.fromkeys(name for of_part in names for name in of_part)]
    for option in options:
        if option not in known:
            advice = f" SentEval's {option} is {_SENTEVAL[option]} here." if option in _SENTEVAL else ""
            raise TypeError(
                f"{protocol.name} has no option {option!r}: there are {', '.join(known)}.{advice}"
            )
    own, classifier, ranking = (
        {name: options[name] for name in of_part if name in options} for of_part in names
    )
    changed = replace(
        protocol,
        **own,
        classifier=replace(parts[1], **classifier),
        ranking=replace(protocol.ranking, **ranking),
    )
    # Equal protocols have equal names, whatever the order of the options.
    base = PROTOCOLS.get(protocol.name.partition(",")[0], protocol)
    if type(base.classifier) is not type(protocol.classifier):
        base = protocol
    others: dict[str, Any] = {}
    for of_part, new, old in zip(names, _parts(changed), _parts(base), strict=True):
        others |= {name: getattr(new, name) for name in of_part if getattr(new, name) != getattr(old, name)}
    shown = (f"{name}={_shown(others[name])}" for name in known if name in others)
    return replace(changed, name=", ".join([base.name, *shown]))


def _parts(protocol: Protocol) -> tuple[Any, ...]:
    return protocol, protocol.classifier, protocol.ranking
