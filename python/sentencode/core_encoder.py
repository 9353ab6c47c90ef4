"""What encoders share whose work an encoder of the core does: linear ones, neural ones."""

from __future__ import annotations

import numbers
import warnings
from typing import Any, TypeVar

import numpy as np

from .encoder import Encoder
from .errors import NotFittedError
from .text.tokenizer import Tokenizer, chosen_tokenizer
from .vectors import Vectors, WordVectors

__all__ = ["NEURAL_KINDS", "CoreEncoder", "checked_keys", "is_still", "plain"]


_Kind = TypeVar("_Kind", bound="CoreEncoder")
NEURAL_KINDS: dict[str, type[CoreEncoder]] = {}  # classes of neural encoders that have been defined, by name


class CoreEncoder(Encoder):
    """An encoder over word vectors, made of parameters that it remembers."""

    vectors: Vectors
    tokenizer: Any
    lowercase: Any
    # There once something was learnt: an encoder of the core, the tokenizer and the table that go with it,
    # and the parameters that all were made of.
    _model: Any
    _cut: Tokenizer
    _made_with: WordVectors
    _made_of: dict[str, Any]
    # What was last given as vectors, and the table that it was made into.
    _resolved: tuple[Any, WordVectors]

    @property
    def fitted(self) -> bool:
        """Whether there is all that encoding needs: something was learnt, with the parameters as they are."""
        return "_model" in self.__dict__ and not self._changes()

    @property
    def tokenizer_(self) -> Tokenizer:
        """The tokenizer that cuts sentences, once fitted: what was chosen where `tokenizer` left it open."""
        self._check_fitted()
        return self._cut if "_cut" in self.__dict__ else self._new_tokenizer()

    def _changes(self) -> list[str]:
        """The parameters that are no longer those of the model."""
        made_of = self.__dict__.get("_made_of", {})
        return [name for name, value in made_of.items() if not is_still(getattr(self, name), value)]

    def _check_fitted(self) -> None:
        if "_model" in self.__dict__ and (changes := self._changes()):
            raise NotFittedError(
                f"parameters of this {type(self).__name__} have changed since it was fitted "
                f"({', '.join(changes)}): call fit again, or change them back"
            )
        super()._check_fitted()

    @property
    def _word_vectors(self) -> WordVectors:
        """What was given as vectors, as a table; made once, as long as it is the same object."""
        given: Any = self.vectors
        known = self.__dict__.get("_resolved")
        if known is None or known[0] is not given:
            try:
                known = self._resolved = given, WordVectors.of(given)
            except TypeError as error:
                raise TypeError(f"{type(self).__name__}: {error}") from None
        table: WordVectors = known[1]
        return table

    def _sibling(self, kind: type[_Kind], **params: Any) -> _Kind:
        """An encoder with other parameters and the same vectors, which are not made again."""
        other = kind(**params)
        other._resolved = self.vectors, self._word_vectors
        return other

    def _check_vectors(self) -> None:
        """Whether the vectors can be used; refuses those that cannot."""
        self._word_vectors  # noqa: B018

    def _new_tokenizer(self) -> Tokenizer:
        return chosen_tokenizer(
            type(self).__name__, self.tokenizer, self.lowercase, compounds=self._word_vectors.compounds
        )

    def _check_tokenizer_name(self) -> None:
        """Warns where the name that `save` writes does not lead to the tokenizer."""
        if not self._cut.found_by_name:
            name = self._cut.name
            warnings.warn(
                f"{type(self).__name__}.save: the tokenizer "
                + (f"is not what its name {name!r} leads to" if name else "has no name that leads to it")
                + "; give it again when loading, as in se.load(path, tokenizer=my_tokenizer)",
                UserWarning,
                stacklevel=3,
            )

    def _facts(self) -> dict[str, str]:
        facts = super()._facts()
        if self.fitted:
            facts["dim"] = str(self.dim)
        return facts


def checked_keys(owner: type[CoreEncoder], given: Any, known: set[str]) -> dict[str, Any]:
    """The parameters that stand in a file, if they are those of a class.

    Raises:
        ValueError: If they are not, or the tokenizer among them is none.
    """
    if not isinstance(given, dict):
        raise ValueError(f"params: expected a JSON object, got {given!r:.60}")
    for problem, names in (("unknown", set(given) - known), ("missing", known - set(given))):
        if names:
            raise ValueError(f"params: {problem} {', '.join(map(repr, sorted(names)))} of {owner.__name__}")
    if not isinstance(given["tokenizer"], dict):
        raise ValueError(f"params: tokenizer must be a JSON object, got {given['tokenizer']!r:.60}")
    return given


def plain(value: Any) -> Any:
    """Numbers, and sequences of them, as Python and JSON have them, also when they are NumPy's."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, numbers.Integral):
        return value if isinstance(value, bool) else int(value)
    return float(value) if isinstance(value, numbers.Real) else value


def is_still(now: Any, before: Any) -> bool:
    """Whether a parameter is the same as before. Objects are the same only as themselves."""
    if now is before:
        return True
    now, before = plain(now), plain(before)
    if isinstance(now, list) and isinstance(before, list):
        return len(now) == len(before) and all(map(is_still, now, before))
    kinds = {
        float if type(value) is int else type(value) for value in (now, before)
    }  # 0 and 0.0 are one number
    if len(kinds) > 1 or not isinstance(now, str | int | float | Tokenizer):
        return False
    return now == before or (now != now and before != before)  # what is no number stays none
