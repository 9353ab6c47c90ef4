"""LangChain's test suite with the class of examples/; `make test-contracts` installs it."""

from __future__ import annotations

import pytest

import sentencode as se

pytest.importorskip("langchain_tests")
from examples_of import example
from langchain_tests.integration_tests import EmbeddingsIntegrationTests
from langchain_tests.unit_tests import EmbeddingsUnitTests

Sentencode = example("langchain_embeddings").SentencodeEmbeddings


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
