"""Haystack's embedders of texts and documents, and a search: python examples/haystack_embedders.py.

Needs haystack-ai.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from haystack import Document, Pipeline, component
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

import sentencode as se


class Model:
    """A saved encoder that is loaded when it is needed, so that pipelines can be saved with its path."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.encoder: Any = None

    def warm_up(self) -> None:
        """Loads the encoder."""
        if self.encoder is None:
            self.encoder = se.load(self.model)


@component
class SentencodeTextEmbedder(Model):
    """Embeds a query."""

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        """The embedding of a text."""
        self.warm_up()
        return {"embedding": self.encoder.encode_query(text).tolist()}


@component
class SentencodeDocumentEmbedder(Model):
    """Embeds documents."""

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, Any]:
        """The documents with embeddings; those without text have one of zeros."""
        self.warm_up()
        rows = self.encoder.encode_document([document.content or "" for document in documents]).tolist()
        return {"documents": [replace(d, embedding=row) for d, row in zip(documents, rows, strict=True)]}


def main() -> None:
    """Fills a store and searches it."""
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder, "average.sentencode"))
        se.Average(se.WordVectors.default()).save(model)
        store = InMemoryDocumentStore(embedding_similarity_function="cosine")
        texts = ["A ship was lost in the storm.", "A dog barked.", "She wept."]
        documents = SentencodeDocumentEmbedder(model).run([Document(content=text) for text in texts])
        store.write_documents(documents["documents"])
        search = Pipeline()
        search.add_component("embedder", SentencodeTextEmbedder(model))
        search.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=1))
        search.connect("embedder.embedding", "retriever.query_embedding")
        (hit,) = search.run({"embedder": {"text": "The vessel sank."}})["retriever"]["documents"]
        print(hit.content)


if __name__ == "__main__":
    main()
