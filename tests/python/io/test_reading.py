"""Readers name the file and the position, and do not allocate memory by sizes in a header."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import sentencode as se
from sentencode.evaluation import Curve, Interval, Report, TaskResult
from sentencode.files import read_archive, read_json, read_text

BOUNDED = """
import resource, sys
import sentencode as se
se.WordVectors.default()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (300 << 20), resource.RLIM_INFINITY))
try:
    se.WordVectors.load(sys.argv[1])
except se.FormatError as error:
    print(error)
"""


def test_text_that_is_not_utf_8_is_named_with_its_line(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"one\ntwo\nthr\xffee\n")
    with pytest.raises(se.FormatError, match=rf"{path}, line 3: byte 11 is not UTF-8: 0xff"):
        read_text(path)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b'{"a": 1,}', "line 1, column 9: not JSON"),
        (b'{\n"a": \xff}', "line 2: byte 7 is not UTF-8"),
        (b'{"a": NaN}', "NaN is not a number"),
        (b"[" * 100_000, "not JSON"),
        (b"1" * 10_000, "not JSON"),
    ],
)
def test_invalid_json(tmp_path, content, match):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(se.FormatError, match=rf"a\.json.*{match}"):
        read_json(tmp_path / "a.json")


def archive(path, members, level=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", level) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return path


def npy(shape, body, dtype="<f4"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue() + body


def array(values):
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def bounded_load(path):
    done = subprocess.run([sys.executable, "-c", BOUNDED, path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_archive_that_would_unpack_to_too_much_is_refused_unread(tmp_path):
    bomb = archive(
        tmp_path / "bomb.npz", {"words": array(np.array(["a"])), "vectors": npy((1 << 26, 4), bytes(1 << 30))}
    )
    assert bomb.stat().st_size < 2_000_000
    assert "would unpack to 1,073,7" in bounded_load(bomb)


def test_an_array_larger_than_its_file_is_refused(tmp_path):
    lie = archive(
        tmp_path / "lie.npz", {"words": array(np.array(["a"])), "vectors": npy((1 << 40, 4), bytes(16))}
    )
    assert "array 'vectors': 16 bytes for float32 of shape [1099511627776, 4]" in bounded_load(lie)
    packed = zipfile.ZipInfo("words.npy")
    packed.file_size = 1 << 40
    for members in ({"words": b"no array"}, {"words": npy((1,), b"", "|O")}, {"words": npy((-1,), bytes(4))}):
        with pytest.raises(se.FormatError, match=r"lie\.npz"):
            read_archive(archive(tmp_path / "lie.npz", members), ["words"])


def test_an_archive_is_read_as_numpy_does(tmp_path):
    rng = np.random.default_rng(1)
    arrays = {
        "a": rng.normal(size=(3, 2)),
        "b": np.array(["x", "yz"]),
        "c": np.asfortranarray(rng.normal(size=(4, 5))),
    }
    np.savez_compressed(tmp_path / "a.npz", **arrays, d=np.arange(3))
    loaded = read_archive(tmp_path / "a.npz", ["a", "b", "c", "none"])
    assert list(loaded) == ["a", "b", "c"]
    for name, values in arrays.items():
        np.testing.assert_array_equal(loaded[name], values)


# --- reports


@pytest.fixture
def report(tmp_path):
    result = TaskResult("mine", {"acc": 61.5, "all": {"pearson": (0.5, 0.01)}}, {"acc": Interval(60.0, 63.0)})
    path = tmp_path / "report.json"
    curve = Curve((1, 2), (3.0, 4.0))
    Report("one", {"mine": result}, {"other": "no files"}, {"dim": 4}, {"mine": curve}).to_json(path)
    return path


def test_a_report_is_read_unchanged(report):
    loaded = Report.load(report)
    assert loaded["mine"].figures == {"acc": 61.5, "all": {"pearson": (0.5, 0.01)}}
    assert loaded["mine"].intervals == {"acc": Interval(60.0, 63.0)}
    assert loaded.to_json() == report.read_text()


CHANGES = {
    "no object": (lambda v: [], "is not a report"),
    "format": (lambda v: v | {"format": "x"}, "is not a report"),
    "later": (lambda v: v | {"version": 99}, "is of version 99"),
    "no version": (lambda v: v | {"version": "1"}, "is of version '1'"),
    "unknown": (lambda v: v | {"more": 1}, "the report has an unknown 'more'"),
    "missing": (lambda v: {k: one for k, one in v.items() if k != "facts"}, "the report has no 'facts'"),
    "encoder": (lambda v: v | {"encoder": 3}, "encoder: expected a string, got 3"),
    "skipped": (lambda v: v | {"skipped": {"a": 1}}, "skipped.a: expected a string, got 1"),
    "results": (lambda v: v | {"results": []}, "results: expected an object"),
    "figure": (
        lambda v: changed(v, "figures", {"acc": "many"}),
        r"figures\.acc: expected a number, got 'many'",
    ),
    "huge": (lambda v: changed(v, "figures", {"acc": 1e308}), r"figures\.acc: expected a number"),
    "truth": (lambda v: changed(v, "figures", {"acc": True}), r"figures\.acc: expected a number"),
    "interval": (lambda v: changed(v, "intervals", {"acc": [2, 1]}), "two rising numbers"),
    "ends": (lambda v: changed(v, "intervals", {"acc": [2]}), "two numbers, got"),
    "error": (lambda v: changed(v, "error", 5), "error: expected a string or null, got 5"),
    "lengths": (lambda v: changed(v, "judged", {"test": said(places=[1])}), "places: expected 2 numbers"),
    "places": (
        lambda v: changed(v, "judged", {"test": said(places=[0, -1])}),
        "places: expected numbers from 0 on, got -1",
    ),
    "words": (lambda v: changed(v, "judged", {"test": said(gold=["a", "b"])}), "gold: expected numbers"),
    "curve": (lambda v: v | {"curves": {"c": {"x": [2, 1], "y": [1, 1]}}}, "x must rise"),
    "curve's key": (lambda v: v | {"curves": {"c": {"z": 1}}}, "unexpected keyword argument 'z'"),
}


def changed(values, name, value):
    return values | {"results": {"mine": values["results"]["mine"] | {name: value}}}


def said(**other):
    return {"places": [0, 1], "predicted": [1, 0], "gold": [1, 1]} | other


@pytest.mark.parametrize("name", CHANGES)
def test_an_invalid_report_is_refused_with_the_position(report, name):
    change, match = CHANGES[name]
    report.write_text(json.dumps(change(json.loads(report.read_text()))))
    with pytest.raises(se.FormatError, match=match) as caught:
        Report.load(report)
    assert str(report) in str(caught.value)
