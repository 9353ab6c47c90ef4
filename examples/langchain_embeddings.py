"""LangChain's interface of embeddings, and a search: python examples/langchain_embeddings.py.

Needs langchain-core. tests/python/contracts runs LangChain's own test suite on the class.
"""

from __future__ import annotations

from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

import sentencode as se


class SentencodeEmbeddings(Embeddings):
    """Embeddings of an encoder for LangChain."""

    def __init__(self, encoder: Any) -> None:
        self.encoder = encoder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embeddings of texts that are searched."""
        return self.encoder.encode_document(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        """Embedding of a query."""
        return self.encoder.encode_query(text).tolist()


def main() -> None:
    """Fills a store and searches it."""
    store = InMemoryVectorStore(SentencodeEmbeddings(se.Average(se.WordVectors.default())))
    store.add_texts(["A ship was lost in the storm.", "A dog barked.", "She wept."])
    (hit,) = store.similarity_search("The vessel sank.", k=1)
    print(hit.page_content)


if __name__ == "__main__":
    main()
