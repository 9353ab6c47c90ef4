"""Encoders as models of mteb, versions 1 and 2, without importing it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy.typing as npt

from .checks import check_independent
from .search import similarity, similarity_pairwise

__all__ = ["Model", "model"]


def model(encoder: Any, name: str | None = None, revision: str | None = None) -> Model:
    """Wrap an encoder as a model of mteb, for versions 1 and 2.

    Args:
        encoder: A fitted encoder.
        name: Name in mteb's results, as "organisation/model". None: "sentencode/" and the encoder's class.
        revision: Revision of the model; mteb reuses results of the same name and revision. None: the
            encoder's fingerprint, so that different encoders do not share results.

    Returns:
        A model for `mteb.evaluate(model, tasks)`, or `MTEB(tasks).run(model)` in version 1.

    Raises:
        NotFittedError: The encoder is not fitted.
        ValueError: Its embeddings depend on the sentences that are encoded together.

    Example:
        >>> import numpy as np, sentencode as se
        >>> vectors = se.WordVectors.from_array(["cat", "dog"], np.eye(2, dtype=np.float32))
        >>> model = se.mteb.model(se.Average(vectors), name="me/average")
        >>> batches = [{"text": ["cat", "cat dog"]}, {"text": ["dog"]}]    # as mteb's DataLoader gives them
        >>> model.encode(batches, task_metadata=None, hf_split="test", hf_subset="default").shape
        (3, 2)
    """
    if getattr(encoder, "fitted", True) is False:
        encoder._check_fitted()
    check_independent("mteb.model", encoder)
    return Model(encoder, name or f"sentencode/{type(encoder).__name__}", revision)


class Model:
    """An encoder with mteb's interface. See `model`."""

    def __init__(self, encoder: Any, name: str, revision: str | None = None) -> None:
        self.encoder = encoder
        self.name = name
        self.revision = revision or (
            encoder.fingerprint()[:12] if hasattr(encoder, "fingerprint") else "unknown"
        )

    def encode(self, inputs: Any, **options: Any) -> npt.NDArray[Any]:
        """Encode texts or batches of texts.

        Args:
            inputs: Version 2: an iterable of batches, each a dictionary with a list of texts under "text".
                Version 1: the texts.
            **options: `batch_size`, `show_progress_bar`, `normalize_embeddings` and `precision` are passed
                to the encoder; others, such as the task and prompts, are ignored.

        Returns:
            Embeddings, float32 [n, dim], or float16 with precision="float16".

        Raises:
            ValueError: A batch has no texts (the task is one of images or audio), or mteb cannot compare
                embeddings in the precision, which it records with the result.
        """
        names = ("batch_size", "show_progress_bar", "normalize_embeddings", "precision")
        passed = {name: options[name] for name in names if options.get(name) is not None}
        if passed.get("precision", "float32") not in ("float32", "float16"):  # mteb compares numbers
            raise ValueError(f"precision must be 'float32' or 'float16', got {passed['precision']!r}")
        embeddings: npt.NDArray[Any] = self.encoder.encode(_texts(inputs), **passed)
        return embeddings

    def similarity(self, a: Any, b: Any) -> Any:
        """Cosine of every embedding of `a` with every one of `b`, as a tensor."""
        return _tensor(similarity(a, b))

    def similarity_pairwise(self, a: Any, b: Any) -> Any:
        """Cosine of each row of `a` with the same row of `b`, as a tensor."""
        return _tensor(similarity_pairwise(a, b))

    @property
    def mteb_model_meta(self) -> Any:
        """Metadata of mteb's results: name, revision, dimension, similarity."""
        from mteb.models.model_meta import (  # type: ignore[import-not-found,unused-ignore]
            ModelMeta,
            ScoringFunction,
        )

        return ModelMeta.create_empty(
            {
                "name": self.name,
                "revision": self.revision,
                "embed_dim": int(self.encoder.dim),
                "framework": ["NumPy"],
                "similarity_fn_name": ScoringFunction.COSINE,
                "use_instructions": False,
            }
        )

    def __repr__(self) -> str:
        return f"Model({self.encoder!r}, name={self.name!r}, revision={self.revision!r})"


def _tensor(values: Any) -> Any:
    """A tensor, if mteb has loaded torch: it calls `float` on results [1, 1], which NumPy refuses."""
    torch = sys.modules.get("torch")
    return values if torch is None else torch.as_tensor(values)


def _texts(inputs: Any) -> list[Any]:
    if isinstance(inputs, str) or not isinstance(inputs, Iterable):
        raise TypeError(f"encode: expected texts or batches of them, got a {type(inputs).__name__}")
    texts: list[Any] = []
    for item in inputs:
        if not isinstance(item, Mapping):
            texts.append(item)
        elif "text" in item:
            texts.extend([item["text"]] if isinstance(item["text"], str) else item["text"])
        else:
            raise ValueError(f"encode: a batch has no 'text', only {sorted(item)}: is this a task of texts?")
    return texts


def __dir__() -> list[str]:
    return sorted(__all__)
