"""Distillation with a report of the fit, and teachers by name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import wraps
from typing import Any

from .errors import FormatError
from .files import as_path
from .linear import Average
from .saved import load
from .sentence_transformers_names import NoModelCard
from .vectors import WordVectors, distillation
from .vectors.distillation import teacher_key, teacher_rows

_TIMEOUT = 10.0  # seconds
_HUB_NAME = re.compile(r"(?![0-9a-f]{32,}$)(\w[\w.-]*/)?\w[\w.-]*", re.ASCII)  # of a model; not a hash

__all__ = ["Student", "distill", "hub_name", "teacher_key", "teacher_named", "teacher_rows"]


@dataclass(frozen=True)
class Student(distillation.Student):
    """A distilled encoder, and how well it was fitted.

    Attributes:
        teacher: Name of the teacher, for the model card; None if it is not known. `distillation.Student` has
            the other attributes.
    """

    teacher: str | None = None

    @classmethod
    def of(cls, student: distillation.Student, teacher: str | None) -> Student:
        """The same, with vectors in Python.

        Args:
            student: Result of `distillation.distill`.
            teacher: Name of the teacher, or None.
        """
        return cls(**{**vars(student), "vectors": WordVectors(student.vectors)}, teacher=teacher)

    @property
    def encoder(self) -> Average:
        """The student: the average of its vectors, with its tokenizer."""
        encoder = Average(self.vectors, tokenizer=self.tokenizer)
        encoder._card = self.vectors, self._known()
        return encoder

    def _known(self) -> dict[str, str]:
        """What is known of it, for the model card of `encoder.export`."""
        fitted = f"{self.sentences:,} sentences."
        if self.cosine is not None:
            fitted += (
                f" On others, its embeddings have a mean cosine of {self.cosine:.2f} with the teacher's, "
                "after subtracting their mean."
            )
        return {"sentences": fitted} | ({} if self.teacher is None else {"teacher": self.teacher})


@wraps(distillation.distill)
def distill(teacher: Any, *args: Any, **options: Any) -> Student:
    """`WordVectors.distill`, with word pieces by default, and a report of the fit."""
    student = Student.of(distillation.distill(teacher, *args, **options), hub_name(teacher))
    distillation.say_result(student, options.get("progress"), "student.encoder")
    return student


def hub_name(teacher: Any) -> str | None:
    """Return the name of a model of sentence-transformers that was downloaded; None for another teacher.

    Args:
        teacher: Any teacher.
    """
    card = getattr(teacher, "model_card_data", None)
    if isinstance(card, NoModelCard):  # of an encoder of Sentencode: its base model is a fingerprint
        return None
    name = getattr(card, "base_model", None)
    return name if isinstance(name, str) and _HUB_NAME.fullmatch(name) else None


def teacher_named(name: str, *, bfloat16: bool = False, trust_tokenizer: bool = False) -> Any:
    """Load a saved encoder, or a model of sentence-transformers.

    Args:
        name: Path of a saved encoder; folder of a model, or its name on the Hugging Face Hub.
        bfloat16: Computes in bfloat16; only for models of sentence-transformers.
        trust_tokenizer: As for `sentencode.load`.

    Raises:
        ImportError: There is no such file, and sentence-transformers is not installed.
        OSError: The Hub cannot be reached, and the model is not in the local cache.
        ValueError: The name is empty, or the Hub has no such model.
    """
    if not name.strip():
        raise ValueError(f"teacher must be a saved encoder, or a model's folder or name, got {name!r}")
    path = as_path(name)
    if path.is_file():
        if bfloat16:
            raise ValueError(
                f"{name}: bfloat16 is for models of sentence-transformers, not for saved encoders"
            )
        return load(path, trust_tokenizer=trust_tokenizer)
    found = "there is no such file"
    if path.is_dir() and not bfloat16:
        try:
            return load(path, trust_tokenizer=trust_tokenizer)  # a static model
        except FormatError as error:
            found = str(error).removeprefix(f"{path}: ")
    try:
        from sentence_transformers import SentenceTransformer
    except ModuleNotFoundError:
        raise ImportError(
            f"{name}: {found}, and models of sentence-transformers require pip install sentence-transformers"
        ) from None
    model = SentenceTransformer(name) if path.is_dir() else _download(name, SentenceTransformer)
    return model.bfloat16() if bfloat16 else model


def _download(name: str, load_model: Any) -> Any:
    """Load a model by its name on the Hub. The Hub is queried first, since loaders retry for minutes."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

    hint = "the folder of a downloaded model works, too"
    for full_name in [name] if "/" in name else [name, f"sentence-transformers/{name}"]:
        try:
            HfApi().model_info(full_name, timeout=_TIMEOUT)
            break
        except RepositoryNotFoundError:
            continue
        except HFValidationError:  # a path
            raise FileNotFoundError(2, f"there is no such file or folder; {hint}", name) from None
        except Exception as unreachable:  # of whichever HTTP library the client uses
            try:
                return load_model(name, local_files_only=True)
            except Exception:
                raise OSError(
                    f"{name}: there is no such file or folder, the Hugging Face Hub cannot be reached "
                    f"({unreachable}), and its local cache has no such model; {hint}"
                ) from unreachable
    else:
        raise ValueError(
            f"{name}: there is no such file or folder, and the Hugging Face Hub has no such model; {hint}"
        )
    return load_model(name)
