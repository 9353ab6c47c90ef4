"""mteb's two protocols, spoken by stubs of it."""

from __future__ import annotations

import sys
import types
from enum import Enum
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pytest

import sentencode as se

VECTORS = se.WordVectors.from_array(["cat", "dog", "sun"], np.eye(3, dtype=np.float32))
TEXTS = ["cat", "cat dog", "", "sun sun dog"]


@runtime_checkable
class Protocol2(Protocol):
    """What mteb 2 asks of an encoder: it checks that these names are there."""

    def encode(
        self, inputs: Any, *, task_metadata: Any, hf_split: str, hf_subset: str, **kwargs: Any
    ) -> Any: ...
    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any: ...
    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any: ...
    @property
    def mteb_model_meta(self) -> Any: ...


@pytest.fixture
def stub_of_mteb(monkeypatch):
    class Meta(dict):
        @classmethod
        def create_empty(cls, overwrites):
            return cls(name="no_name", revision="no_revision") | overwrites

    meta = types.ModuleType("mteb.models.model_meta")
    meta.ModelMeta = Meta
    meta.ScoringFunction = Enum("ScoringFunction", {"COSINE": "cosine"})
    for name in ("mteb", "mteb.models"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "mteb.models.model_meta", meta)


@pytest.fixture
def model():
    return se.mteb.model(se.Average(VECTORS), name="me/average")


def test_version_2(model, stub_of_mteb):
    assert isinstance(model, Protocol2)
    batches = [{"text": TEXTS[:3], "id": [1, 2, 3]}, {"text": TEXTS[3:]}]
    rows = model.encode(
        batches,
        task_metadata=object(),
        hf_split="test",
        hf_subset="default",
        prompt_type=None,
        batch_size=2,
        show_progress_bar=False,
    )
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows, se.Average(VECTORS).encode(TEXTS))
    assert model.similarity(rows[:2], rows).shape == (2, 4)
    np.testing.assert_allclose(model.similarity_pairwise(rows, rows), [1, 1, 0, 1], atol=1e-6)


def test_meta(model, stub_of_mteb):
    meta = model.mteb_model_meta
    assert meta["name"] == "me/average"
    assert meta["embed_dim"] == 3
    assert meta["similarity_fn_name"].value == "cosine"


def test_version_1(model):
    rows = model.encode(TEXTS, task_name="STS12", prompt_type="query", batch_size=3)
    np.testing.assert_array_equal(rows, se.Average(VECTORS).encode(TEXTS))


def test_precision(model):
    # mteb files results under the precision that was asked for: it must be what they were made with.
    rows = model.encode([{"text": TEXTS}], precision="float16")
    assert rows.dtype == np.float16
    np.testing.assert_allclose(model.similarity_pairwise(rows, rows), [1, 1, 0, 1], atol=1e-3)
    with pytest.raises(ValueError, match="precision must be 'float32' or 'float16', got 'int8'"):
        model.encode([{"text": TEXTS}], precision="int8")


def test_results_of_different_encoders_are_separate():
    def revision(encoder):
        return se.mteb.model(encoder).revision

    assert revision(se.Average(VECTORS)) == revision(se.Average(VECTORS))
    assert revision(se.Average(VECTORS)) != revision(se.Average(VECTORS, a=1e-3))
    assert revision(se.SIF(VECTORS).fit(TEXTS)) != revision(se.SIF(VECTORS).fit(TEXTS[:2]))
    assert se.mteb.model(se.Average(VECTORS)).name == "sentencode/Average"


def test_tasks_without_text(model):
    with pytest.raises(ValueError, match=r"no 'text', only \['image'\]"):
        model.encode([{"image": [1]}])
    with pytest.raises(TypeError, match="got a str"):
        model.encode("cat")


def test_an_unfitted_encoder():
    with pytest.raises(se.NotFittedError):
        se.mteb.model(se.SIF(VECTORS))
