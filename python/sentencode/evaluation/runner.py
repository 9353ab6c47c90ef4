"""Evaluates one encoder on one task."""

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
from .metrics import untrained
from .metrics.baselines import BM25, MajorityClass
from .metrics.classifiers import Classifier, Examples, Indices, Optimum, ScikitLearn
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
from .metrics.results import SplitPredictions, TaskResult
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
from .metrics.validation import cross_validate
from .statistics.seeds import over_runs

__all__ = ["Encoded", "encode_task", "part_of", "run_task", "score_task", "splits_in_order"]

Progress = Callable[[int, int], None]
Scores = NDArray[np.float64]
Embeddings = NDArray[np.float32]


def run_task(task: Task, embedder: Embedder, protocol: Protocol, **options: Any) -> TaskResult:
    """Encode the sentences of a task and score the embeddings: see `encode_task` and `score_task`."""
    encoded = encode_task(task, embedder)
    result = score_task(encoded, protocol, **options)
    result.splits = dict(encoded.task.splits)
    return result


@dataclass(frozen=True, eq=False)
class Encoded:
    """A task and the embeddings of its sentences.

    Attributes:
        task: The task, its examples in the order of folds and batches.
        indices: For each split and side, the index of each sentence in `embeddings`.
        embeddings: Embeddings of the distinct sentences.
        details: Details of the encoding for the result.
        baseline: Replaces the protocol's classifier, or ranks documents, if the encoder is one that does.
    """

    task: Task
    indices: list[Indices]
    embeddings: Embeddings
    details: dict[str, Any] = field(default_factory=dict)
    baseline: MajorityClass | BM25 | None = None

    def by_split(self) -> dict[str, list[Indices]]:
        """Indices of the sentences of each split, by side."""
        splits = self.task.splits
        sides = len(self.indices) // len(splits)
        return {name: self.indices[i * sides : (i + 1) * sides] for i, name in enumerate(splits)}

    def examples(self) -> tuple[Examples, NDArray[Any], dict[str, Indices]]:
        """Examples of all splits, concatenated, without classes; their labels; and indices of each split."""
        splits = self.task.splits
        sides = tuple(np.concatenate(side) for side in zip(*self.by_split().values(), strict=True))
        bounds = np.cumsum([0, *(len(split) for split in splits.values())])
        numbers = {name: np.arange(bounds[i], bounds[i + 1]) for i, name in enumerate(splits)}
        labels = np.concatenate([split.labels for split in splits.values()])
        blank = np.zeros(len(labels), dtype=np.int64)
        return Examples(self.embeddings, sides, self.task.kind.features, blank, 0), labels, numbers


def encode_task(task: Task, embedder: Embedder) -> Encoded:
    """Encode the distinct sentences of a task."""
    begin = time.perf_counter()
    splits = splits_in_order(task)
    sentences, indices = distinct(side for split in splits.values() for side in split.sentences)
    baseline = embedder.encoder if isinstance(embedder.encoder, MajorityClass | BM25) else None
    if baseline is None:
        embeddings = embedder.of_task(task, sentences)
    elif task.kind.question == baseline.question:
        embeddings = baseline.encode(sentences)
    else:
        raise DegenerateEncoderError(f"{embedder.name} {baseline.only}")
    details = {
        "distinct_sentences": len(sentences),
        "seconds_encode": round(time.perf_counter() - begin, 4),
        "unknown_tokens": embedder.unknown(sentences, tokenized=task.kind.tokenized),
        "partial": task.partial,
    }
    return Encoded(replace(task, splits=splits), indices, embeddings, details, baseline)


def check_installed(kind: Kind, protocol: Protocol) -> None:
    """Check, before anything is encoded, that the packages for a task are installed.

    Args:
        kind: Kind of the task.
        protocol: The protocol.
    """
    sklearn = isinstance(protocol.classifier, ScikitLearn) and kind.question == "classification"
    needed = {
        "scipy.stats": kind.question in ("similarity", "relatedness"),
        "sklearn.model_selection": sklearn or kind.validation in ("nested", "folds"),
        "sklearn.cluster": kind.question == "clustering",
        "sklearn.linear_model": kind.question == "few_shot",
        "torch": not sklearn and (kind.validation is not None or kind.question == "retrieval"),
    }
    for module, is_needed in needed.items():
        if is_needed:
            try:
                require(module, "nn" if module == "torch" else "eval")
            except ImportError as missing:
                if module != "torch" or kind.question != "classification":
                    raise
                raise ImportError(
                    f"{missing} for the protocol {protocol.name!r}; 'senteval-sklearn' needs no torch"
                ) from None


