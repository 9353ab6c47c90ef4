from __future__ import annotations

import collections
import io
import os
import pickle
import struct
import zipfile

import numpy as np
import pytest

from sentencode.errors import FormatError
from sentencode.evaluation import convert_coco_pickles, load_task

NAME = "ImageCaptionRetrieval"
FEATURES = np.arange(6, dtype=np.float32).reshape(2, 3)
CAPTIONS = [f"a  caption {i} ." for i in range(10)]
IMAGES = np.repeat([1, 0], 5)


def coco(folder, name):
    (folder / "downstream" / "COCO").mkdir(parents=True, exist_ok=True)
    return folder / "downstream" / "COCO" / name


def save(folder, name="test.npz", **changes):
    arrays = {"features": FEATURES, "captions": np.array(CAPTIONS), "images": IMAGES} | changes
    np.savez(coco(folder, name), **{key: array for key, array in arrays.items() if array is not None})


def load_test(folder):
    return load_task(NAME, folder, partial=True, splits=["test"])["test"]


@pytest.mark.parametrize(
    "captions", [np.array(CAPTIONS), np.frombuffer("\n".join(CAPTIONS).encode(), np.uint8)]
)
def test_reads_archives(tmp_path, captions):
    for name in ("train.npz", "valid.npz", "test.npz"):
        save(tmp_path, name, captions=captions, features=FEATURES.astype(np.float64))
    task = load_task(NAME, tmp_path, partial=True)
    assert (task.kind.question, list(task.splits)) == ("retrieval", ["train", "dev", "test"])
    for split in task.splits.values():
        assert split.sentences == ([f"a caption {i} ." for i in (5, 6, 7, 8, 9, 0, 1, 2, 3, 4)],)
        assert split.labels.tolist() == [0] * 5 + [1] * 5
        assert split.images.dtype == np.float32
        np.testing.assert_array_equal(split.images, FEATURES)


def test_published_number_of_images(tmp_path):
    save(tmp_path)
    with pytest.raises(FormatError, match=r"test.npz holds 2 examples, but 5000 were published"):
        load_task(NAME, tmp_path, splits=["test"])


def test_missing_archives_are_named(tmp_path):
    save(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"train.npz, .*valid.npz are missing: convert_coco_pickles"):
        load_task(NAME, tmp_path)


BROKEN = {
    "no features": ({"features": None}, "test.npz: has no array 'features'"),
    "features of one image": (
        {"features": FEATURES[0]},
        r"'features' must be floats \[images, d\], is float32 of",
    ),
    "whole numbers": ({"features": FEATURES.astype(int)}, "'features' must be floats"),
    "objects": (
        {"captions": np.array([None] * 10)},
        "test.npz: a damaged NumPy archive, or one that needs pickle",
    ),
    "numbers for captions": ({"captions": np.zeros(10)}, "'captions' must be strings .* is float64 of shape"),
    "latin-1": ({"captions": np.frombuffer(b"caf\xe9 x", np.uint8)}, "byte 4 of 'captions' is not utf-8"),
    "fewer captions": (
        {"captions": np.array(CAPTIONS[:9])},
        r"one for each of 9 captions, is int64 of shape \[10\]",
    ),
    "fractions": ({"images": IMAGES / 2}, "'images' must be integers"),
    "unknown image": ({"images": IMAGES + 1}, r"images\[0\] is 2, but 'features' has 2 rows"),
    "negative image": ({"images": IMAGES - 1}, r"images\[5\] is -1, but"),
    "four captions": ({"images": np.array([0] * 4 + [1] * 6)}, "image 0 has 4 captions, expected 5"),
    "nan": ({"features": np.array([[1, 2], [np.nan, 3]])}, r"features\[1\] has a value that is not a finite"),
    "too large": (
        {"features": np.array([[1e99, 2], [2, 3]])},
        r"features\[0\] has a value that is not a finite",
    ),
    "no images": (
        {"features": FEATURES[:0], "captions": np.array([""])[:0], "images": IMAGES[:0]},
        "no examples",
    ),
}


