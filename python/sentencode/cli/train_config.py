"""The TOML file of `sentencode train`: read, merged with the command line, and checked."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import FormatError
from ..families import FAMILIES
from ..files import read_text
from .errors import UsageError
from .parameter_types import check_type, types_of

if TYPE_CHECKING:
    from ..models import NeuralEncoder

__all__ = ["Config", "read_config"]

# Tables and their keys. [encoder] also has the parameters of its class, [data] what the class is trained on.
_TABLES: dict[str, tuple[str, ...]] = {
    "encoder": ("class",),
    "vectors": ("file", "limit", "storage", "format", "dim", "cache"),
    "data": (),
    "text": ("moses", "bpe"),
    "output": ("file",),
    "checkpoints": ("folder", "keep_last"),
    "logs": ("csv", "tensorboard"),
}
_PATHS = {
    *(("data", key) for key in ("train", "valid", "train_target", "valid_target")),
    *(("vectors", "file"), ("output", "file"), ("checkpoints", "folder")),
    *(("logs", "csv"), ("logs", "tensorboard")),
}
_NOT_WRITTEN = ("vectors", "vocabulary", "target_vocabulary")  # parameters that a TOML file cannot hold

# Types of keys that are not annotated in a constructor.
_TYPES = {
    "encoder": dict.fromkeys(("max_length", "max_tokens"), "int | None"),
    "vectors": {"limit": "int", "storage": "str", "format": "str", "dim": "int", "cache": "bool | str"},
    "checkpoints": {"keep_last": "int"},
}


@dataclass(frozen=True)
class Config:
    """A checked configuration.

    Attributes:
        kind: Class of the encoder.
        tables: Table -> key -> value; all paths are absolute.
    """

    kind: type[NeuralEncoder]
    tables: dict[str, dict[str, Any]]

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the encoder's constructor."""
        return {name: value for name, value in self.tables["encoder"].items() if name != "class"}

    @property
    def output(self) -> Path:
        """Output file of the encoder."""
        return Path(self.tables["output"]["file"])

    def moses_files(self) -> list[Path]:
        """Output files of the Moses preprocessors of source and target."""
        sides = ("source", "target") if "moses" in self.tables["text"] else ()
        return [self.output.with_suffix(f".{side}.moses") for side in sides]

    def decisive(self) -> dict[str, Any]:
        """Everything that decides what is trained: parameters with their defaults, vectors and texts."""
        defaults = self.kind._defaults()
        encoder = {"class": self.kind.__name__}
        encoder |= {name: self.parameters.get(name, defaults[name]) for name in _parameters(self.kind)}
        return {"encoder": encoder, **self.origin()}

    def origin(self) -> dict[str, Any]:
        """The tables of the training data."""
        names = ("vectors", "data", *(["text"] if self.tables["text"] else []))
        return {name: self.tables[name] for name in names}


def read_config(path: Path, changes: Mapping[str, Any] | None = None) -> Config:
    """Reads a configuration of `sentencode train`.

    Args:
        path: TOML file; paths in it are relative to its folder.
        changes: `parameter` or `table.key` -> value that replaces the file's; paths are relative to the
            working directory.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not TOML, lacks a key, or has an unknown table or key.
        UsageError: A change has an unknown key.
    """
    changes = changes or {}
    tables = _changed(_tables(path), changes)
    kind = _kind(tables["encoder"].get("class"), path)
    head = tables["encoder"].get("head")
    regression = (head.get("kind") if isinstance(head, Mapping) else head) == "RowRegression"
    data_keys = (*kind.task_class.data, *(["teacher"] if regression else []))
    known = {**_TABLES, "encoder": ("class", *_parameters(kind)), "data": data_keys}
    for table, keys in tables.items():
        for key in keys:
            if key not in known[table]:
                _refuse_key(table, key, kind, known[table], path, changes)
    _check_data(tables, data_keys, path)
    _check_text(tables, path)
    if regression and "teacher" not in tables["data"]:
        raise ValueError(
            f"{path}: [data] lacks teacher, the encoder whose embeddings RowRegression predicts: a saved "
            "encoder, or the name or folder of a sentence-transformers model"
        )
    if tables["vectors"] and "file" not in tables["vectors"]:
        raise ValueError(f"{path}: [vectors] lacks file; without the table, the built-in ones are used")
    for name, value in tables["encoder"].items():
        if value is False and name != "class" and _may_be_none(kind, name):
            tables["encoder"][name] = None
    _check_types(kind, tables, changes, path)
    return Config(kind, tables)


# --- reading


def _tables(path: Path) -> dict[str, dict[str, Any]]:
    """All tables of a file, missing ones empty; paths are absolute."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        content: dict[str, Any] = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"{path}: is not TOML: {error}") from None
    for name, keys in content.items():
        if name not in _TABLES:
            raise ValueError(f"{path}: there is no table [{name}]; there are {', '.join(_TABLES)}")
        if not isinstance(keys, dict):
            raise ValueError(f"{path}: {name} must be a table, [{name}]")
    folder = path.absolute().parent
    return {
        table: {
            key: _value(table, key, value, folder, f"{path}: [{table}] {key}")
            for key, value in content.get(table, {}).items()
        }
        for table in _TABLES
    }


def _changed(tables: dict[str, dict[str, Any]], changes: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The tables with the values of the command line."""
    for name, value in changes.items():
        table, dot, key = name.rpartition(".")
        table = table if dot else "encoder"
        if table not in _TABLES:
            raise UsageError(f"--set: there is no table [{table}]; there are {', '.join(_TABLES)}")
        tables[table][key] = _value(table, key, value, Path.cwd(), f"--set {name}")
    return tables


