"""Runs one task with one encoder."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._extras import require
from .data import Kind, Split, Task
from .embeddings import DegenerateEncoderError, Embedder, distinct
from .metrics.baselines import MajorityClass
from .metrics.classifiers import Classifier, Examples, Optimum, Places, ScikitLearn, classify
from .metrics.intervals import (
    SEED,
    Interval,
    bootstrap_f1,
    bootstrap_interval,
    bootstrap_mean,
    percentile_interval,
    resampled_in_parts,
)
from .metrics.paraphrase import cluster_classification, inverse_davies_bouldin, nearest_neighbours
from .metrics.protocols import Protocol
from .metrics.relatedness import relate
from .metrics.results import Judged, TaskResult
from .metrics.retrieval import retrieve
from .metrics.scores import (
    CORRELATIONS,
    cosine_of_pairs,
    f1,
    mean_squared_error,
    pearson,
    spearman,
    values_of,
)
from .statistics.seeds import over_runs

__all__ = ["Encoded", "encode_task", "judge_task", "part_of", "run_task", "splits_in_order"]

Progress = Callable[[int, int], None]
Scores = NDArray[np.float64]
Rows = NDArray[np.float32]


def run_task(task: Task, embedder: Embedder, protocol: Protocol, **judging: Any) -> TaskResult:
    """Encodes the sentences of a task and judges their rows: see `encode_task` and `judge_task`."""
    encoded = encode_task(task, embedder)
    result = judge_task(encoded, protocol, **judging)
    result.splits = dict(encoded.task.splits)
    return result


@dataclass(frozen=True, eq=False)
class Encoded:
    """A task and the rows of its sentences: all that judging needs.

    Attributes:
        task: Its examples are in the order in which they are cut into folds, or drawn for batches.
        places: For each side of each split, one after the other, which row each sentence is.
        rows: One for each distinct sentence.
        details: What is known of the encoding.
        classifier: What stands in place of the protocol's, where the encoder is a classifier.
    """

    task: Task
    places: list[Places]
    rows: NDArray[np.float32]
    details: dict[str, Any] = field(default_factory=dict)
    classifier: MajorityClass | None = None

    def by_split(self) -> dict[str, list[Places]]:
        """Of each split, which row each sentence is, side by side."""
        splits = self.task.splits
        sides = len(self.places) // len(splits)
        return {name: self.places[i * sides : (i + 1) * sides] for i, name in enumerate(splits)}

    def examples(self) -> tuple[Examples, NDArray[Any], dict[str, Places]]:
        """The examples of all splits, one after the other; their labels; and which of them each split has.

        The classes of the examples are left to be set where labels are classes.
        """
        splits = self.task.splits
        sides = tuple(np.concatenate(side) for side in zip(*self.by_split().values(), strict=True))
        bounds = np.cumsum([0, *(len(split) for split in splits.values())])
        numbers = {name: np.arange(bounds[i], bounds[i + 1]) for i, name in enumerate(splits)}
        labels = np.concatenate([split.labels for split in splits.values()])
        blank = np.zeros(len(labels), dtype=np.int64)
        return Examples(self.rows, sides, self.task.kind.features, blank, 0), labels, numbers


def encode_task(task: Task, embedder: Embedder) -> Encoded:
    """Encodes the distinct sentences of a task.

    Raises:
        DegenerateEncoderError: The encoder's rows cannot be judged.
    """
    begin = time.perf_counter()
    splits = splits_in_order(task)
    sentences, places = distinct(side for split in splits.values() for side in split.sentences)
    classifier = embedder.encoder if isinstance(embedder.encoder, MajorityClass) else None
    if classifier is None:
        rows = embedder(sentences)
    elif task.kind.question == "classification":
        rows = classifier.encode(sentences)
    else:
        raise DegenerateEncoderError(f"{embedder.name} answers only tasks of classes")
    details = {
        "distinct_sentences": len(sentences),
        "seconds_encode": round(time.perf_counter() - begin, 4),
        "unknown_tokens": embedder.unknown(sentences),
        "partial": task.partial,
    }
    return Encoded(replace(task, splits=splits), places, rows, details, classifier)


def check_installed(kind: Kind, protocol: Protocol) -> None:
    """Checks, before anything is encoded, that the packages are there that judging a task uses.

    Args:
        kind: The task's.
        protocol: How classifiers are trained.

    Raises:
        ImportError: One is missing; the message says what installs it.
    """
    sklearn = isinstance(protocol.classifier, ScikitLearn) and kind.question == "classification"
    needed = {
        "scipy.stats": kind.question in ("similarity", "relatedness"),
        "sklearn.model_selection": sklearn or kind.validation in ("nested", "folds"),
        "torch": not sklearn and (kind.validation is not None or kind.question == "retrieval"),
    }
    for module, used in needed.items():
        if used:
            require(module, "eval")


def judge_task(
    encoded: Encoded,
    protocol: Protocol,
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    on_progress: Progress | None = None,
) -> TaskResult:
    """Judges the rows of a task. The sentences are not looked at.

    Args:
        encoded: The task and its rows.
        protocol: How classifiers are trained.
        confidence: Of the intervals.
        resamples: Of the bootstrap.
        on_progress: Called with the number of classifiers that are trained, and of all.

    Returns:
        The figures, under SentEval's keys, with their intervals.

    Raises:
        ValueError: Its examples cannot be validated in its way: a split or a class is missing; or a
            correlation is undefined.
        MemoryError: The protocol holds more than there is room for.
    """
    begin = time.perf_counter()
    kind, name = encoded.task.kind, encoded.task.name
    if encoded.classifier is not None:
        protocol = replace(protocol, classifier=encoded.classifier, seeds=1)
    options: dict[str, Any] = {"confidence": confidence, "resamples": resamples}
    try:
        seeded = protocol.seeded(kind.question)
        runs = [
            _JUDGES[kind.question](encoded, one, options, part_of(on_progress, i, len(seeded)))
            for i, one in enumerate(seeded)
        ]
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    result = runs[0]
    if len(runs) > 1:
        result = over_runs(runs, **options)
        result.details["seeds"] = len(runs)
    result.details |= encoded.details
    result.details["seconds_judge"] = round(time.perf_counter() - begin, 4)
    return result


def part_of(on_progress: Progress | None, i: int, runs: int) -> Progress | None:
    """The progress of the i-th of several runs that are equally long."""
    return None if on_progress is None else lambda done, total: on_progress(i * total + done, runs * total)


def splits_in_order(task: Task) -> dict[str, Split]:
    """The examples as results number them: in SentEval's order, which decides folds and batches."""
    if task.kind.question not in ("classification", "relatedness"):
        return dict(task.splits)
    second_first = task.kind.second_first
    names = task.classes if second_first else ()
    return {
        name: split.by_length(second_first=second_first, names=names) for name, split in task.splits.items()
    }


