"""The base class of encoders that are implemented in C++: linear and neural ones."""

from __future__ import annotations

import json
import numbers
import warnings
from typing import Any, TypeVar

import numpy as np

from .encoder import Encoder
from .errors import NotFittedError
from .text.tokenizer import Tokenizer, chosen_tokenizer
from .vectors import Vectors, WordVectors

__all__ = [
    *("NEURAL_KINDS", "CoreEncoder", "check_same_tokenizer", "checked_keys", "current_names", "is_still"),
    *("parsed_params", "plain"),
]


_Kind = TypeVar("_Kind", bound="CoreEncoder")
NEURAL_KINDS: dict[str, type[CoreEncoder]] = {}  # classes of neural encoders by name
_RENAMED = {
    "_cut": "_fitted_tokenizer",
    "_made_with": "_fitted_vectors",
    "_made_of": "_fitted_params",
    "_learnt": "_trained_head",
    "_weighted": "_word_weights",
}  # attributes in pickles of earlier versions


class CoreEncoder(Encoder):
    """An encoder over word vectors, whose C++ half is made from its parameters."""

    vectors: Vectors
    tokenizer: Any
    lowercase: Any
    # Set by `fit`: the C++ encoder, its tokenizer and word vectors, and the parameters of all three.
    _model: Any
    _fitted_tokenizer: Tokenizer
    _fitted_vectors: WordVectors
    _fitted_params: dict[str, Any]
    # The last value of `vectors`, and its table.
    _resolved: tuple[Any, WordVectors]

    @property
    def fitted(self) -> bool:
        """Whether the encoder has been fitted with the current parameters."""
        return "_model" in self.__dict__ and not self._changes()

    @property
    def tokenizer_(self) -> Tokenizer:
        """The tokenizer of the fitted encoder, also where `tokenizer` is "auto"."""
        self._check_fitted()
        return self._fitted_tokenizer if "_fitted_tokenizer" in self.__dict__ else self._new_tokenizer()

    def _changes(self) -> list[str]:
        """The parameters that have changed since `fit`."""
        fitted = self.__dict__.get("_fitted_params", {})
        return [name for name, value in fitted.items() if not is_still(getattr(self, name), value)]

    def _check_fitted(self) -> None:
        if "_model" in self.__dict__ and (changes := self._changes()):
            raise NotFittedError(
                f"parameters of this {type(self).__name__} have changed since it was fitted "
                f"({', '.join(changes)}): call fit again, or change them back"
            )
        super()._check_fitted()

    @property
    def _word_vectors(self) -> WordVectors:
        """`vectors` as a table, converted once per object."""
        vectors: Any = self.vectors
        resolved = self.__dict__.get("_resolved")
        if resolved is None or resolved[0] is not vectors:
            try:
                resolved = self._resolved = vectors, WordVectors.of(vectors)
            except TypeError as error:
                raise TypeError(f"{type(self).__name__}: {error}") from None
        table: WordVectors = resolved[1]
        return table

    def _sibling(self, kind: type[_Kind], **params: Any) -> _Kind:
        """An encoder with other parameters that shares the table of the vectors."""
        other = kind(**params)
        other._resolved = self.vectors, self._word_vectors
        return other

    def _check_vectors(self) -> None:
        """Raises an error if the vectors are invalid."""
        self._word_vectors  # noqa: B018

    def _new_tokenizer(self) -> Tokenizer:
        return chosen_tokenizer(
            type(self).__name__, self.tokenizer, self.lowercase, compounds=self._word_vectors.compounds
        )

    def _check_tokenizer_name(self) -> None:
        """Warns if the name that `save` writes does not identify the tokenizer."""
        if not self._fitted_tokenizer.found_by_name:
            name = self._fitted_tokenizer.name
            warnings.warn(
                f"{type(self).__name__}.save: the tokenizer "
                + (
                    f"is not the one that its name {name!r} identifies"
                    if name
                    else "has no name that identifies it"
                )
                + "; pass it to load again, as in se.load(path, tokenizer=my_tokenizer)",
                UserWarning,
                stacklevel=3,
            )

    def _facts(self) -> dict[str, str]:
        facts = super()._facts()
        if self.fitted:
            facts["dim"] = str(self.dim)
        return facts


def current_names(state: dict[str, Any]) -> dict[str, Any]:
    """The attributes in a pickle, by their current names."""
    return {_RENAMED.get(name, name): value for name, value in state.items()}


def parsed_params(model: Any) -> dict[str, Any]:
    """The parameters that a file holds as JSON, of what was read from it.

    Raises:
        ValueError: They are not JSON, or no object.
    """
    try:
        params = json.loads(model.params)
    except ValueError as error:  # or UnicodeDecodeError
        raise ValueError(f"params are not JSON: {error}") from None
    if not isinstance(params, dict):
        raise ValueError(f"params: expected a JSON object, got {params!r:.60}")
    return params


def checked_keys(owner: type[CoreEncoder], params: Any, known: set[str]) -> dict[str, Any]:
    """The parameters of a file, if they are exactly those of a class, and the tokenizer is an object.

    Raises:
        ValueError: They are not.
    """
    if not isinstance(params, dict):
        raise ValueError(f"params: expected a JSON object, got {params!r:.60}")
    for problem, names in (("unknown", set(params) - known), ("missing", known - set(params))):
        if names:
            raise ValueError(f"params: {problem} {', '.join(map(repr, sorted(names)))} of {owner.__name__}")
    if not isinstance(params["tokenizer"], dict):
        raise ValueError(f"params: tokenizer must be a JSON object, got {params['tokenizer']!r:.60}")
    return params


def check_same_tokenizer(core: Any, saved: Any) -> None:
    """Raises an error unless the tokenizer of the parameters of a file is that of the encoder in C++."""
    for name in ("split", "lowercase", "invalid"):
        if getattr(core, name) != getattr(saved, name):
            raise ValueError(f"params: another {name} of the tokenizer than config has")


def plain(value: Any) -> Any:
    """A number, or a sequence of numbers, as Python's types, for JSON."""
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
    """Whether a parameter has not changed: equal numbers, texts or tokenizers, or the same object."""
    if now is before:
        return True
    now, before = plain(now), plain(before)
    if isinstance(now, list) and isinstance(before, list):
        return len(now) == len(before) and all(map(is_still, now, before))
    kinds = {float if type(value) is int else type(value) for value in (now, before)}  # 0 is 0.0
    if len(kinds) > 1 or not isinstance(now, str | int | float | Tokenizer):
        return False
    return now == before or (now != now and before != before)  # NaN is still NaN