def _value(table: str, key: str, value: Any, folder: Path, shown: str) -> Any:
    """The value of a key; a path is made absolute."""
    if (table, key) in _PATHS:
        return _absolute(value, folder, shown)
    if (table, key) != ("data", "teacher"):
        return value
    if not isinstance(value, str) or not value:
        raise ValueError(f"{shown} must be a path, or a model's name, got {value!r}")
    path = _absolute(value, folder, shown)
    return path if os.path.exists(path) else value


def _absolute(value: Any, folder: Path, shown: str) -> Any:
    if isinstance(value, list) and value:
        return [_absolute(path, folder, shown) for path in value]
    if not isinstance(value, str) or not value:
        raise ValueError(f"{shown} must be a path, got {value!r}")
    return os.path.normpath(folder / Path(value).expanduser())


# --- checking


def _kind(name: Any, path: Path) -> type[NeuralEncoder]:
    from .. import models

    if name is None:
        raise ValueError(f"{path}: [encoder] lacks class, one of {', '.join(sorted(FAMILIES))}")
    if not isinstance(name, str) or name not in FAMILIES:
        raise ValueError(
            f"{path}: [encoder] class must be one of {', '.join(sorted(FAMILIES))}, got {name!r}"
        )
    kind: type[NeuralEncoder] = getattr(models, name)
    return kind


def _parameters(kind: type[NeuralEncoder]) -> list[str]:
    return [name for name in kind._defaults() if name not in _NOT_WRITTEN]


def _is_changed(table: str, key: str, changes: Mapping[str, Any]) -> bool:
    """Whether the command line has set a key."""
    return f"{table}.{key}" in changes or (table == "encoder" and key in changes)


def _refuse_key(
    table: str, key: str, kind: type, known: tuple[str, ...], path: Path, changes: Mapping[str, Any]
) -> None:
    text = f"[{table}] has no key {key!r}{f' ({kind.__name__})' if table == 'encoder' else ''}"
    text += f"; it has {', '.join(sorted(known))}"
    if key == "teacher":
        text += ', and with [encoder.head] kind = "RowRegression" a teacher'
    if _is_changed(table, key, changes):
        raise UsageError(f"--set: {text}")
    raise ValueError(f"{path}: {text}")


def _check_data(tables: Mapping[str, dict[str, Any]], keys: tuple[str, ...], path: Path) -> None:
    data = tables["data"]
    if "train" not in data:
        raise ValueError(f"{path}: [data] lacks train, the file or files to train on")
    if tables["encoder"].get("head") is not None or "train_target" not in keys:
        return
    for name in ("train", "valid"):
        source, target = data.get(name), data.get(f"{name}_target")
        if source is not None and target is None:
            raise ValueError(f"{path}: [data] lacks {name}_target, the file with the translations of {name}")
        if isinstance(source, list) or isinstance(target, list):
            raise ValueError(f"{path}: [data] {name} and {name}_target: give one file each")


def _check_text(tables: Mapping[str, dict[str, Any]], path: Path) -> None:
    text = tables["text"]
    if not text:
        return
    if "train_target" not in tables["data"] or tables["encoder"].get("head") is not None:
        raise ValueError(f"{path}: [text] is for translation models: [data] lacks train_target")
    languages = text.get("moses", ["en", "en"])
    if not (
        isinstance(languages, list) and len(languages) == 2 and all(isinstance(x, str) for x in languages)
    ):
        raise ValueError(
            f'{path}: [text] moses must be both languages, as in ["en", "de"], got {languages!r}'
        )
    size = text.get("bpe", 1)
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ValueError(f"{path}: [text] bpe must be the vocabulary size, as in 4000, got {size!r}")
    for name in ("tokenizer", "target_tokenizer"):
        if "bpe" in text and name in tables["encoder"]:
            raise ValueError(f"{path}: [text] bpe tokenizes both languages: leave out [encoder] {name}")


def _may_be_none(kind: type[NeuralEncoder], name: str) -> bool:
    """Whether False stands for a parameter's None, which TOML lacks: its type has None, and no bool."""
    from ..training import TrainingOptions

    owners = (owner for base in kind.__mro__ for owner in (vars(base).get("__init__"), base))
    for owner in (*owners, TrainingOptions):
        annotation = getattr(owner, "__annotations__", {}).get(name)
        if annotation not in (None, "Any"):
            is_optional = "None" in str(annotation) or kind._defaults()[name] is None
            return is_optional and "bool" not in str(annotation)
    return not isinstance(kind.task_class.parameters.get(name, True), bool)


def _check_types(
    kind: type[NeuralEncoder], tables: Mapping[str, dict[str, Any]], changes: Mapping[str, Any], path: Path
) -> None:
    from ..training import TrainingOptions

    encoder = types_of((*kind.__mro__, TrainingOptions), kind._defaults())
    for table, types in {**_TYPES, "encoder": {**_TYPES["encoder"], **encoder}}.items():
        for name, value in tables[table].items():
            try:
                check_type(f"[{table}] {name}", value, types.get(name, ""))
            except ValueError as error:
                if _is_changed(table, name, changes):
                    raise UsageError(f"--set: {error}") from None
                raise ValueError(f"{path}: {error}") from None
