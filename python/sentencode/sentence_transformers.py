"""Encoders as modules of sentence-transformers, whose losses can train layers on top of them."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from .checks import check_independent
from .files import without_link

__all__ = ["model"]

_FILE = "encoder.sentencode"


def model(encoder: Any, *layers: Any) -> Any:
    """Make an encoder the first module of a `sentence_transformers.SentenceTransformer`.

    The encoder is not trained, only the layers after it, such as
    `sentence_transformers.sentence_transformer.modules.Dense`.

    Evaluators of sentence-transformers take encoders directly.

    Args:
        encoder: A fitted encoder.
        *layers: Further modules of sentence-transformers, which read and write "sentence_embedding".

    Returns:
        The model. `sentence_transformers.SentenceTransformer(path, trust_remote_code=True)` loads a saved
        one, if Sentencode is installed.

    Raises:
        ImportError: sentence-transformers is not installed.
        NotFittedError: The encoder is not fitted.
        ValueError: Its embeddings depend on the other sentences of a call.

    Example:
        >>> import sentencode as se
        >>> sif = se.SIF(se.WordVectors.default()).fit(["a ship", "the sea"])
        >>> from sentence_transformers.sentence_transformer.modules import Dense  # doctest: +SKIP
        >>> model = se.sentence_transformers.model(sif, Dense(sif.dim, 64))  # doctest: +SKIP
    """
    encoder._check_fitted()
    _import()
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(modules=[_module_class()(encoder), *layers], device="cpu")


def __getattr__(name: str) -> Any:
    if name == "EncoderModule":  # the name in saved models
        _import()
        return _module_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _import() -> None:
    try:
        import sentence_transformers.base.modules  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "sentencode.sentence_transformers needs sentence-transformers 6 or later "
            f"(pip install 'sentence-transformers>=6'): {error}"
        ) from None


@functools.cache
def _module_class() -> Any:
    import torch
    from sentence_transformers.base.modules import InputModule

    class EncoderModule(InputModule):  # type: ignore[misc,unused-ignore]
        """Module that embeds texts with an encoder."""

        save_in_root = False

        def __init__(self, encoder: Any) -> None:
            super().__init__()
            check_independent("sentence_transformers", encoder)
            self.encoder = encoder

        def preprocess(self, inputs: Any, prompt: str | None = None, **others: Any) -> dict[str, Any]:
            # Texts are embedded here: `forward` receives tensors only.
            texts = self._prepend_prompt(inputs, prompt) if prompt else list(inputs)
            return {"sentence_embedding": torch.from_numpy(self.encoder.encode(texts))}

        def forward(self, features: dict[str, Any], **others: Any) -> dict[str, Any]:
            return features

        def get_embedding_dimension(self) -> int:
            return int(self.encoder.dim)

        get_sentence_embedding_dimension = get_embedding_dimension

        def save(self, output_path: str, *args: Any, **others: Any) -> None:
            self.encoder.save(without_link(Path(output_path) / _FILE))

        @classmethod
        def load(cls, model_name_or_path: str, subfolder: str = "", **others: Any) -> Any:
            from .saved import load

            known = ("token", "cache_folder", "revision", "local_files_only")
            options = {name: others[name] for name in known if name in others}
            folder = cls.load_dir_path(model_name_or_path, subfolder=subfolder, **options)
            return cls(load(Path(folder) / _FILE))

    EncoderModule.__qualname__ = "EncoderModule"
    return EncoderModule


def __dir__() -> list[str]:
    return sorted(__all__)
