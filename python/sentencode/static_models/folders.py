"""Recognises the folders of static embedding models."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import _core
from ..errors import FormatError
from ..files import read_json

__all__ = ["StaticFolder", "checked_count", "is_wordllama", "recognised", "weights_of"]

_MODEL2VEC_LENGTH = 512  # its default of max_length
_LARGEST = 2**31 - 1  # of a number of tokens or columns
_WORDLLAMA = "_tokenizer_config.json"
_WEIGHTS, _PICKLED = "model.safetensors", "pytorch_model.bin"


@dataclass(frozen=True)
class StaticFolder:
    """The files of a model, and how they are used.

    Attributes:
        library: "model2vec", "sentence-transformers" or "wordllama".
        weights: Safetensors file.
        tensor: Name of the matrix in it.
        tokenizer: Its tokenizer.json.
        normalize: Whether embeddings are divided by their norms.
        keep_unknown: Whether unknown tokens count.
        max_length: Maximum of tokens. None: no limit.
        truncates: Whether the truncation of the tokenizer.json is applied.
        limits_characters: Whether the text is truncated first, to `max_length` tokens of median length.
        truncate_dim: Number of dimensions that are kept after all this. None: all.
        other_tensors: Names of tensors that the matrix may have next to it.
    """

    library: str
    weights: Path
    tensor: str
    tokenizer: Path
    normalize: bool = False
    keep_unknown: bool = True
    max_length: int | None = None
    truncates: bool = False
    limits_characters: bool = False
    truncate_dim: int | None = None
    other_tensors: tuple[str, ...] = field(default=())


def recognised(path: Path) -> StaticFolder:
    """The model in a folder, or of WordLlama's weights.

    Args:
        path: Folder, or a safetensors file of WordLlama.

    Raises:
        OSError: A file is missing or cannot be read.
        FormatError: The folder has no static model, several, or one with a part that is not supported.
    """
    if path.is_file():
        return _wordllama(path)
    models = list(_models(path))
    if len(models) == 1:
        return models[0]
    if models:
        listed = " and ".join(f"{model.weights} ({model.library})" for model in models)
        raise FormatError(f"{path}: several models, {listed}: pass the folder or the file of one")
    expected = "model.safetensors and tokenizer.json with config.json (model2vec) or modules.json "
    expected += "(sentence-transformers), or WordLlama's files"
    if (path / _WEIGHTS).exists():
        expected = f"config.json (model2vec) or modules.json (sentence-transformers) next to {_WEIGHTS}"
    elif weights := _weights_of_wordllama(path):
        expected = f"{_wordllama_tokenizer(weights[0])} for {weights[0].name} (WordLlama)"
    elif (path / _PICKLED).exists():
        expected = f"model.safetensors; {_PICKLED} may contain code: convert it to safetensors"
    raise FormatError(f"{path}: not a static embedding model; expected {expected}")


def _models(folder: Path) -> Iterator[StaticFolder]:
    if (folder / "modules.json").exists():
        yield _sentence_transformers(folder)
    elif (folder / "config.json").exists():
        yield _model2vec(folder)
    yield from map(_wordllama, filter(is_wordllama, _weights_of_wordllama(folder)))


def weights_of(folder: Path) -> str:
    """Name of the weights in a folder of model2vec or sentence-transformers, which need not exist.

    Raises:
        FormatError: The model in the folder is not a static one.
    """
    path = folder / "modules.json"
    if not path.exists():
        _model2vec_config(folder)
        return _WEIGHTS
    modules = read_json(path)
    if not isinstance(modules, list) or not modules or not all(isinstance(one, dict) for one in modules):
        raise FormatError(f"{path}: expected a list of modules")
    for i, module in enumerate(modules):
        kind, expected = module.get("type"), ("StaticEmbedding", "Normalize")[i : i + 1]
        names = kind.split(".") if isinstance(kind, str) else [""]
        if names[0] != "sentence_transformers" or names[-1:] != list(expected):
            raise FormatError(
                f"{path}: module {i} is {kind!r:.80}; static models are StaticEmbedding, optionally followed "
                "by Normalize"
            )
    part = modules[0].get("path", "")
    if not isinstance(part, str) or Path(part).is_absolute() or ".." in Path(part).parts:
        raise FormatError(f"{path}: the path of module 0 must be a folder below, got {part!r:.60}")
    return str(Path(part, _WEIGHTS))


def _model2vec_config(folder: Path) -> dict[str, Any]:
    path = _existing(folder / "config.json")
    config = _object(path)
    kind = config.get("model_type", "model2vec")
    if kind != "model2vec":
        raise FormatError(f"{path}: model_type is {kind!r:.40}, expected 'model2vec': not a static model")
    return config


def _model2vec(folder: Path) -> StaticFolder:
    path = folder / "config.json"
    config = _model2vec_config(folder)
    length = config.get("max_length", _MODEL2VEC_LENGTH)
    if length is not None:
        checked_count(path, "max_length", length, "a positive integer or null")
    return StaticFolder(
        "model2vec",
        _existing(folder / _WEIGHTS),
        "embeddings",
        _existing(folder / "tokenizer.json"),
        normalize=_flag(path, config, "normalize"),
        keep_unknown=False,
        max_length=length,
        limits_characters=True,
        other_tensors=("weights", "mapping"),
    )


def _sentence_transformers(folder: Path) -> StaticFolder:
    weights = _existing(folder / weights_of(folder))
    at_root = weights.parent.resolve() == folder.resolve()
    tensors = _core.SafeTensors(weights).shapes
    if {"embeddings", "embedding.weight"} <= set(tensors):
        raise FormatError(f"{weights}: two models, tensors 'embeddings' and 'embedding.weight'")
    if not at_root and (folder / _WEIGHTS).exists():
        raise FormatError(f"{folder}: two models, {_WEIGHTS} and {weights.relative_to(folder)}")
    if at_root and "embeddings" in tensors and (folder / "config.json").exists():
        return _model2vec(folder)  # which writes modules.json, too
    tokenizer = _existing(weights.parent / "tokenizer.json")
    normalize = len(read_json(folder / "modules.json")) == 2
    tensor = "embedding.weight" if "embedding.weight" in tensors else "embeddings"
    return StaticFolder(
        "sentence-transformers",
        weights,
        tensor,
        tokenizer,
        normalize=normalize,
        truncates=True,
        truncate_dim=_truncate_dim(
            folder / "config_sentence_transformers.json", weights.name, tensors.get(tensor, [])
        ),
        other_tensors=() if tensor == "embedding.weight" else ("weights", "mapping"),
    )


def _truncate_dim(path: Path, weights: str, shape: Sequence[int]) -> int | None:
    """Dimensions that a model of sentence-transformers is truncated to; its table has the shape `shape`."""
    config = _object(path) if path.exists() else {}
    prompts = {} if config.get("prompts") is None else config["prompts"]
    if not isinstance(prompts, dict) or not all(isinstance(one, str | None) for one in prompts.values()):
        raise FormatError(f"{path}: prompts must be an object of strings, got {json.dumps(prompts):.40}")
    name = config.get("default_prompt_name")
    if name is not None and (not isinstance(name, str) or prompts.get(name, "x")):
        raise FormatError(
            f"{path}: default_prompt_name is {name!r:.40}; prompts are not supported: "
            "add the prompt to the sentences, and set it to null"
        )
    if names := [key for key, prompt in prompts.items() if prompt]:
        warnings.warn(
            f"{path}: prompts are not supported: encode_query and encode_document do not add "
            f"{', '.join(map(repr, names))}; add them to the sentences",
            UserWarning,
            stacklevel=2,
        )
    if (measure := config.get("similarity_fn_name")) not in (None, "cosine"):
        warnings.warn(
            f"{path}: similarity_fn_name is {measure!r:.40}, but the default of similarity and "
            "semantic_search is measure='cosine'",
            UserWarning,
            stacklevel=2,
        )
    dim = config.get("truncate_dim")
    if dim is None:
        return None
    checked_count(path, "truncate_dim", dim, "a positive integer or null")
    if len(shape) == 2 and dim > shape[1]:
        raise FormatError(
            f"{path}: truncate_dim must be at most {shape[1]}, the columns of {weights}, got {dim}"
        )
    return int(dim)


def checked_count(path: Path, field: str, count: Any, expected: str) -> int:
    """A number of tokens or columns in a file, checked to be positive and to fit the core.

    Raises:
        FormatError: It is not `expected`, or too large; the message has the file and the field.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise FormatError(f"{path}: {field} must be {expected}, got {count!r:.40}")
    if count > _LARGEST:
        raise FormatError(f"{path}: {field} must be at most {_LARGEST}, got {count!r:.40}")
    return count


