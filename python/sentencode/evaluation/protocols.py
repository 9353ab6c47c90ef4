"""What a classifier is, how many folds there are, and where training stops, by name."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

from ..checks import checked_str
from .classifiers import Adam, Classifier, Optimum, ScikitLearn
from .retrieval import Ranking

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
        ranking: How images and captions are ranked.
    """

    name: str
    classifier: Classifier
    folds: int = 10
    ranking: Ranking = field(default_factory=Ranking)

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
        Protocol("fast", Optimum(), folds=5, ranking=Ranking(ncontrast=128, shared=True)),
        Protocol("senteval-sklearn", ScikitLearn("lbfgs")),
        Protocol("liblinear", ScikitLearn("liblinear")),
        Protocol("senteval-torch", Adam()),
    )
}


def protocol_named(protocol: str | Protocol, **options: Any) -> Protocol:
    """A protocol, with options of its classifier changed.

    Args:
        protocol: One of `PROTOCOLS`, or a `Protocol`.
        **options: `folds`, or attributes of its classifier, of its ranking, or of both.

    Returns:
        The protocol; one whose options were changed says so in its name.

    Raises:
        ValueError: There is no such protocol.
        TypeError: Neither its classifier nor its ranking has such an option.

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
    folds = options.pop("folds", protocol.folds)
    classifier: Any = protocol.classifier
    ranked, classified = ({one.name for one in fields(of)} for of in (protocol.ranking, classifier))
    ranking = {option: value for option, value in options.items() if option in ranked}
    rest = {
        option: value for option, value in options.items() if option in classified or option not in ranked
    }
    return Protocol(name, replace(classifier, **rest), folds, replace(protocol.ranking, **ranking))
