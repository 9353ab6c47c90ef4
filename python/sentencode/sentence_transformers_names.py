"""Names of sentence-transformers' models, so that an encoder can replace one."""

from __future__ import annotations

from typing import Any

from .estimator import Estimator

__all__ = ["NoModelCard", "SentenceTransformersNames"]


class SentenceTransformersNames(Estimator):
    """Attributes and methods of `SentenceTransformer`, in terms of `encode`, `dim` and `fingerprint`."""

    device: Any = "cpu"
    """Device of the embeddings; sentence-transformers' functions move their tensors there."""

    @property
    def similarity_fn_name(self) -> str:
        """The measure of `similarity`: "cosine"."""
        return "cosine"

    @property
    def model_card_data(self) -> NoModelCard:
        """Ignores what evaluators of sentence-transformers write to a model card."""
        return NoModelCard(self)

    def eval(self) -> Any:
        """Returns the encoder itself, which has no training mode."""
        return self

    def get_embedding_dimension(self: Any) -> int:
        """Dimensions of an embedding."""
        return int(self.dim)

    def get_sentence_embedding_dimension(self: Any) -> int:
        """Dimensions of an embedding (the old name)."""
        return int(self.dim)

    def encode_query(self: Any, sentences: Any, *args: Any, **options: Any) -> Any:
        """The same as `encode`, which has no prompts for queries."""
        return self.encode(sentences, *args, **options)

    def encode_document(self: Any, sentences: Any, *args: Any, **options: Any) -> Any:
        """The same as `encode`, which has no prompts for documents."""
        return self.encode(sentences, *args, **options)


class NoModelCard:
    """In place of a model card of sentence-transformers."""

    def __init__(self, encoder: Any) -> None:
        self._encoder = encoder

    @property
    def base_model(self) -> str:
        """The encoder's fingerprint, which identifies it in caches of embeddings."""
        return str(self._encoder.fingerprint())

    def set_evaluation_metrics(self, *args: Any, **options: Any) -> None:
        """Does nothing."""
