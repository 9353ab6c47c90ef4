"""Symbolic links are followed for outputs that the user named; else nothing is written through them."""

from __future__ import annotations

import ctypes
import os
import re
import struct
import threading
import types
from pathlib import Path

import numpy as np
import pytest

import sentencode as se
from sentencode.files import make_folder, whole_file
from sentencode.vectors import load as load_module

from .saved_files import TEXTS, WORDS, table

THEIRS = "another's"
MADE = re.compile(r"\.sentencode-part-[0-9]+-[0-9]+$|-[0-9a-f]{32}$")  # names that no one knows before


# --- writing


class Watch:
    """All names that exist in a folder and below at any moment while the block runs."""

    _CREATED, _MOVED, _ONLY_FOLDERS = 0x100, 0x80, 0x01000000

    def __init__(self, folder):
        self.root, self.names, self._folders = Path(folder), set(), {}
        self._libc = ctypes.CDLL(None, use_errno=True)

    def __enter__(self):
        self._fd = self._libc.inotify_init1(0)
        self._add(self.root)
        self._thread = threading.Thread(target=self._read)
        self._thread.start()
        return self

    def __exit__(self, *exception):
        (self.root / "ended").touch()
        self._thread.join()
        (self.root / "ended").unlink()
        os.close(self._fd)

    def _add(self, folder):
        mask = self._CREATED | self._MOVED | self._ONLY_FOLDERS
        number = self._libc.inotify_add_watch(self._fd, os.fsencode(folder), mask)
        if number >= 0:
            self._folders[number] = folder
            for path in folder.iterdir() if folder.is_dir() else ():  # made before it was watched
                self._found(path)

    def _found(self, path):
        self.names.add(str(path.relative_to(self.root)))
        if path.is_dir() and path not in self._folders.values():
            self._add(path)

    def _read(self):
        while True:
            data, at = os.read(self._fd, 1 << 16), 0
            while at < len(data):
                number, _, _, size = struct.unpack_from("iIII", data, at)
                name = os.fsdecode(data[at + 16 : at + 16 + size].rstrip(b"\0"))
                at += 16 + size
                if name == "ended":
                    return
                self._found(self._folders[number] / name)


# --- the jobs, each in a folder that the user named


def train(folder):
    from sentencode.training import CsvLog

    se.set_cache_dir(folder)
    encoder = se.MeanMaxAAE(
        table(), hidden=8, inner=8, heads=2, max_steps=4, batch_size=3, validate_every=2, device="cpu"
    )
    logs = [CsvLog(folder / "log.csv")]
    encoder.fit(TEXTS * 4, valid=TEXTS, checkpoints=folder, callbacks=logs, show_progress_bar=False)


def build(folder):
    """Examples of a source that is read only by Python, in several shards."""
    from sentencode.training import Examples

    se.set_cache_dir(folder)
    words = se.Vocabulary(dict.fromkeys(WORDS, 1))
    Examples.build(TEXTS * 4, words, se.Tokenizer(str.split), shard_examples=5)


def distill(folder):
    teacher = table()
    se.WordVectors.distill(lambda texts: se.Average(teacher).encode(texts), TEXTS, penalty=1.0, cache=folder)


def distill_into_the_cache(folder):
    se.set_cache_dir(folder)
    se.WordVectors.distill(se.Average(table()), TEXTS, penalty=1.0)


def cache_vectors(folder):
    se.set_cache_dir(folder)
    text = folder.parent / "vectors.txt"
    if not text.exists():
        rows = np.random.default_rng(0).normal(size=(len(WORDS), 4))
        text.write_text(
            "".join(f"{w} {' '.join(map(str, row))}\n" for w, row in zip(WORDS, rows, strict=True))
        )
        os.utime(text, (1, 1))
    se.WordVectors.load(text)


def lines_in(folder):
    path = folder.parent / "lines.txt"
    path.write_text("".join(f"{text}\n" for text in TEXTS * 9))
    return path


def scale_encode(folder):
    pytest.importorskip("pyarrow")
    se.set_cache_dir(folder.parent / "cache of encoders")
    se.scale.encode(se.Average(table()), lines_in(folder), folder, workers=1, shard_size=500)


def scale_encoder(folder):
    """The file of an encoder that was given as an object."""
    pytest.importorskip("pyarrow")
    se.set_cache_dir(folder)
    output = folder.parent / "encoded"
    se.scale.encode(se.Average(table()), lines_in(folder), output, workers=1, overwrite=True)


def scale_fit(folder):
    pytest.importorskip("pyarrow")
    se.scale.fit(se.SIF(table()), lines_in(folder), scratch=folder, workers=1, shard_size=500)


def encode_file(folder):
    from sentencode.cli.encode import encode_file

    encode_file(se.Average(table()), lines_in(folder), folder / "rows.npy", restart=True)


def evaluate(folder):
    from sentencode.evaluation import load_tsv_task

    path = folder.parent / "task.tsv"
    path.write_text("".join(f"{i % 2}\t{text} {i}\n" for i, text in enumerate(TEXTS * 9)))
    se.evaluate(se.Average(table()), load_tsv_task("classification", path), cache=folder)


