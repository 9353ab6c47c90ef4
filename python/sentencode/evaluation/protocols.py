"""What a classifier is, how many folds there are, and where training stops, by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..checks import checked_int, checked_str
from .classifiers import Adam, Classifier, Optimum, ScikitLearn

__all__ = ["PROTOCOLS", "Protocol", "protocol_named"]

# What SentEval changes in its own classifier for one task, whatever it was told.
_SPECIAL: dict[str, dict[str, Any]] = {
    "SNLI": {"max_epoch": 15, "epoch_size": 1},  # there is much of it
    "WordContent": {"nhid": 0},  # a thousand classes
}
_UNPENALISED = ("SNLI",)


@dataclass(frozen=True)
class Protocol:
    """How tasks with classifiers are judged.

    Attributes:
        name: What results are called by.
        classifier: What is trained.
        folds: Of cross-validation; SentEval's literature has 10.
        seeds: How many seeds a classifier with one is trained with, one after the other from its own: figures
            are the means, their intervals cover other seeds too.
    """

    name: str
    classifier: Classifier
    folds: int = 10
    seeds: int = 1

    def __post_init__(self) -> None:
        checked_int("folds", self.folds, 2)
        if checked_int("seeds", self.seeds, 1) > 1 and not hasattr(self.classifier, "seed"):
            raise ValueError(f"seeds: nothing is random in the classifier of {self.name}")

    def seeded(self) -> list[Protocol]:
        """The same with one seed each.

        Example:
            >>> from sentencode.evaluation.protocols import protocol_named
            >>> [one.classifier.seed for one in protocol_named("senteval-torch", seeds=2).seeded()]
            [1111, 1112]
        """
        if self.seeds == 1:
            return [self]
        classifier: Any = self.classifier
        return [
            replace(self, seeds=1, classifier=replace(classifier, seed=classifier.seed + i))
            for i in range(self.seeds)
        ]

    def classifier_for(self, task: str) -> Classifier:
        """The classifier for a task: SentEval's own differs for SNLI and WordContent.

        Args:
            task: Its name.

        Returns:
            The classifier.

        Example:
            >>> from sentencode.evaluation import PROTOCOLS
            >>> PROTOCOLS["senteval-torch"].classifier_for("SNLI").max_epoch
            15
        """
        if isinstance(self.classifier, Adam):
            return replace(self.classifier, **_SPECIAL.get(task, {}))
        return self.classifier

    @staticmethod
    def penalised(task: str) -> bool:
        """Whether a penalty is chosen for a task: SNLI has next to none.

        Example:
            >>> from sentencode.evaluation import Protocol
            >>> Protocol.penalised("SNLI"), Protocol.penalised("TREC")
            (False, True)
        """
        return task not in _UNPENALISED


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol("optimum", Optimum()),
        Protocol("fast", Optimum(), folds=5),
        Protocol("senteval-sklearn", ScikitLearn("lbfgs")),
        Protocol("liblinear", ScikitLearn("liblinear")),
        Protocol("senteval-torch", Adam()),
    )
}


def protocol_named(protocol: str | Protocol, **options: Any) -> Protocol:
    """A protocol, with options of its classifier changed.

    Args:
        protocol: One of `PROTOCOLS`, or a `Protocol`.
        **options: `folds`, `seeds`, or attributes of its classifier.

    Returns:
        The protocol; one whose options were changed says so in its name.

    Raises:
        ValueError: There is no such protocol.
        ValueError: There are seeds, and nothing is random.
        TypeError: Its classifier has no such option.

    Example:
        >>> from sentencode.evaluation.protocols import protocol_named
        >>> protocol_named("senteval-torch", nhid=50).name
        'senteval-torch, nhid=50'
    """
    if not isinstance(protocol, Protocol):
        if checked_str("protocol", protocol) not in PROTOCOLS:
            raise ValueError(f"no protocol is named {protocol!r}; there are {', '.join(PROTOCOLS)}")
        protocol = PROTOCOLS[protocol]
    if not options:
        return protocol
    name = ", ".join([protocol.name, *(f"{option}={value}" for option, value in options.items())])
    folds, seeds = options.pop("folds", protocol.folds), options.pop("seeds", protocol.seeds)
    classifier: Any = protocol.classifier
    return Protocol(name, replace(classifier, **options), folds, seeds)