def score_task(
    encoded: Encoded,
    protocol: Protocol,
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    on_progress: Progress | None = None,
) -> TaskResult:
    """Score the embeddings of a task.

    Args:
        encoded: The task and its embeddings.
        protocol: The protocol.
        confidence: Confidence level of the intervals.
        resamples: Number of bootstrap resamples.
        on_progress: Called with the number of trained classifiers, and of all.

    Returns:
        The scores, under SentEval's keys, with their intervals.
    """
    begin = time.perf_counter()
    kind, name = encoded.task.kind, encoded.task.name
    if isinstance(encoded.baseline, MajorityClass):
        protocol = replace(protocol, classifier=encoded.baseline, seeds=1)
    options: dict[str, Any] = {"confidence": confidence, "resamples": resamples}
    try:
        seeded = protocol.seeded(kind.question)
        runs = [
            _SCORERS[kind.question](encoded, with_seed, options, part_of(on_progress, i, len(seeded)))
            for i, with_seed in enumerate(seeded)
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
    """Progress of the i-th of several equally long runs."""
    return None if on_progress is None else lambda done, total: on_progress(i * total + done, runs * total)


def splits_in_order(task: Task) -> dict[str, Split]:
    """The examples in the order of results: SentEval's, which determines folds and batches."""
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
    examples, labels, splits = encoded.examples()
    examples = replace(examples, labels=labels, classes=max(len(task.classes), int(labels.max()) + 1))
    classifier = protocol.classifier_for(task.kind)
    validated = cross_validate(
        classifier,
        examples,
        splits,
        validation,
        protocol.folds,
        penalised=task.kind.penalised,
        on_progress=on_progress,
    )
    predictions, gold = validated.predictions, labels[validated.tested]
    # Without splits, all examples are tested; SentEval counts them as dev and as test.
    dev = {"nested": validated.tested, "folds": splits.get("train", ()), "dev": splits.get("dev", ())}
    figures: dict[str, Any] = {
        "devacc": validated.dev_accuracy,
        "acc": validated.accuracy,
        "ndev": len(dev[validation]),
        "ntest": len(gold),
    }
    intervals = {"acc": _percent(bootstrap_mean(predictions == gold, **options))}
    if task.kind.f1:
        figures["f1"] = round(100 * f1(predictions, gold), 2)
        intervals["f1"] = _percent(bootstrap_f1(predictions, gold, **options))
    details = {
        "protocol": protocol.name,
        "penalties": validated.penalties,
        **_gradient(classifier, validated.gradient),
        "majority": validated.majority,
        **validated.details,
    }
    split = "test" if "test" in splits else "all"
    first = min(splits.get(split, validated.tested))
    tested = SplitPredictions(split, validated.tested - first, predictions, gold)
    return TaskResult(task.name, figures, intervals, {split: tested}, details)


def _percent(interval: Interval) -> Interval:
    return Interval(100 * interval.low, 100 * interval.high)


def _gradient(classifier: Classifier, gradient: float) -> dict[str, float]:
    """The largest final gradient, and its tolerance."""
    tolerance = {"tolerance": classifier.tolerance} if isinstance(classifier, Optimum) else {}
    return {"gradient": gradient, **tolerance}


def _relatedness(
    encoded: Encoded, protocol: Protocol, options: dict[str, Any], _: Progress | None
) -> TaskResult:
    examples, labels, splits = encoded.examples()
    related = relate(protocol.classifier, examples, labels, splits)
    scores, gold = related.scores, labels[splits["test"]]
    r = pearson(scores, gold)
    if np.isnan(r):
        raise ValueError(_undefined("predicted scores", gold))
    figures = {
        "devpearson": related.dev_pearson,
        "pearson": r,
        "spearman": spearman(scores, gold),
        "mse": mean_squared_error(scores, gold),
        "yhat": scores,
        "ndev": len(splits["dev"]),
        "ntest": len(gold),
    }
    intervals = {
        "pearson": bootstrap_interval(scores, gold, "pearson", **options),
        "spearman": bootstrap_interval(scores, gold, "spearman", **options),
        "mse": bootstrap_mean((scores - gold) ** 2, **options),
    }
    details = {
        "scored": "learnt",
        "protocol": protocol.name,
        "penalties": (related.penalty,),
        **_gradient(protocol.classifier, related.gradient),
        **related.details,
    }
    predictions = SplitPredictions("test", np.arange(len(gold)), scores, gold)
    return TaskResult(encoded.task.name, figures, intervals, {"test": predictions}, details)


def _similarity(
    encoded: Encoded, protocol: Protocol, options: dict[str, Any], _: Progress | None
) -> TaskResult:
    task, splits = encoded.task, encoded.task.splits
    figures: dict[str, Any] = {}
    intervals: dict[str, Interval] = {}
    predictions: dict[str, SplitPredictions] = {}
    for name, sides in encoded.by_split().items():
        first, second = (np.ascontiguousarray(encoded.embeddings[side]) for side in sides)
        gold = np.asarray(splits[name].labels, dtype=np.float64)
        scores = _similarities(protocol, first, second)
        predictions[name] = SplitPredictions(name, np.arange(len(gold)), scores, gold)
        figures[name], split_intervals = _correlations(scores, gold, options)
        intervals |= {f"{name}.{key}": interval for key, interval in split_intervals.items()}
    undefined = [name for name in splits if np.isnan(figures[name]["pearson"][0])]
    if undefined and (len(undefined) == len(splits) or not task.kind.subsets):
        what = "cosines" if protocol.similarity == "cosine" else "similarities"
        raise ValueError(_undefined(what, predictions[undefined[0]].gold))
    for name in undefined:
        figures[name] |= dict.fromkeys(CORRELATIONS, (0.0, 1.0))
    if task.kind.subsets:
        sizes = [figures[name]["nsamples"] for name in splits]
        pairs = [(subset.predicted, subset.gold) for subset in predictions.values()]
        predicted, gold = map(np.concatenate, zip(*pairs, strict=True))
        figures["all"] = {}
        for key, correlate in CORRELATIONS.items():
            values = [figures[name][key][0] for name in splits]
            figures["all"][key] = {
                "mean": float(np.mean(values)),
                "wmean": float(np.average(values, weights=sizes)),
                "pooled": float(np.nan_to_num(correlate(predicted, gold))),
            }
            intervals[f"all.{key}.pooled"] = bootstrap_interval(predicted, gold, key, **options)
            resampled = resampled_in_parts(pairs, key, options["resamples"], SEED)
            for kind, weights in (("mean", None), ("wmean", sizes)):
                means = np.average(resampled, axis=0, weights=weights)
                intervals[f"all.{key}.{kind}"] = percentile_interval(means, options["confidence"])
    details: dict[str, Any] = {"scored": protocol.scored}
    if undefined:
        details["undefined"] = undefined
    return TaskResult(task.name, figures, intervals, predictions, details)


def _similarities(protocol: Protocol, first: Embeddings, second: Embeddings) -> Scores:
    if protocol.similarity == "cosine":
        return cosine_of_pairs(first, second)
    return values_of("similarity", [protocol.similarity(u, v) for u, v in zip(first, second, strict=True)])


def _undefined(what: str, gold: Scores) -> str:
    """Why a correlation is undefined."""
    if len(gold) < 2:
        return f"there {'is one pair' if len(gold) else 'are no pairs'}: correlations need two"
    equal = "gold scores" if (gold == gold[0]).all() else what
    return f"all {equal} are equal: the correlation is undefined"


def _groups(encoded: Encoded, _protocol: Protocol, options: dict[str, Any], _: Progress | None) -> TaskResult:
    """The paraphrase metrics: accuracies in percent, and the index."""
    task = encoded.task
    ((name, (indices,)),) = encoded.by_split().items()
    embeddings = np.ascontiguousarray(encoded.embeddings[indices])
    groups = np.asarray(task.splits[name].labels, dtype=np.int64)
    metrics = {
        "cl_one": cluster_classification(embeddings, groups, "one", **options),
        "cl_half": cluster_classification(embeddings, groups, "half", **options),
        "nn_cosine": nearest_neighbours(embeddings, groups, "cosine", **options),
        "nn_l2": nearest_neighbours(embeddings, groups, "l2", **options),
    }
    index = inverse_davies_bouldin(embeddings, groups, **options)
    figures: dict[str, Any] = {key: 100 * metric.value for key, metric in metrics.items()}
    figures |= {"idb": index.value, "ngroups": len(task.classes), "nsamples": len(groups)}
    intervals = {key: _percent(metric.interval) for key, metric in metrics.items()}
    intervals["idb"] = index.interval
    deviations = {key: 100 * metrics[key].deviation for key in ("cl_one", "cl_half")}
    nearest = metrics["nn_cosine"].predicted
    assert nearest is not None
    predictions = SplitPredictions(name, np.arange(len(groups)), nearest, groups)
    return TaskResult(task.name, figures, intervals, {name: predictions}, {"deviations": deviations})


def _retrieval(
    encoded: Encoded, protocol: Protocol, options: dict[str, Any], on_progress: Progress | None
) -> TaskResult:
    splits = encoded.task.splits
    captions = {name: sides[0] for name, sides in encoded.by_split().items()}
    retrieval = retrieve(
        protocol.ranking, encoded.embeddings, captions, splits, **options, on_progress=on_progress
    )
    figures: dict[str, Any] = {
        "devacc": retrieval.dev_recalls,
        "acc": [tuple(recalls) for recalls in retrieval.recalls.values()],
        "ndev": len(captions["dev"]),
        "ntest": len(captions["test"]),
    }
    # The same scores by name, for tables.
    figures |= {direction: recalls._asdict() for direction, recalls in retrieval.recalls.items()}
    details = {"protocol": protocol.name, "epochs": retrieval.epochs, "ranks": retrieval.ranks}
    gold = np.asarray(splits["test"].labels, dtype=np.int64)
    predictions = SplitPredictions("test", np.arange(len(gold)), retrieval.nearest, gold)
    return TaskResult(encoded.task.name, figures, retrieval.intervals, {"test": predictions}, details)


def _duplicates(
    encoded: Encoded, protocol: Protocol, options: dict[str, Any], _: Progress | None
) -> TaskResult:
    ((name, (first, second)),) = encoded.by_split().items()
    gold = np.asarray(encoded.task.splits[name].labels, dtype=np.int64)
    if not 0 < gold.sum() < len(gold) or gold.max() > 1:
        raise ValueError("duplicates need pairs of class 1 and others of class 0")
    scores = _similarities(protocol, encoded.embeddings[first], encoded.embeddings[second])
    resampled = untrained.average_precisions(scores, gold, options["resamples"])
    figures = {"ap": 100 * untrained.average_precision(scores, gold), "nsamples": len(gold)}
    intervals = {"ap": _percent(percentile_interval(resampled, options["confidence"]))}
    predictions = SplitPredictions(name, np.arange(len(gold)), scores, gold.astype(np.float64))
    return TaskResult(encoded.task.name, figures, intervals, {name: predictions})


def _clustering(
    encoded: Encoded, _protocol: Protocol, options: dict[str, Any], _: Progress | None
) -> TaskResult:
    ((name, (indices,)),) = encoded.by_split().items()
    classes = np.asarray(encoded.task.splits[name].labels, dtype=np.int64)
    clusters = untrained.cluster(encoded.embeddings[indices], classes, **options)
    figures = {"v_measure": 100 * clusters.value, "nsamples": len(classes)}
    intervals = {"v_measure": _percent(clusters.interval)}
    details = {"deviations": {"v_measure": 100 * clusters.deviation}}
    return TaskResult(encoded.task.name, figures, intervals, {}, details)


def _neighbours(
    encoded: Encoded, _protocol: Protocol, options: dict[str, Any], _: Progress | None
) -> TaskResult:
    ((name, (indices,)),) = encoded.by_split().items()
    classes = np.asarray(encoded.task.splits[name].labels, dtype=np.int64)
    if len(classes) < 2:
        raise ValueError("neighbours need two sentences")
    predicted = classes[untrained.nearest_other(encoded.embeddings[indices])]
    figures = {"nearest": 100 * float((predicted == classes).mean()), "nsamples": len(classes)}
    intervals = {"nearest": _percent(bootstrap_mean(predicted == classes, **options))}
    predictions = SplitPredictions(name, np.arange(len(classes)), predicted, classes)
    return TaskResult(encoded.task.name, figures, intervals, {name: predictions})


def _few_shot(
    encoded: Encoded, _protocol: Protocol, options: dict[str, Any], _: Progress | None
) -> TaskResult:
    ((name, (indices,)),) = encoded.by_split().items()
    classes = np.asarray(encoded.task.splits[name].labels, dtype=np.int64)
    shots = untrained.few_shot(encoded.embeddings[indices], classes, **options)
    figures = {"few_shot": 100 * shots.value, "nsamples": len(classes)}
    intervals = {"few_shot": _percent(shots.interval)}
    tested = np.flatnonzero(shots.tested)
    predictions = SplitPredictions(name, tested, shots.correct[tested], shots.tested[tested])
    details = {"deviations": {"few_shot": 100 * shots.deviation}}
    return TaskResult(encoded.task.name, figures, intervals, {name: predictions}, details)


def _search(encoded: Encoded, _protocol: Protocol, options: dict[str, Any], _: Progress | None) -> TaskResult:
    splits, sides = encoded.task.splits, encoded.by_split()
    wanted, labels = (np.asarray(splits[name].labels, dtype=np.int64) for name in ("queries", "documents"))
    if missing := set(wanted.tolist()) - set(labels.tolist()):
        first, classes = min(missing), encoded.task.classes
        name = repr(classes[first]) if first < len(classes) else f"label {first}"
        raise ValueError(f"no document is relevant to the queries of {name}")
    if isinstance(encoded.baseline, BM25):
        texts = [splits[name].sentences[0] for name in ("queries", "documents")]
        scores = untrained.hits(
            encoded.baseline.rank(texts[0], texts[1], min(10, len(labels))), wanted, labels
        )
    else:
        queries, documents = (encoded.embeddings[sides[name][0]] for name in ("queries", "documents"))
        scores = untrained.search(queries, documents, wanted, labels)
    figures: dict[str, Any] = {key: 100 * float(values.mean()) for key, values in scores._asdict().items()}
    intervals = {key: _percent(bootstrap_mean(values, **options)) for key, values in scores._asdict().items()}
    figures |= {"nqueries": len(wanted), "ndocuments": len(labels)}
    best = np.ones(len(wanted))
    predictions = SplitPredictions("queries", np.arange(len(wanted)), scores.ndcg10, best)
    return TaskResult(encoded.task.name, figures, intervals, {"queries": predictions})


_SCORERS: dict[str, Callable[[Encoded, Protocol, dict[str, Any], Progress | None], TaskResult]] = {
    "classification": _classification,
    "relatedness": _relatedness,
    "similarity": _similarity,
    "groups": _groups,
    "retrieval": _retrieval,
    "duplicates": _duplicates,
    "clustering": _clustering,
    "neighbours": _neighbours,
    "few_shot": _few_shot,
    "search": _search,
}


def _correlations(
    scores: Scores, gold: Scores, options: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Interval]]:
    """Correlations with SciPy's p-values, and their intervals; NaN where they are undefined."""
    t_distribution = require("scipy.stats", "eval").t
    figures: dict[str, Any] = {}
    intervals: dict[str, Interval] = {}
    for key, correlate in CORRELATIONS.items():
        r = correlate(scores, gold)
        degrees = len(gold) - 2
        if np.isnan(r) or degrees < 1:  # two points are always on a line
            figures[key] = (r, 1.0)
            continue
        t = abs(r) * np.sqrt(degrees / max((1 - r) * (1 + r), 1e-300))
        figures[key] = (r, 2 * float(t_distribution.sf(t, degrees)))
        intervals[key] = bootstrap_interval(scores, gold, key, **options)
    figures["nsamples"] = len(gold)
    return figures, intervals
