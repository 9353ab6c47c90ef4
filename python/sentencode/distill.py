"""Students of a teacher: what `WordVectors.distill` does and tells, and teachers by their names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .files import as_path
from .saved import load
from .vectors import WordVectors, distillation
from .vectors.distillation import teacher_key, teacher_rows
from .vectors.stages import StageProgress
from .vectors.tables import Storage

_ASK = 10.0  # seconds

__all__ = ["Student", "distill", "teacher_key", "teacher_named", "teacher_rows"]


@dataclass(frozen=True)
class Student:
    """What came of a distillation.

    Attributes:
        vectors: The words' vectors, times the words' weights: `Average(vectors)` is the student.
        penalty: Lambda.
        ridge: How much the map of the words' own rows was held back.
        untold: The share of the teacher's held-out rows, less their mean, that the student does not tell, for
            each lambda that was tried, by 32 columns; empty where lambda was given.
        words_alone: The same of the teacher's own rows of single words, mapped.
        sentences: How many sentences had known words.
        unseen: How many words are in no sentence, and keep the teacher's own row.
        residual: Of the solution, against the right side's length.
        iterations: Of conjugate gradients.
    """

    vectors: WordVectors
    penalty: float
    ridge: float
    untold: dict[float, float]
    words_alone: float | None
    sentences: int
    unseen: int
    residual: float
    iterations: int


def distill(
    teacher: Any,
    sentences: Any,
    words: Iterable[str] | None = None,
    *,
    max_words: int = 60_000,
    max_sentences: int | None = None,
    dim: int | None = None,
    a: float | None = 1e-3,
    penalty: float | None = None,
    ridge: float | None = None,
    tokenizer: Any = "punctuation",
    lowercase: bool = True,
    storage: Storage = "float32",
    cache: Any = True,
    progress: bool | StageProgress | None = None,
) -> Student:
    """What `WordVectors.distill` does, where the arguments are described, and how it went."""
    found = distillation.distill(
        teacher,
        sentences,
        words,
        max_words=max_words,
        max_sentences=max_sentences,
        dim=dim,
        a=a,
        penalty=penalty,
        ridge=ridge,
        tokenizer=tokenizer,
        lowercase=lowercase,
        storage=storage,
        cache=cache,
        progress=progress,
    )
    return Student(WordVectors(found.table), *found[1:])


def teacher_named(name: str, *, bfloat16: bool = False) -> Any:
    """A saved encoder, or a model of sentence-transformers, by its folder or name.

    Args:
        name: Where it is.
        bfloat16: Whether a model of sentence-transformers shall compute in bfloat16.

    Raises:
        ImportError: There is no such file, and sentence-transformers is not installed.
        OSError: The hub of models cannot be reached, and the model is not in its cache.
        ValueError: The name is empty, or the hub has no such model.
    """
    if not name.strip():
        raise ValueError(f"teacher must be a saved encoder, or a model's folder or name, got {name!r}")
    path = as_path(name)
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
    model = SentenceTransformer(name) if path.is_dir() else _downloaded(name, SentenceTransformer)
    return model.bfloat16() if bfloat16 else model


def _downloaded(name: str, load_model: Any) -> Any:
    """A model by its name on the hub, which is asked once whether it has it: its loaders ask for minutes."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

    folder_works = "the folder of a model that was downloaded works, too"
    for full_name in [name] if "/" in name else [name, f"sentence-transformers/{name}"]:
        try:
            HfApi().model_info(full_name, timeout=_ASK)
            break
        except RepositoryNotFoundError:
            continue
        except HFValidationError:  # a path
            raise FileNotFoundError(2, f"there is no such file or folder; {folder_works}", name) from None
        except Exception as unreachable:  # of whichever library the hub's client uses
            try:
                return load_model(name, local_files_only=True)
            except Exception:
                raise OSError(
                    f"{name}: there is no such file or folder, the hub of models cannot be asked for it "
                    f"({unreachable}), and its cache has no such model; {folder_works}"
                ) from unreachable
    else:
        raise ValueError(
            f"{name}: there is no such file or folder, and the hub of models shows none of that name; "
            f"{folder_works}"
        )
    return load_model(name)
