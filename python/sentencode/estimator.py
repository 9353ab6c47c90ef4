"""scikit-learn's interface of estimators, without importing it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from html import escape
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

__all__ = ["Estimator"]


class Estimator:
    """Base class with parameters in the constructor, and fitted attributes that end with an underscore.

    The constructor of a subclass stores every parameter unchanged under its name, so that scikit-learn can
    clone the object, search over its parameters and use it in pipelines.
    """

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """Parameters of the constructor and their defaults, in order."""
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
        return {parameter.name: parameter.default for parameter in parameters}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor.

        Args:
            deep: Whether to add parameters of parameters, as `name__parameter`.
        """
        params = {name: getattr(self, name) for name in self._defaults()}
        if deep:
            for name, value in list(params.items()):
                if hasattr(value, "get_params") and not isinstance(value, type):
                    params.update({f"{name}__{inner}": v for inner, v in value.get_params().items()})
                else:
                    params.update({f"{name}__{inner}": getattr(value, inner) for inner in _fields(value)})
        return params

    def set_params(self, **params: Any) -> Any:
        """Changes parameters; then the encoder must be fitted again.

        It counts as not fitted until `fit`, or until the parameters have their old values again. `Average`
        needs no `fit`.

        Args:
            **params: New values; `name__parameter` changes a parameter of a parameter, of the new one if
                `name` changes too. A head is replaced by one with the new value.

        Returns:
            The object itself.

        Raises:
            ValueError: There is no such parameter.
        """
        known = self._defaults()
        for name in params:
            if name.partition("__")[0] not in known:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; its parameters are {sorted(known)}"
                )
        nested: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            outer, separator, inner = name.partition("__")
            if separator:
                nested.setdefault(outer, {})[inner] = value
            else:
                setattr(self, outer, value)
        for outer, values in nested.items():
            part = getattr(self, outer)
            if options := _fields(part):
                if unknown := values.keys() - set(options):
                    name = f"{outer}__{min(unknown)}"
                    raise ValueError(
                        f"{type(self).__name__} has no parameter {name!r}; its {outer} has {sorted(options)}"
                    )
                setattr(self, outer, replace(part, **values))
                continue
            if not hasattr(part, "set_params"):
                raise ValueError(
                    f"{type(self).__name__} has no parameter {f'{outer}__{min(values)}'!r}: "
                    f"{outer} is {part!r:.40} ({type(part).__name__}), which has no parameters"
                )
            part.set_params(**values)
        return self

    @property
    def fitted(self) -> bool:
        """Whether the encoder can encode."""
        raise NotImplementedError

    @property
    def _estimator_type(self) -> Literal["classifier", "regressor"] | None:
        """The kind of predictor, which scikit-learn before 1.6 reads; later releases read the tags."""
        return None

    def _check_fitted(self) -> None:
        """Raises `NotFittedError` if it cannot."""
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return self.fitted

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags, TransformerTags

        kind = self._estimator_type
        return Tags(
            estimator_type=kind,
            target_tags=TargetTags(required=kind is not None),
            transformer_tags=TransformerTags(preserves_dtype=[]),
            classifier_tags=ClassifierTags() if kind == "classifier" else None,
            regressor_tags=RegressorTags() if kind == "regressor" else None,
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True),
            requires_fit=not self.fitted,
        )

    def set_output(self, *, transform: str | None = None) -> Any:
        """Sets the type of what `transform` and `fit_transform` return, as in scikit-learn.

        Args:
            transform: "default" (NumPy array), "pandas" or "polars" (data frame with the columns
                `get_feature_names_out`), or None for no change.

        Returns:
            The object itself.
        """
        if transform not in ("default", "pandas", "polars", None):
            raise ValueError(f"transform must be 'default', 'pandas', 'polars' or None, got {transform!r}")
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def _output(self, rows: npt.NDArray[Any], sentences: Any) -> Any:
        """Embeddings in the type that `set_output` chose."""
        form = getattr(self, "_sklearn_output_config", {}).get("transform")
        if form is None and "sklearn" in sys.modules:  # the global setting
            form = sys.modules["sklearn"].get_config().get("transform_output")
        if form == "pandas":
            import pandas

            is_pandas = isinstance(sentences, pandas.Series | pandas.DataFrame)
            index = sentences.index if is_pandas else None
            return pandas.DataFrame(rows, columns=self.get_feature_names_out(), index=index, copy=False)
        if form == "polars":
            import polars  # type: ignore[import-not-found, unused-ignore]

            return polars.DataFrame(rows, schema=list(self.get_feature_names_out()), orient="row")
        return rows

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the columns of `transform`: "sif0", "sif1", ...; `input_features` is ignored.

        Raises:
            NotFittedError: The encoder is not fitted.
        """
        self._check_fitted()
        name = type(self).__name__.lower()
        return np.array([f"{name}{i}" for i in range(self._columns())], dtype=object)

    def _columns(self) -> int:
        raise NotImplementedError

    def _changed(self) -> dict[str, Any]:
        """Parameters without a default, or with another value."""
        changed = {}
        for name, default in self._defaults().items():
            value = getattr(self, name)
            if default is inspect.Parameter.empty or repr(value) != repr(default):
                changed[name] = value
        return changed

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={_short(v)}' for k, v in self._changed().items())})"

    def _repr_html_(self) -> str:
        """A table for notebooks: parameters, changed ones in bold, and facts of the fitted encoder."""
        changed = self._changed()
        rows = [
            (
                f"<b>{escape(name)}</b>" if name in changed else escape(name),
                escape(_short(getattr(self, name))),
            )
            for name in self._defaults()
        ]
        rows += [(f"<i>{escape(name)}</i>", escape(value)) for name, value in self._facts().items()]
        cells = "".join(
            f'<tr><td style="text-align:left">{name}</td><td style="text-align:left">{value}</td></tr>'
            for name, value in rows
        )
        return f"<table><caption><b>{type(self).__name__}</b></caption><tbody>{cells}</tbody></table>"

    def _facts(self) -> dict[str, str]:
        """Facts that are shown after the parameters."""
        return {"fitted": "yes" if self.fitted else "no"}


def _fields(value: Any) -> list[str]:
    """The options of a parameter that is a dataclass, as heads are; of others, none."""
    is_object = is_dataclass(value) and not isinstance(value, type)
    return [field.name for field in fields(value)] if is_object else []


def _short(value: Any, longest: int = 60) -> str:
    # `repr` of a dict of word vectors would be slow.
    many = isinstance(value, Mapping) and len(value) > longest
    text = f"<{type(value).__name__} of {len(value):,}>" if many else repr(value)
    return text if len(text) <= longest else text[: longest - 3] + "..."
