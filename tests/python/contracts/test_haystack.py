"""The components of examples/haystack_embedders.py; `make test-contracts` installs Haystack."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import sentencode as se

haystack = pytest.importorskip("haystack")
from examples_of import example


@pytest.fixture(scope="module")
def components():
    module = example("haystack_embedders")
    sys.modules["haystack_embedders"] = module  # from where saved pipelines import
    yield module
    del sys.modules["haystack_embedders"]


@pytest.fixture
def model(tmp_path):
    path = str(tmp_path / "average.sentencode")
    se.Average(se.WordVectors.default()).save(path)
    return path


def test_embeddings_are_those_of_encode(components, model):
    encoder = se.load(model)
    texts = ["The ship sank.", None, "She smiled."]
    documents = [haystack.Document(content=text, meta={"i": i}) for i, text in enumerate(texts)]
    embedder = components.SentencodeDocumentEmbedder(model)
    embedded = embedder.run(documents)["documents"]
    np.testing.assert_array_equal(
        np.float32([d.embedding for d in embedded]), encoder.encode(texts, missing="zero")
    )
    assert [(d.id, d.content, d.meta) for d in embedded] == [(d.id, d.content, d.meta) for d in documents]
    assert all(document.embedding is None for document in documents)
    assert embedder.run([]) == {"documents": []}
    query = components.SentencodeTextEmbedder(model)
    assert query.run(texts[0])["embedding"] == encoder.encode(texts[0]).tolist()


def test_pipelines_can_be_saved(components, model):
    pipeline = haystack.Pipeline()
    pipeline.add_component("query", components.SentencodeTextEmbedder(model))
    text = pipeline.dumps()
    assert model in text
    again = haystack.Pipeline.loads(text, allowed_modules=["haystack_embedders"])
    inputs = {"query": {"text": "The ship sank."}}
    assert again.run(inputs) == pipeline.run(inputs)