JOBS = [
    *(train, build, distill, distill_into_the_cache, cache_vectors, scale_encode, scale_encoder),
    *(scale_fit, encode_file, evaluate),
]
NAMED = {(encode_file, "rows.npy")}  # by the user


@pytest.fixture(autouse=True)
def _settings(monkeypatch):
    monkeypatch.setattr(load_module, "_CACHED_FROM", 100)
    yield
    se.set_cache_dir(None)


def content_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*are built again:UserWarning")
@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.__name__)
def test_no_file_is_written_through_a_link(job, tmp_path):
    if job is train:
        pytest.importorskip("torch")
    first = tmp_path / "first" / "folder"
    first.mkdir(parents=True)
    with Watch(first) as watch:
        job(first)
    names = sorted(name for name in watch.names if not MADE.search(name))
    assert names
    tried = 0
    for i, name in enumerate(names):
        if (job, name) in NAMED:
            continue
        folder, elsewhere = tmp_path / f"{i}" / "folder", tmp_path / f"{i}" / "elsewhere"
        elsewhere.mkdir(parents=True)
        (folder / name).parent.mkdir(parents=True)
        for target in ("folder", "file"):
            if target == "folder" and not (first / name).is_dir() and not name.endswith(".parts"):
                continue
            (folder / name).unlink(missing_ok=True)
            if target == "folder":
                (elsewhere / "folder").mkdir()
                (elsewhere / "folder" / "file").write_text(THEIRS)
            else:
                (elsewhere / "file").write_text(THEIRS)
            (folder / name).symlink_to(elsewhere / target)
            before, refused = content_of(elsewhere), str(folder)
            try:
                job(folder)
            except (OSError, ValueError) as error:
                refused = str(error)
            assert str(folder) in refused, name  # it says which name it is about
            assert content_of(elsewhere) == before, (name, target)
            tried += 1
    assert tried


@pytest.mark.parametrize("dangling", [False, True])
def test_a_log_that_is_a_link_is_refused(tmp_path, dangling):
    from sentencode.training import CsvLog
    from sentencode.training.history import Step

    (tmp_path / "log.csv").symlink_to(tmp_path / "elsewhere")
    if not dangling:
        (tmp_path / "elsewhere").write_text(THEIRS)
    log = CsvLog(tmp_path / "log.csv")
    trainer = types.SimpleNamespace(rank=0)
    with pytest.raises(OSError, match=r"is a symbolic link.*log\.csv"):
        log.on_step(trainer, Step(1, 0, 1.0, 1.0, 0.1, 1.0, 3, 9, 0.5))
    if dangling:
        assert not (tmp_path / "elsewhere").exists()
    else:
        assert (tmp_path / "elsewhere").read_text() == THEIRS


def test_temporary_files_are_no_links(tmp_path):
    """Whoever guesses the names of the next temporary files gets none of the content."""
    with whole_file(tmp_path / "first") as file:
        (part,) = tmp_path.iterdir()
        file.write(b"1")
    begin, _, number = part.name.rpartition("-")
    (tmp_path / "elsewhere").write_text(THEIRS)
    for i in range(20):
        name = f"{begin}-{int(number) + 1 + i}".replace("first", "second")
        (tmp_path / name).symlink_to(tmp_path / "elsewhere")
    with whole_file(tmp_path / "second") as file:
        file.write(b"2")
    assert (tmp_path / "second").read_bytes() == b"2"
    assert (tmp_path / "elsewhere").read_text() == THEIRS


def test_outputs_that_the_user_named_are_written_where_links_lead(tmp_path):
    from sentencode.evaluation import Report, write_html
    from sentencode.text import Moses, NgramModel

    report = Report("one", {})
    model = NgramModel(2)
    model.fit(TEXTS * 9)
    writers = {
        "vectors": table().save,
        "text": table().export,
        "encoder": se.Average(table()).save,
        "words": se.Vocabulary({"cat": 1}).write,
        "json": report.to_json,
        "page": report.to_html,
        "pages": lambda path: write_html([report], path),
        "moses": Moses("en").learn(TEXTS).save,
        "arpa": model.write_arpa,
    }
    (tmp_path / "elsewhere").mkdir()
    for name, write in writers.items():
        target = tmp_path / "elsewhere" / name
        target.write_text("old")
        (tmp_path / name).symlink_to(target)
        write(tmp_path / name)
        assert (tmp_path / name).is_symlink()
        assert target.read_bytes() not in (b"", b"old")
        target.unlink()
        with pytest.raises(OSError, match="cannot follow the symbolic link"):
            write(tmp_path / name)


def test_a_folder_of_ours_is_no_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "ours").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"is a symbolic link.*name its target: .*ours"):
        make_folder(tmp_path / "ours")
    with pytest.raises(OSError, match=r"is a symbolic link"):
        make_folder(tmp_path / "ours" / "below", within=tmp_path)
    assert make_folder(tmp_path / "ours" / "below").is_dir()  # in a folder that the user named