@pytest.mark.parametrize(("changes", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_damaged_archives_are_refused(tmp_path, changes, message):
    save(tmp_path, **changes)
    with pytest.raises(FormatError, match=message):
        load_test(tmp_path)


def test_damaged_archives(tmp_path):
    save(tmp_path)
    path = coco(tmp_path, "test.npz")
    whole = path.read_bytes()
    for content in (b"", whole[: len(whole) // 2], b"text\n", whole.replace(b"caption", b"kaption", 1)):
        path.write_bytes(content)
        with pytest.raises(FormatError, match=r"test.npz: a damaged NumPy archive"):
            load_test(tmp_path)
    np.save(path.with_suffix(".npy"), FEATURES)
    path.with_suffix(".npy").replace(path)
    with pytest.raises(FormatError, match=r"test.npz: "):
        load_test(tmp_path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "x")
    with pytest.raises(FormatError, match=r"has no array 'features' and 'captions' and 'images'"):
        load_test(tmp_path)


class Python2Pickler(pickle._Pickler):
    """Writes bytes as Python 2 wrote its strings."""

    def save_string(self, value):
        self.write(pickle.BINSTRING + struct.pack("<i", len(value)) + value)

    dispatch = pickle._Pickler.dispatch | {bytes: save_string}


def python_2(content):
    file = io.BytesIO()
    Python2Pickler(file, protocol=2).dump(content)
    return file.getvalue()


def content(features):
    """Two images with six and five captions, in the format of SentEval's files."""
    return {
        "features": features,
        "image_to_caption_ids": {0: [16, 10, 11, 12, 13, 14], 1: [0, 1, 2, 3, 4]},
        "captions": {
            i: {"cleaned_caption": "caf\xe9" if i == 16 else f"view  {i}", "image_id": 3} for i in range(17)
        },
    }


FORTRAN = np.asfortranarray(FEATURES)
SHAPES = {
    "matrix": FEATURES,
    "rows": list(FEATURES),
    "columns first": FORTRAN,
    "big-endian doubles": FEATURES.astype(">f8"),
    "lists": FEATURES.tolist(),
}


@pytest.mark.parametrize("dumps", [python_2, *(lambda c, p=p: pickle.dumps(c, p) for p in (2, 3, 4))])
@pytest.mark.parametrize("features", SHAPES.values(), ids=SHAPES.keys())
def test_converts_pickles(tmp_path, features, dumps):
    coco(tmp_path, "valid.pkl").write_bytes(dumps(content(features)))
    target = tmp_path / "COCO"
    target.mkdir()
    assert convert_coco_pickles(coco(tmp_path, ""), target) == [target / "valid.npz"]
    assert list(target.iterdir()) == [target / "valid.npz"]
    convert_coco_pickles(coco(tmp_path, ""))
    dev = load_task(NAME, tmp_path, partial=True, splits=["dev"])["dev"]
    expected = ["caf\xe9", *(f"view {i}" for i in (10, 11, 12, 13, 0, 1, 2, 3, 4))]
    assert dev.sentences == ([f"{caption} ." for caption in expected],)
    assert dev.labels.tolist() == [0] * 5 + [1] * 5
    np.testing.assert_array_equal(dev.images, FEATURES)


class Evil:
    def __init__(self, what, *arguments):
        self.reduced = (what, arguments)

    def __reduce__(self):
        return self.reduced


def test_pickles_run_no_code(tmp_path):
    witness = tmp_path / "witness"
    for evil in (Evil(os.mkdir, str(witness)), Evil(eval, f"__import__('os').mkdir({str(witness)!r})")):
        pickled = pickle.dumps({"features": evil})
        pickle.loads(pickled)  # it would work
        witness.rmdir()
        coco(tmp_path, "test.pkl").write_bytes(pickled)
        with pytest.raises(
            FormatError, match=r"test.pkl: UnpicklingError: contains \w+\.\w+, which is not data"
        ):
            convert_coco_pickles(coco(tmp_path, ""))
        assert not witness.exists()


ODD = {
    "class": (collections.OrderedDict(), "contains collections.OrderedDict, which is not data"),
    "objects": (content(np.array([None])), r"an array of 'O8', expected floats"),
    "number": (5, "expected 'features', 'image_to_caption_ids' and 'captions'.*TypeError"),
    "other keys": ({"images": []}, "expected 'features', .*KeyError: 'features'"),
    "no images": (content([]), "test.pkl holds no images"),
    "image without captions": (content([[1.0]] * 3), "KeyError: 2"),
    "ragged": (
        content([[1.0], [1.0, 2.0]]),
        r"features\[1\] has shape \[2\], expected a vector like the others",
    ),
    "too large": (content([[1e99], [1.0]]), r"features\[0\] has a value that is not a finite float32"),
    "surrogate": (
        content(FEATURES) | {"captions": {i: {"cleaned_caption": "\ud800"} for i in range(17)}},
        "UnicodeEncodeError",
    ),
    "words": (content([["a"], ["b"]]), "ValueError"),
    "few captions": (content(FEATURES) | {"image_to_caption_ids": [[0], [1]]}, "image 0 has 1 captions"),
}


@pytest.mark.parametrize(("odd", "message"), ODD.values(), ids=ODD.keys())
def test_damaged_pickles_are_refused(tmp_path, odd, message):
    coco(tmp_path, "test.pkl").write_bytes(pickle.dumps(odd, 2))
    with pytest.raises(FormatError, match=message):
        convert_coco_pickles(coco(tmp_path, ""))
    assert not coco(tmp_path, "test.npz").exists()


def test_damaged_pickles(tmp_path):
    path = coco(tmp_path, "test.pkl")
    whole = pickle.dumps(content(FEATURES), 2)
    shape = pickle.dumps(content(FEATURES), 2).replace(
        b"K\x02K\x03\x86", b"K\x02K\x04\x86"
    )  # 8 numbers, bytes of 6
    assert shape != whole
    for damaged in (b"", whole[: len(whole) // 2], b"text\n", shape):
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match=r"test.pkl: "):
            convert_coco_pickles(path.parent)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"has none of train.pkl, valid.pkl, test.pkl"):
        convert_coco_pickles(path.parent)