def is_wordllama(path: Path) -> bool:
    """Whether a file has a name of WordLlama's weights, and its tokenizer is there."""
    return _has_dimension(path) and _wordllama_tokenizer(path).is_file()


def _has_dimension(path: Path) -> bool:
    """Whether a name is that of WordLlama's weights, as l2_supercat_256.safetensors."""
    name, _, dim = path.stem.rpartition("_")
    return path.suffix == ".safetensors" and name != "" and dim.isascii() and dim.isdecimal()


def _weights_of_wordllama(folder: Path) -> list[Path]:
    weights = folder / "weights" if (folder / "weights").is_dir() else folder
    return [path for path in sorted(weights.glob("*.safetensors")) if _has_dimension(path)]


def _wordllama_tokenizer(weights: Path) -> Path:
    name = f"{weights.stem.rpartition('_')[0]}{_WORDLLAMA}"
    in_same_folder = weights.parent / name
    return in_same_folder if in_same_folder.exists() else weights.parent.parent / "tokenizers" / name


def _wordllama(weights: Path) -> StaticFolder:
    return StaticFolder("wordllama", weights, "embedding.weight", _existing(_wordllama_tokenizer(weights)))


def _object(path: Path) -> dict[str, Any]:
    content = read_json(path)
    if not isinstance(content, dict):
        raise FormatError(f"{path}: expected a JSON object, got {json.dumps(content)[:40]}")
    return content


def _flag(path: Path, config: dict[str, Any], name: str) -> bool:
    value = config.get(name, False)
    if not isinstance(value, bool):
        raise FormatError(f"{path}: {name} must be true or false, got {value!r:.40}")
    return value


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise FileNotFoundError(2, "a static model needs this file, which is missing", str(path))
    return path