def _classification(
    encoded: Encoded, protocol: Protocol, options: dict[str, Any], on_progress: Progress | None
) -> TaskResult:
    task, validation = encoded.task, encoded.task.kind.validation
    assert validation is not None, task.name
    examples, labels, numbers = encoded.examples()
    examples = replace(examples, labels=labels, classes=max(len(task.classes), int(labels.max()) + 1))
    classifier = protocol.classifier_for(task.kind)
    found = classify(
        classifier,
        examples,
        numbers,
        validation,
        protocol.folds,
        penalised=task.kind.penalised,
        on_progress=on_progress,
    )
    gold = labels[found.places]
    low, high = bootstrap_mean(found.predictions == gold, **options)
    # What is tested are all examples of a task without splits: SentEval calls them dev and test alike.
    tested = len(found.places)
    dev = {"nested": tested, "folds": len(numbers.get("train", ())), "dev": len(numbers.get("dev", ()))}
    figures: dict[str, Any] = {
        "devacc": found.dev,
        "acc": found.test,
        "ndev": dev[validation],
        "ntest": tested,
    }
    intervals = {"acc": Interval(100 * low, 100 * high)}
    if task.kind.f1:
        figures["f1"] = round(100 * f1(found.predictions, gold), 2)
        intervals["f1"] = Interval(*(100 * x for x in bootstrap_f1(found.predictions, gold, **options)))
    details = {
        "protocol": protocol.name,
        "penalties": found.chosen,
        **_solved(classifier, found.gradient),
        "majority": found.majority,
        **found.details,
    }
    first = min(numbers.get("test", numbers.get("all", found.places)))
    judged = Judged("test" if "test" in numbers else "all", found.places - first, found.predictions, gold)
    return TaskResult(task.name, figures, intervals, {judged.split: judged}, details)


