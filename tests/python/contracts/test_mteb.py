"""Our models on the mock tasks of mteb; `make test-contracts` installs it."""

from __future__ import annotations

import pytest

import sentencode as se

mteb = pytest.importorskip("mteb")
from mteb.models.models_protocols import EncoderProtocol


@pytest.mark.filterwarnings("ignore")
def test_mock_tasks():
    model = se.mteb.model(se.Average(se.WordVectors.default()), name="me/average")
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
