"""Our models on the mock tasks of mteb; `make test-contracts` installs it."""

from __future__ import annotations

import numpy as np
import pytest

import sentencode as se
from sentencode.evaluation import Report, TaskResult
from sentencode.evaluation.metrics.results import SplitPredictions

mteb = pytest.importorskip("mteb")
from mteb.models.models_protocols import EncoderProtocol


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("exported", [False, True])
def test_mock_tasks(exported, tmp_path):
    encoder = se.Average(se.WordVectors.default())
    if exported:
        encoder.export(tmp_path / "average")
        encoder = se.load(tmp_path / "average")
    model = se.mteb.model(encoder, name="me/average")
    assert isinstance(model, EncoderProtocol)
    results = mteb.mock_run(model)
    text_results = {name: result for name, result in results.items() if result is not None}
    failed = {name: result for name, result in text_results.items() if hasattr(result, "exception")}
    assert not failed
    kinds = (
        "STS",
        "Classification",
        "Clustering",
        "PairClassification",
        "Reranking",
        "Retrieval",
        "Summarization",
    )
    assert {f"Mock{kind}Task" for kind in kinds} <= set(text_results)


def test_results(tmp_path):
    result = TaskResult("STSBenchmarkCosine", {"test": {"pearson": (0.9, 0.0), "spearman": (0.8, 0.0)}})
    scores = np.array([0.1, 0.3, 0.2]), np.array([1.0, 5.0, 4.0])
    result.predictions["test"] = SplitPredictions("test", np.arange(3), *scores)
    (path,) = Report("mine", {"STSBenchmarkCosine": result}).to_mteb(tmp_path, "me/mine", "1")
    read = mteb.results.TaskResult.from_disk(path)
    read.validate_and_filter_scores()
    assert read.task_name == "STSBenchmark"
    assert read.get_score() == pytest.approx(1.0)
