"""Students of a teacher: what `WordVectors.distill` does and tells, and teachers by their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .distillation import Student, distill, teacher_key, teacher_rows
from .saved import load

__all__ = ["Student", "distill", "teacher_key", "teacher_named", "teacher_rows"]


def teacher_named(name: str, *, bfloat16: bool = False) -> Any:
    """A saved encoder, or a model of sentence-transformers, by its folder or name.

    Args:
        name: Where it is.
        bfloat16: Whether a model of sentence-transformers shall compute in bfloat16.

    Raises:
        ImportError: There is no such file, and sentence-transformers is not installed.
    """
    path = Path(name)
    if path.is_file():
        if bfloat16:
            raise ValueError(
                f"{name}: bfloat16 is for models of sentence-transformers, not for saved encoders"
            )
        return load(path)
    try:
        from sentence_transformers import SentenceTransformer
    except ModuleNotFoundError:
        raise ImportError(
            f"{name}: there is no such file, and models of sentence-transformers need pip install "
            "sentence-transformers"
        ) from None
    model = SentenceTransformer(name)
    return model.bfloat16() if bfloat16 else model
