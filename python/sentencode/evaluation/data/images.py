"""Captions with image features: NumPy archives, and their conversion from SentEval's pickles."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ...errors import FormatError
from ...files import as_path, read_archive, whole_file
from ...pickles import PickledArray, read_pickle
from .files import check_size, tokens
from .task import Split

__all__ = ["convert_coco_pickles", "read_images"]

_CAPTIONS = 5  # per image


def read_images(path: Path, published: int | None) -> Split:
    """Read an archive of `convert_coco_pickles`, with captions sorted by image."""
    arrays = _arrays(path)
    features, images = arrays["features"], arrays["images"]
    if features.ndim != 2 or features.dtype.kind != "f":
        raise FormatError(f"{path}: 'features' must be floats [images, d], is {_what(features)}")
    captions = _captions(path, arrays["captions"])
    if images.dtype.kind not in "iu" or images.shape != (len(captions),):
        raise FormatError(
            f"{path}: 'images' must be integers, one for each of {len(captions)} captions, is {_what(images)}"
        )
    for i in np.flatnonzero((images < 0) | (images >= len(features)))[:1]:
        raise FormatError(f"{path}: images[{i}] is {images[i]}, but 'features' has {len(features)} rows")
    check_size([path], len(features), published)
    counts = np.bincount(images.astype(np.int64), minlength=len(features))
    for i in np.flatnonzero(counts != _CAPTIONS)[:1]:
        raise FormatError(f"{path}: image {i} has {counts[i]} captions, expected {_CAPTIONS}")
    order = np.argsort(images, kind="stable")
    sentences = [tokens(captions[i]) for i in order]
    return Split((sentences,), images[order].astype(np.int64), _float32(path, features))


def _float32(path: Path, features: Any) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # overflows become infinite, which is checked below
        rows = np.ascontiguousarray(features, dtype=np.float32)
    for i in np.flatnonzero(~np.isfinite(rows).all(axis=1))[:1]:
        raise FormatError(f"{path}: features[{i}] has a value that is not a finite float32")
    return rows


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    names = ("features", "captions", "images")
    arrays = read_archive(path, names)
    missing = [repr(name) for name in names if name not in arrays]
    if missing:
        raise FormatError(f"{path}: has no array {' and '.join(missing)}")
    return arrays


def _captions(path: Path, array: NDArray[Any]) -> list[str]:
    if array.dtype.kind == "U" and array.ndim == 1:
        listed: list[str] = array.tolist()
        return listed
    if array.dtype != np.uint8 or array.ndim != 1:
        raise FormatError(f"{path}: 'captions' must be strings [n] or bytes (uint8), is {_what(array)}")
    try:
        return array.tobytes().decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: byte {error.start + 1} of 'captions' is not utf-8") from None


def _what(array: NDArray[Any]) -> str:
    return f"{array.dtype} of shape {list(array.shape)}"


def convert_coco_pickles(
    folder: str | os.PathLike[str], target: str | os.PathLike[str] | None = None
) -> list[Path]:
    """Convert SentEval's pickles to archives, which `load_task("ImageCaptionRetrieval", ...)` reads.

    Unpickling can run arbitrary code. This unpickler accepts only dictionaries, lists, strings, numbers and
    float arrays; anything else is an error, and is not run.

    An archive has `features` (float32 [images, d]), `captions` (UTF-8 bytes, one caption per line; strings
    `[n]` are read too) and `images` (int64 [n]: the row of `features` of each caption). As in SentEval, an
    image has its first five captions, each with a full stop at the end.

    Args:
        folder: Folder with `train.pkl`, `valid.pkl` and `test.pkl`, or some of them.
        target: Folder for `train.npz`, `valid.npz` and `test.npz`. None: that of the pickles.

    Returns:
        Paths of the archives.

    Raises:
        FileNotFoundError: There is none of the three.
        FormatError: A file is damaged, has another layout, or contains other objects than data.

    Example:
        >>> import pathlib, pickle, tempfile
        >>> import numpy as np
        >>> from sentencode.evaluation import convert_coco_pickles, load_task
        >>> captions = {i: {"cleaned_caption": f"view {i}"} for i in range(5)}
        >>> ids = [[0, 1, 2, 3, 4]]
        >>> content = {"features": [np.ones(3)], "image_to_caption_ids": ids, "captions": captions}
        >>> with tempfile.TemporaryDirectory() as data:
        ...     folder = pathlib.Path(data, "COCO")
        ...     folder.mkdir()
        ...     _ = (folder / "test.pkl").write_bytes(pickle.dumps(content, protocol=2))
        ...     _ = convert_coco_pickles(folder)
        ...     test = load_task("ImageCaptionRetrieval", data, splits=["test"], partial=True)["test"]
        >>> test.sentences[0][:2], test.images.shape
        (['view 0 .', 'view 1 .'], (1, 3))
    """
    folder = as_path(folder)
    target = folder if target is None else as_path(target)
    pickles = [path for name in ("train", "valid", "test") if (path := folder / f"{name}.pkl").is_file()]
    if not pickles:
        raise FileNotFoundError(f"{folder} has none of train.pkl, valid.pkl, test.pkl")
    return [_convert(path, target / f"{path.stem}.npz") for path in pickles]


def _convert(path: Path, target: Path) -> Path:
    with open(path, "rb") as file:
        content = _unpickled(path, file)
    features, captions = _content(path, content)
    images = np.repeat(np.arange(len(features)), _CAPTIONS)
    with whole_file(target) as file:
        np.savez(file, features=features, captions=captions, images=images)
    return target


def _content(path: Path, content: Any) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Features, and captions as bytes: one per line, five per image."""
    try:
        rows = [
            row.array() if isinstance(row, PickledArray) else np.array(row, float)
            for row in content["features"]
        ]
        first_five = [list(content["image_to_caption_ids"][i])[:_CAPTIONS] for i in range(len(rows))]
        captions = [
            tokens(content["captions"][key]["cleaned_caption"] + " .") for keys in first_five for key in keys
        ]
        text = np.frombuffer("\n".join(captions).encode(), dtype=np.uint8)
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise FormatError(
            f"{path}: expected 'features', 'image_to_caption_ids' and 'captions' with their "
            f"'cleaned_caption', as SentEval has them: {type(error).__name__}: {error}"
        ) from None
    for i, keys in enumerate(first_five):
        if len(keys) != _CAPTIONS:
            raise FormatError(f"{path}: image {i} has {len(keys)} captions, expected {_CAPTIONS} or more")
        if rows[i].shape != rows[0].shape or rows[i].ndim != 1:
            raise FormatError(
                f"{path}: features[{i}] has shape {list(rows[i].shape)}, expected a vector like the others"
            )
    if not rows:
        raise FormatError(f"{path} holds no images")
    return _float32(path, rows), text


def _unpickled(path: Path, file: BinaryIO) -> Any:
    content = read_pickle(path, file)
    if isinstance(content, dict) and isinstance(content.get("features"), PickledArray):
        try:
            content["features"] = list(content["features"].array())
        except Exception as error:  # damaged arrays raise many kinds of errors in NumPy
            raise FormatError(f"{path}: {type(error).__name__}: {error}") from error
    return content