def _solved(classifier: Classifier, gradient: float) -> dict[str, float]:
    """How near the optimum classifiers are, and how near they should be."""
    wanted = {"tolerance": classifier.tolerance} if isinstance(classifier, Optimum) else {}
    return {"gradient": gradient, **wanted}


def _relatedness(
    encoded: Encoded, protocol: Protocol, options: dict[str, Any], _: Progress | None
) -> TaskResult:
    examples, labels, numbers = encoded.examples()
    found = relate(protocol.classifier, examples, labels, numbers)
    gold = labels[numbers["test"]]
    agreement = pearson(found.scores, gold)
    if np.isnan(agreement):
        raise ValueError(_undefined("scores that were learnt", gold))
    figures = {
        "devpearson": found.dev,
        "pearson": agreement,
        "spearman": spearman(found.scores, gold),
        "mse": mean_squared_error(found.scores, gold),
        "yhat": found.scores,
        "ndev": len(numbers["dev"]),
        "ntest": len(gold),
    }
    intervals = {
        "pearson": bootstrap_interval(found.scores, gold, "pearson", **options),
        "spearman": bootstrap_interval(found.scores, gold, "spearman", **options),
        "mse": bootstrap_mean((found.scores - gold) ** 2, **options),
    }
    details = {
        "scored": "learnt",
        "protocol": protocol.name,
        "penalties": (found.chosen,),
        **_solved(protocol.classifier, found.gradient),
        **found.details,
    }
    judged = Judged("test", np.arange(len(gold)), found.scores, gold)
    return TaskResult(encoded.task.name, figures, intervals, {"test": judged}, details)


def _similarity(
    encoded: Encoded, protocol: Protocol, options: dict[str, Any], _: Progress | None
) -> TaskResult:
    task, splits = encoded.task, encoded.task.splits
    figures: dict[str, Any] = {}
    intervals: dict[str, Interval] = {}
    judged: dict[str, Judged] = {}
    for name, places in encoded.by_split().items():
        split = splits[name]
        first, second = (np.ascontiguousarray(encoded.rows[side]) for side in places)
        scores, gold = _scored(protocol, first, second), np.asarray(split.labels, dtype=np.float64)
        judged[name] = Judged(name, np.arange(len(gold)), scores, gold)
        figures[name], found = _agreement(scores, gold, options)
        intervals |= {f"{name}.{key}": value for key, value in found.items()}
    undefined = [name for name in splits if np.isnan(figures[name]["pearson"][0])]
    if undefined and (len(undefined) == len(splits) or not task.kind.subsets):
        what = "cosines" if protocol.similarity == "cosine" else "similarities"
        raise ValueError(_undefined(what, judged[undefined[0]].gold))
    for name in undefined:
        figures[name] |= dict.fromkeys(CORRELATIONS, (0.0, 1.0))
    if task.kind.subsets:
        sizes = [figures[name]["nsamples"] for name in splits]
        predicted = np.concatenate([one.predicted for one in judged.values()])
        gold = np.concatenate([one.gold for one in judged.values()])
        figures["all"] = {}
        for key, of in CORRELATIONS.items():
            values = [figures[name][key][0] for name in splits]
            figures["all"][key] = {
                "mean": float(np.mean(values)),
                "wmean": float(np.average(values, weights=sizes)),
                "pooled": float(np.nan_to_num(of(predicted, gold))),
            }
            intervals[f"all.{key}.pooled"] = bootstrap_interval(predicted, gold, key, **options)
            pairs = [(one.predicted, one.gold) for one in judged.values()]
            drawn = resampled_in_parts(pairs, key, options["resamples"], SEED)
            for kind, weights in (("mean", None), ("wmean", sizes)):
                means = np.average(drawn, axis=0, weights=weights)
                intervals[f"all.{key}.{kind}"] = percentile_interval(means, options["confidence"])
    details: dict[str, Any] = {"scored": protocol.scored}
    if undefined:
        details["undefined"] = undefined
    return TaskResult(task.name, figures, intervals, judged, details)


