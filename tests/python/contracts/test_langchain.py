"""LangChain's test suite with the adapter of docs/encoders.md; `make test-contracts` installs it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sentencode as se

pytest.importorskip("langchain_tests")
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_tests.integration_tests import EmbeddingsIntegrationTests
from langchain_tests.unit_tests import EmbeddingsUnitTests


def adapter():
    """The class that the page shows."""
    page = (Path(__file__).parents[3] / "docs" / "encoders.md").read_text(encoding="utf-8")
    code = re.search(r"^class SentencodeEmbeddings.*?(?=^\S+ =)", page, re.MULTILINE | re.DOTALL)
    names = {"Embeddings": Embeddings}
    exec(code[0], names)
    return names["SentencodeEmbeddings"]


Sentencode = adapter()


class TestUnit(EmbeddingsUnitTests):
    @property
    def embeddings_class(self):
        return Sentencode

    @property
    def embedding_model_params(self):
        return {"encoder": se.Average(se.WordVectors.default())}


class TestIntegration(EmbeddingsIntegrationTests):
    embeddings_class = TestUnit.embeddings_class
    embedding_model_params = TestUnit.embedding_model_params


def test_a_vector_store():
    store = InMemoryVectorStore(Sentencode(se.Average(se.WordVectors.default())))
    store.add_texts(["a ship at sea", "a dog barked", "she wept"])
    assert store.similarity_search("the vessel sank", k=1)[0].page_content == "a ship at sea"
