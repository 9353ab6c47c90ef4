"""Reports in the format of mteb's results: a folder for a model, a file for each task."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import FormatError
from ...files import as_path, make_folder, read_json, whole_file
from ..metrics.results import TaskResult, plain
from ..metrics.scores import pearson, spearman

__all__ = ["MTEB_TASKS", "read_mteb", "write_mteb"]

_LOG = logging.getLogger("sentencode")
# mteb's task -> ours. mteb computes one correlation over all pairs: of STSBenchmark's test set, of all sets
# of SICK, of all subsets of a year.
_TASKS = {"STSBenchmark": "STSBenchmarkCosine", "SICK-R": "SICKCosine"} | {
    year: year for year in ("STS12", "STS13", "STS14", "STS15", "STS16")
}
MTEB_TASKS = tuple(_TASKS.values())
_SUBSET = {"hf_subset": "default", "languages": ["eng-Latn"]}


def write_mteb(
    results: Mapping[str, TaskResult], folder: str | os.PathLike[str], name: str, revision: str
) -> list[Path]:
    """Write the results that mteb defines as we do; others are left out, with a warning.

    The sentences of STSBenchmark and of the STS years are those of SentEval's files: tokenized, and partly
    lower-cased. `sentencode.mteb.model` evaluates by mteb itself, on its files.

    Args:
        results: Results by task.
        folder: Folder for the results of all models.
        name: Name of the model, as in "organisation/model".
        revision: Its revision.

    Returns:
        The files of the tasks.

    Raises:
        ValueError: There is no such result.
    """
    folder = as_path(folder)
    files = {
        theirs: _scores(results[ours])
        for theirs, ours in _TASKS.items()
        if ours in results and _is_whole(results[ours])
    }
    if not files:
        raise ValueError(
            f"no result is one of mteb's: it has the tasks {', '.join(_TASKS.values())}, with all "
            f"examples and compared by cosine; got {', '.join(results) or 'none'}"
        )
    if left_out := set(results) - {_TASKS[theirs] for theirs in files}:
        _LOG.warning("mteb does not define these tasks as we do: %s", ", ".join(sorted(left_out)))
    target = make_folder(folder / name.replace("/", "__").replace(" ", "_") / revision)
    _write(target / "model_meta.json", {"name": name, "revision": revision})
    for theirs, scores in files.items():
        details = results[_TASKS[theirs]].details
        content = {
            "dataset_revision": str(details.get("data", "unknown")),
            "task_name": theirs,
            "mteb_version": None,
            "scores": {"test": [scores | _SUBSET]},
            "evaluation_time": sum(details.get(f"seconds_{part}", 0.0) for part in ("encode", "judge")),
            "kg_co2_emissions": None,
        }
        _write(target / f"{theirs}.json", content)
    return [target / f"{theirs}.json" for theirs in files]


def read_mteb(folder: str | os.PathLike[str]) -> tuple[str, dict[str, TaskResult]]:
    """The name of the model, and its results, by our names of tasks.

    Args:
        folder: Folder of one revision of a model, with a JSON file for each task.

    Raises:
        FileNotFoundError: It has no results.
        FormatError: A file is not a result of mteb.
    """
    source = as_path(folder)
    meta = source / "model_meta.json"
    facts = read_json(meta) if meta.is_file() else {}
    if not isinstance(facts, dict):
        raise FormatError(f"{meta} must be an object, got {json.dumps(facts):.40}")
    name = str(facts.get("name") or source.parent.name.replace("__", "/"))
    results = {}
    for path in sorted(source.glob("*.json")):
        if path != meta:
            task, figures = _read(path)
            cosine = {"scored": "cosine"} if task in _TASKS.values() else {}
            results[task] = TaskResult(task, figures, details=cosine)
    if not results:
        raise FileNotFoundError(f"{source} has no results of mteb")
    return name, results


def _is_whole(result: TaskResult) -> bool:
    """Whether it is a cosine task with the predictions of all examples."""
    return result.scored == "cosine" and bool(result.predictions) and not result.details.get("partial")


def _scores(result: TaskResult) -> dict[str, float]:
    parts = list(result.predictions.values())
    if result.task == "STSBenchmarkCosine":
        parts = [result.predictions["test"]]
    predicted, gold = (
        np.concatenate([getattr(part, side) for part in parts]) for side in ("predicted", "gold")
    )
    r, rho = pearson(predicted, gold), spearman(predicted, gold)
    return {"pearson": r, "spearman": rho, "cosine_pearson": r, "cosine_spearman": rho, "main_score": rho}


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    """Our name of a task, and its figures: correlations as `evaluate` has them, or mteb's main score."""
    try:
        content = read_json(path)
        task = content["task_name"]
        splits = content["scores"]
        scores = splits.get("test") or next(iter(splits.values()))
        (first, *more) = [{**one} for one in scores]
        correlations = {} if more else {key: _correlation(first, key) for key in ("pearson", "spearman")}
        values = {key: float(value) for key, value in correlations.items() if value is not None}
        main = 100 * float(np.mean([one["main_score"] for one in (first, *more)]))
    except (LookupError, TypeError, ValueError, StopIteration, AttributeError) as error:
        raise FormatError(f"{path} is not a result of mteb: {type(error).__name__}: {error}") from None
    if task in _TASKS and len(values) == 2:
        if task == "STSBenchmark":
            return _TASKS[task], {"test": values}
        return _TASKS[task], {"all": {key: {"pooled": value} for key, value in values.items()}}
    return str(task), {"main_score": main}


def _correlation(scores: Mapping[str, Any], key: str) -> Any:
    """A correlation of cosines; mteb 1.12 has lists of the correlation and its p-value."""
    value = scores.get(f"cosine_{key}", scores.get(key))
    return value[0] if isinstance(value, list) else value


def _write(path: Path, content: Mapping[str, Any]) -> None:
    with whole_file(path) as file:
        file.write((json.dumps(plain(content), indent=2) + "\n").encode())