def _scored(protocol: Protocol, first: Rows, second: Rows) -> Scores:
    """How near the rows of each pair are."""
    if protocol.similarity == "cosine":
        return cosine_of_pairs(first, second)
    return values_of("similarity", [protocol.similarity(u, v) for u, v in zip(first, second, strict=True)])


def _undefined(what: str, gold: Scores) -> str:
    """Why a correlation does not exist."""
    if len(gold) < 2:
        return f"there {'is one pair' if len(gold) else 'are no pairs'}: correlations need two"
    alike = "scores that are right" if (gold == gold[0]).all() else what
    return f"all {alike} are equal: there is no correlation"


def _groups(encoded: Encoded, _protocol: Protocol, options: dict[str, Any], _: Progress | None) -> TaskResult:
    """The paraphrase metrics: shares in percent, and the index."""
    task = encoded.task
    ((name, (places,)),) = encoded.by_split().items()
    each = np.ascontiguousarray(encoded.rows[places])
    groups = np.asarray(task.splits[name].labels, dtype=np.int64)
    found = {
        "cl_one": cluster_classification(each, groups, "one", **options),
        "cl_half": cluster_classification(each, groups, "half", **options),
        "nn_cosine": nearest_neighbours(each, groups, "cosine", **options),
        "nn_l2": nearest_neighbours(each, groups, "l2", **options),
    }
    index = inverse_davies_bouldin(each, groups, **options)
    figures: dict[str, Any] = {key: 100 * one.value for key, one in found.items()} | {"idb": index.value}
    figures |= {"ngroups": len(task.classes), "nsamples": len(groups)}
    intervals = {key: Interval(100 * one.interval.low, 100 * one.interval.high) for key, one in found.items()}
    intervals["idb"] = index.interval
    deviations = {key: 100 * found[key].deviation for key in ("cl_one", "cl_half")}
    nearest = found["nn_cosine"].predicted
    assert nearest is not None
    judged = Judged(name, np.arange(len(groups)), nearest, groups)
    return TaskResult(task.name, figures, intervals, {name: judged}, {"deviations": deviations})


def _retrieval(
    encoded: Encoded, protocol: Protocol, options: dict[str, Any], on_progress: Progress | None
) -> TaskResult:
    splits = encoded.task.splits
    captions = {name: sides[0] for name, sides in encoded.by_split().items()}
    found = retrieve(protocol.ranking, encoded.rows, captions, splits, **options, on_progress=on_progress)
    figures: dict[str, Any] = {
        "devacc": found.dev,
        "acc": [tuple(one) for one in found.recalls.values()],
        "ndev": len(captions["dev"]),
        "ntest": len(captions["test"]),
    }
    # The same figures by name, for tables.
    figures |= {direction: one._asdict() for direction, one in found.recalls.items()}
    details = {"protocol": protocol.name, "epochs": found.epochs, "ranks": found.ranks}
    gold = np.asarray(splits["test"].labels, dtype=np.int64)
    judged = Judged("test", np.arange(len(gold)), found.first, gold)
    return TaskResult(encoded.task.name, figures, found.intervals, {"test": judged}, details)


_JUDGES: dict[str, Callable[[Encoded, Protocol, dict[str, Any], Progress | None], TaskResult]] = {
    "classification": _classification,
    "relatedness": _relatedness,
    "similarity": _similarity,
    "groups": _groups,
    "retrieval": _retrieval,
}


def _agreement(
    cosines: Scores, gold: Scores, options: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Interval]]:
    """Correlations with their p-values, as SciPy gives them: not a number where they are undefined."""
    law = require("scipy.stats", "eval").t
    figures: dict[str, Any] = {}
    intervals: dict[str, Interval] = {}
    for key, of in CORRELATIONS.items():
        r = of(cosines, gold)
        degrees = len(gold) - 2
        if np.isnan(r) or degrees < 1:  # two pairs lie on a line, whatever they are
            figures[key] = (r, 1.0)
            continue
        t = abs(r) * np.sqrt(degrees / max((1 - r) * (1 + r), 1e-300))
        figures[key] = (r, 2 * float(law.sf(t, degrees)))
        intervals[key] = bootstrap_interval(cosines, gold, key, **options)
    figures["nsamples"] = len(gold)
    return figures, intervals
