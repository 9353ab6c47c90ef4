"""`sentencode encode`: complete, interrupted, killed and resumed runs, and changed inputs."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import sentencode as se
from sentencode.cli import main, part_file, sources
from sentencode.cli.encode import encode_file

LINES = [f"the {'dog ' * (i % 5)} {'cat' if i % 3 else ''} number{i}" for i in range(1000)]
LINES[17] = LINES[400] = ""


@pytest.fixture(scope="module")
def vectors():
    rng = np.random.default_rng(3)
    return se.WordVectors.from_array(["the", "dog", "cat"], rng.normal(size=(3, 5)), [90, 9, 1])


@pytest.fixture
def files(tmp_path, vectors):
    text = tmp_path / "lines.txt"
    text.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    vectors.save(tmp_path / "vectors.sentencode")
    encoder = se.SIF(vectors).fit(LINES)
    encoder.save(tmp_path / "sif.sentencode")
    return tmp_path, encoder


class Interrupting:
    """An encoder that is interrupted after some batches."""

    def __init__(self, encoder, batches):
        self.encoder, self.left, self.encoded = encoder, batches, 0
        self.dim, self.fingerprint = encoder.dim, encoder.fingerprint

    def encode(self, batch, **options):
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        self.encoded += len(batch)
        return self.encoder.encode(batch, **options)


def arguments(folder, *more):
    return [
        "encode",
        "--encoder",
        str(folder / "sif.sentencode"),
        str(folder / "lines.txt"),
        str(folder / "rows.npy"),
        "--quiet",
        *more,
    ]


def rows_left(folder):
    return json.loads((folder / "rows.npy.part.json").read_text())["rows"]


@pytest.mark.parametrize("batch_size", ["1", "7", "5000"])
def test_row_i_is_line_i(files, batch_size, capsys):
    folder, encoder = files
    assert main(arguments(folder, "--batch-size", batch_size)) == 0
    rows = np.load(folder / "rows.npy")
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    np.testing.assert_allclose(rows, encoder.encode(LINES), atol=1e-6)
    assert not rows[17].any()
    assert capsys.readouterr().out == f"{folder / 'rows.npy'}: 1000 rows of 5\n"
    assert sorted(p.name for p in folder.iterdir() if "rows" in p.name) == ["rows.npy"]


def test_options(files):
    folder, encoder = files
    assert main(arguments(folder, "--precision", "float16", "--normalize", "--threads", "1")) == 0
    rows = np.load(folder / "rows.npy", mmap_mode="r")
    assert rows.dtype == np.float16
    expected = encoder.encode(LINES, normalize_embeddings=True)
    np.testing.assert_allclose(rows, expected, atol=1e-3)
    se.set_num_threads(2)


def test_quantized_with_stored_ranges(files, capsys, fails):
    folder, encoder = files
    ranges, rows = folder / "ranges.npy", folder / "rows.npy"
    (folder / "sample.txt").write_text("\n".join(LINES[:50]))
    int8 = ["--precision", "int8", "--truncate-dim", "3", "--ranges", str(ranges)]
    assert main(arguments(folder, *int8, "--calibrate", str(folder / "sample.txt"))) == 0
    assert capsys.readouterr().out == f"{rows}: 1000 rows of 3\n"
    sample = [line for line in LINES[:50] if line.strip()]
    np.testing.assert_array_equal(np.load(ranges), encoder.calibrate(sample, truncate_dim=3))
    expected = encoder.encode(LINES, precision="int8", truncate_dim=3, ranges=np.load(ranges))
    assert np.load(rows).dtype == np.int8
    np.testing.assert_array_equal(np.load(rows), expected)
    # The ranges that exist are used, whatever the sample is now.
    (folder / "sample.txt").write_text("other")
    assert main(arguments(folder, *int8, "--calibrate", str(folder / "sample.txt"), "--overwrite")) == 0
    np.testing.assert_array_equal(np.load(rows), expected)
    assert main(arguments(folder, "--precision", "ubinary", "--overwrite")) == 0
    np.testing.assert_array_equal(np.load(rows), encoder.encode(LINES, precision="ubinary"))
    assert np.load(rows).shape == (1000, 1)
    fails(arguments(folder, "--precision", "int8", "--overwrite"), "requires --ranges", 2)
    fails(arguments(folder, "--calibrate", "x", "--overwrite"), "--calibrate requires --ranges FILE", 2)
    fails(
        arguments(folder, "--ranges", "x", "--calibrate", "y", "--overwrite"),
        "--ranges requires --precision int8 or uint8, got float32",
        2,
    )
    rows.unlink()
    for same in (rows, folder / "rows.npy.part"):
        own = ["--ranges", str(same), "--calibrate", str(folder / "lines.txt"), "--precision", "int8"]
        fails(arguments(folder, *own, "--overwrite"), f"{same} is also written", 2)
    assert not rows.exists()
    ranges.write_bytes(b"no array")
    fails(arguments(folder, *int8, "--overwrite"), "ranges.npy")


def test_packed_text(files):
    folder, encoder = files
    with gzip.open(folder / "lines.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(LINES))
    assert encode_file(encoder, folder / "lines.gz", folder / "rows.npy") == 1000
    np.testing.assert_allclose(np.load(folder / "rows.npy"), encoder.encode(LINES), atol=1e-6)


def test_no_lines(files):
    folder, encoder = files
    (folder / "none.txt").write_text("")
    assert encode_file(encoder, folder / "none.txt", folder / "rows.npy") == 0
    assert np.load(folder / "rows.npy").shape == (0, 5)


@pytest.mark.parametrize("batches", [0, 1, 4])
@pytest.mark.parametrize("next_size", [100, 30, 1000])
def test_interrupted_work_resumes(files, batches, next_size):
    folder, encoder = files
    with pytest.raises(KeyboardInterrupt):
        encode_file(Interrupting(encoder, batches), folder / "lines.txt", folder / "rows.npy", batch_size=100)
    assert not (folder / "rows.npy").exists()
    assert rows_left(folder) == 100 * batches
    second = Interrupting(encoder, -1)
    rows = encode_file(second, folder / "lines.txt", folder / "rows.npy", batch_size=next_size)
    assert rows == 1000
    assert second.encoded <= 1000 - 100 * batches + next_size  # finished rows are not encoded again
    np.testing.assert_array_equal(np.load(folder / "rows.npy"), encoder.encode(LINES))
    assert not (folder / "rows.npy.part.json").exists()


def test_interrupted_twice(files):
    folder, encoder = files
    for batches in (2, 3):
        with pytest.raises(KeyboardInterrupt):
            encode_file(
                Interrupting(encoder, batches), folder / "lines.txt", folder / "rows.npy", batch_size=100
            )
    assert rows_left(folder) == 500
    assert main(arguments(folder)) == 0
    np.testing.assert_array_equal(np.load(folder / "rows.npy"), encoder.encode(LINES))


def test_rows_missing_on_disk_are_encoded_again(files):
    folder, encoder = files
    with pytest.raises(KeyboardInterrupt):
        encode_file(Interrupting(encoder, 5), folder / "lines.txt", folder / "rows.npy", batch_size=100)
    part = folder / "rows.npy.part"
    os.truncate(part, part.stat().st_size - 33)
    assert main(arguments(folder)) == 0
    np.testing.assert_array_equal(np.load(folder / "rows.npy"), encoder.encode(LINES))


@pytest.mark.parametrize("change", ["text", "encoder", "precision", "normalize", "truncate", "state"])
def test_other_work_is_not_continued(files, change, capsys, vectors):
    folder, encoder = files
    with pytest.raises(KeyboardInterrupt):
        encode_file(Interrupting(encoder, 5), folder / "lines.txt", folder / "rows.npy", batch_size=100)
    more = []
    if change == "text":
        (folder / "lines.txt").write_text("\n".join(LINES).replace("number3", "number4"))
    elif change == "encoder":
        se.SIF(vectors, components=2).fit(LINES).save(folder / "sif.sentencode")
    elif change == "precision":
        more = ["--precision", "float16"]
    elif change == "normalize":
        more = ["--normalize"]
    elif change == "truncate":
        more = ["--truncate-dim", "2"]
    else:
        (folder / "rows.npy.part.json").write_text("{")
    assert main(arguments(folder, *more)) == 1
    error = capsys.readouterr().err
    assert "--overwrite starts over" in error
    assert error.count("\n") == 1
    assert main(arguments(folder, *more, "--overwrite")) == 0
    assert len(np.load(folder / "rows.npy")) == 1000


def test_work_with_an_option_is_not_continued_without_it(files, fails):
    folder, encoder = files
    with pytest.raises(KeyboardInterrupt):
        encode_file(
            Interrupting(encoder, 5),
            folder / "lines.txt",
            folder / "rows.npy",
            batch_size=100,
            truncate_dim=2,
        )
    fails(arguments(folder), "was made with truncate_dim = 2, now None; --overwrite starts over")


def test_existing_output_is_not_replaced(files, fails):
    folder, _ = files
    (folder / "rows.npy").write_text("precious")
    fails(arguments(folder), "rows.npy: exists already; --overwrite replaces it")
    assert (folder / "rows.npy").read_text() == "precious"


@pytest.mark.parametrize("name", ["lines.txt", "sif.sentencode", "same.txt", "./lines.txt"])
def test_inputs_are_not_overwritten(files, name, fails):
    folder, _ = files
    (folder / "same.txt").symlink_to(folder / "lines.txt")
    content = (folder / name).read_bytes()
    paths = [str(folder / "lines.txt"), f"{folder}/{name}"]
    command = ["encode", "--encoder", str(folder / "sif.sentencode"), *paths, "--quiet", "--overwrite"]
    fails(command, f"{folder / name} is an input: give another output file", status=2)
    assert (folder / name).read_bytes() == content


def test_a_saved_encoder_is_not_replaced(files, fails):
    folder, _ = files
    precious, lines = folder / "sif.sentencode", str(folder / "lines.txt")
    content = precious.read_bytes()
    make = ["encode", lines, str(folder / "rows.npy"), "--kind", "average", "--quiet"]
    fails([*make, "--save", str(precious)], f"{precious}: exists already; --overwrite replaces it")
    assert main([*make, "--save", lines, "--overwrite"]) == 2
    assert main([*make, "--save", str(folder / "rows.npy"), "--overwrite"]) == 2
    fails(
        [*make, "--save", str(folder / "none" / "x.sentencode")],
        f"{folder / 'none'}: there is no such folder",
    )
    assert not (folder / "rows.npy").exists()
    assert precious.read_bytes() == content
    assert main([*make, "--save", str(precious), "--overwrite"]) == 0
    assert isinstance(se.load(precious), se.Average)


SLOW = """
import sys, time
from pathlib import Path
import sentencode as se
from sentencode.cli import main, part_file
part_file._SAVE_EVERY = 0
whole = se.SIF.encode
se.SIF.encode = lambda *a, **k: (time.sleep(0.02), whole(*a, **k))[1]
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(("signum", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_process_that_is_stopped(files, signum, status):
    folder, encoder = files
    command = [sys.executable, "-c", SLOW, *arguments(folder, "--batch-size", "10")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (folder / "rows.npy.part.json").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.2)
    process.send_signal(signum)
    _, error = process.communicate(timeout=60)
    assert process.returncode == status
    assert "Traceback" not in error
    assert 0 < rows_left(folder) < 1000
    assert main(arguments(folder)) == 0
    np.testing.assert_array_equal(np.load(folder / "rows.npy"), encoder.encode(LINES))


# Kills the process at many lines of these files in turn, all the last ones too, and gives the command again.
KILLED = """
import contextlib, io, os, signal, sys
from pathlib import Path
import numpy as np
import sentencode as se
from sentencode import files
from sentencode.cli import encode, main, part_file
part_file._SAVE_FIRST = part_file._SAVE_EVERY = 0
encode._FIRST_LINES = 400
places = {encode.__file__, part_file.__file__, files.__file__}
output = Path(sys.argv[5])

def child(work):
    pid = os.fork()
    if pid == 0:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            os._exit(work())
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def killed_at(number):
    seen = 0

    def look(frame, event, argument):
        nonlocal seen
        if frame.f_code.co_filename not in places:
            return None
        seen += event == "line"
        if seen == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return look

    sys.settrace(look)
    status = main(sys.argv[1:])
    sys.settrace(None)
    os.write(counted[1], str(seen).encode())
    return status

there = sorted(os.listdir(output.parent))
counted = os.pipe()
assert child(lambda: killed_at(None)) == 0
lines = int(os.read(counted[0], 20))
expected = output.read_bytes()
output.unlink()
refused = 0
for number in sorted({*range(1, lines, lines // 10), *range(lines - 12, lines + 1)}):
    assert child(lambda: killed_at(number)) == -signal.SIGKILL
    again = child(lambda: main(sys.argv[1:]))
    finished = again == 1  # it was, and is not replaced
    assert again == 0 or finished, (number, again)
    refused += finished
    assert output.read_bytes() == expected, number
    names = sorted(os.listdir(output.parent))
    assert names == sorted([*there, output.name]), (number, names)
    output.unlink()
print(lines, refused)
"""


@pytest.mark.parametrize("name", ["rows.npy", "rows.csv"])
def test_a_process_that_is_killed_at_any_line(files, name):
    folder, _ = files
    (folder / "lines.txt").write_text("\n".join(LINES), encoding="utf-8")
    command = ["encode", "--encoder", str(folder / "sif.sentencode"), str(folder / "lines.txt")]
    command += [str(folder / name), "--quiet", "--batch-size", "400"]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines, refused = map(int, done.stdout.split())
    assert lines > 80
    assert refused < 12  # it was finished


def test_two_processes_do_not_write_one_file(files, capsys):
    folder, encoder = files

    class Meanwhile(Interrupting):
        """Before the second batch, another process runs the same command."""

        def encode(self, batch, **options):
            if self.left == -2:
                assert main(arguments(folder)) == 1
                assert main(arguments(folder, "--overwrite")) == 1
            return super().encode(batch, **options)

    assert encode_file(Meanwhile(encoder, -1), folder / "lines.txt", folder / "rows.npy", batch_size=100)
    error = f"sentencode: error: another process is writing {folder / 'rows.npy.part'}\n"
    assert capsys.readouterr().err == 2 * error
    np.testing.assert_array_equal(np.load(folder / "rows.npy"), encoder.encode(LINES))


def test_a_file_finished_by_another_process_is_not_replaced(files, monkeypatch):
    folder, _ = files
    flock = part_file.fcntl.flock

    def finish_first(file, operation):
        os.replace(folder / "rows.npy.part", folder / "rows.npy")
        (folder / "rows.npy").write_text("finished")
        flock(file, operation)

    monkeypatch.setattr(part_file.fcntl, "flock", finish_first)
    assert main(arguments(folder)) == 1
    assert (folder / "rows.npy").read_text() == "finished"


FULL = """
import resource, signal, sys
from sentencode.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (12_345, 12_345))
sys.exit(main(sys.argv[1:]))
"""


def test_a_full_disk_is_reported_and_work_resumes(files):
    folder, encoder = files
    command = [sys.executable, "-c", FULL, *arguments(folder, "--batch-size", "10")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"sentencode: error: {folder / 'rows.npy.part'}: File too large\n"
    assert 100 < rows_left(folder) < 600
    assert sorted(p.name for p in folder.glob("rows*")) == ["rows.npy.part", "rows.npy.part.json"]
    second = Interrupting(encoder, -1)
    assert encode_file(second, folder / "lines.txt", folder / "rows.npy", batch_size=10) == 1000
    assert second.encoded < 900
    np.testing.assert_array_equal(np.load(folder / "rows.npy"), encoder.encode(LINES))


def test_encoders_fitted_by_the_command(files):
    folder, _ = files
    paths = [str(folder / "lines.txt"), str(folder / "rows.npy"), "--quiet", "--overwrite"]
    vectors = ["--vectors", str(folder / "vectors.sentencode")]
    parameters = ["--set", "a=0.01", "--set", "lowercase=false"]
    assert main(["encode", "--kind", "average", *vectors, *parameters, *paths]) == 0
    table = se.WordVectors.load(folder / "vectors.sentencode")
    expected = se.Average(table, a=0.01, lowercase=False).encode(LINES)
    np.testing.assert_allclose(np.load(folder / "rows.npy"), expected, atol=1e-6)
    saved = folder / "laes.sentencode"
    command = ["encode", "--kind", "laes", *vectors, "--fit", str(folder / "lines.txt"), "--save", str(saved)]
    assert main([*command, "--set", "mode=residual", "--set", "hidden=2", *paths]) == 0
    np.testing.assert_allclose(np.load(folder / "rows.npy"), se.load(saved).encode(LINES), atol=1e-6)
    assert se.load(saved).mode == "residual"


@pytest.mark.parametrize(
    ("more", "status", "message"),
    [
        ([], 2, "give either --encoder FILE or --kind"),
        (["--kind", "sif", "--encoder", "x"], 2, "give either --encoder FILE or --kind"),
        (["--encoder", "x", "--set", "a=1"], 2, "--set requires --kind and excludes --encoder"),
        (
            ["--kind", "sif", "--vectors", "VECTORS"],
            2,
            "--kind sif must be fitted: give its training sentences with --fit FILE",
        ),
        (
            ["--kind", "sif", "--vectors", "VECTORS", "--set", "components"],
            2,
            "expected NAME=VALUE, got 'components'",
        ),
        (
            ["--kind", "sif", "--vectors", "VECTORS", "--set", "a=true"],
            2,
            "a must be a number or false, for None",
        ),
        (["--kind", "sif", "--vectors", "VECTORS", "--set", "component=1"], 2, "it has a, components, "),
        (
            ["--kind", "sif", "--vectors", "VECTORS", "--set", "components=1.5"],
            2,
            "--set: components must be a whole number, got 1.5 (float)",
        ),
        (
            ["--kind", "laes", "--vectors", "VECTORS", "--set", "mode=3"],
            2,
            "--set: mode must be text, got 3 (int)",
        ),
        (
            ["--kind", "average", "--vectors", "VECTORS", "--set", "lowercase='no'"],
            1,
            "lowercase must be True, False or 'auto', got 'no'",
        ),
        (["--encoder", "x", "--save", "y"], 2, "--save requires --kind and excludes --encoder"),
        (["--encoder", "nowhere"], 1, "nowhere"),
        (["--encoder", "TEXT"], 1, "lines.txt"),
        (
            ["--kind", "average", "--vectors", "VECTORS", "--threads", "0"],
            1,
            "threads must be at least 1, got 0",
        ),
    ],
)
def test_errors_are_one_line(files, capsys, more, status, message):
    folder, _ = files
    names = {"VECTORS": str(folder / "vectors.sentencode"), "TEXT": str(folder / "lines.txt")}
    more = [names.get(word, word) for word in more]
    assert main(["encode", str(folder / "lines.txt"), str(folder / "out.npy"), *more]) == status
    error = capsys.readouterr().err
    assert error.startswith("sentencode: error: ")
    assert message in error
    assert error.count("\n") == 1
    assert not (folder / "out.npy").exists()


def test_debug_shows_the_traceback(files, fails):
    folder, _ = files
    fails(["encode", str(folder / "lines.txt"), "x", "--encoder", "nowhere", "--debug"], "Traceback")


def test_identity(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    assert sources.identity(path)["bytes"] == 3
    first = sources.identity(path)
    path.write_bytes(b"abd")
    assert sources.identity(path) != first
    with open(path, "wb") as file:  # larger than the part that is hashed
        file.truncate(100 << 20)
        big = sources.identity(path)
        file.seek(-1, os.SEEK_END)
        file.write(b"x")
    assert sources.identity(path) != big


# --- pipes, tables


def command(folder, *paths):
    encoder = ["--encoder", str(folder / "sif.sentencode"), "--quiet"]
    return [sys.executable, "-m", "sentencode", "encode", *encoder, *map(str, paths)]


def test_standard_input_and_output(files):
    folder, encoder = files
    content = (folder / "lines.txt").read_bytes()
    piped = subprocess.run(command(folder, "-", "-"), input=content, capture_output=True, check=True)
    np.testing.assert_array_equal(np.load(io.BytesIO(piped.stdout)), encoder.encode(LINES))
    assert piped.stderr == b"-: 1000 rows of 5\n"
    to_file = subprocess.run(
        command(folder, "-", folder / "rows.npy"), input=content, capture_output=True, check=True
    )
    np.testing.assert_array_equal(np.load(folder / "rows.npy"), encoder.encode(LINES))
    assert to_file.stdout.decode() == f"{folder / 'rows.npy'}: 1000 rows of 5\n"
    assert sorted(p.name for p in folder.iterdir() if "rows" in p.name) == ["rows.npy"]


def test_a_pipe_is_read_once_and_never_resumed(files):
    folder, encoder = files
    os.mkfifo(folder / "pipe")

    def written():
        thread = threading.Thread(target=(folder / "pipe").write_text, args=("\n".join(LINES),))
        thread.start()
        return thread

    thread = written()
    with pytest.raises(KeyboardInterrupt):
        encode_file(Interrupting(encoder, 9), folder / "pipe", folder / "rows.npy", batch_size=100)
    thread.join()
    thread = written()
    second = Interrupting(encoder, -1)
    assert encode_file(second, folder / "pipe", folder / "rows.npy", batch_size=100) == 1000
    assert second.encoded == 1000
    thread.join()
    np.testing.assert_array_equal(np.load(folder / "rows.npy"), encoder.encode(LINES))


def test_lines_and_a_path_have_the_same_rows(files):
    folder, encoder = files
    blank = folder / "blank.txt"
    blank.write_text("\nthe dog\n \n\t\nthe cat\n\n")
    assert encode_file(encoder, blank, folder / "rows.npy") == 6
    rows = np.load(folder / "rows.npy")
    np.testing.assert_array_equal(rows, encoder.encode(blank))
    assert rows.any(axis=1).tolist() == [False, True, False, False, True, False]


@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet", "NPY"])
@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_tables_by_their_names(files, suffix, precision):
    folder, encoder = files
    target = folder / f"rows.{suffix}"
    assert main([*arguments(folder)[:4], str(target), "--quiet", "--precision", precision]) == 0
    if suffix == "npz":
        with np.load(target) as archive:
            rows = archive["embeddings"]
    elif suffix == "csv":
        rows = np.loadtxt(target, delimiter=",", skiprows=1, dtype=precision)
        assert target.read_text().startswith("0,1,2,3,4\n")
    elif suffix == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        rows = np.array(parquet.read_table(target)["embedding"].to_pylist(), precision)
    else:
        rows = np.load(target)
    assert rows.dtype == precision
    np.testing.assert_array_equal(rows, encoder.encode(LINES, precision=precision))
    assert sorted(p.name for p in folder.iterdir() if "rows" in p.name) == [target.name]


def test_a_table_is_resumed(files):
    folder, encoder = files
    with pytest.raises(KeyboardInterrupt):
        encode_file(Interrupting(encoder, 5), folder / "lines.txt", folder / "rows.csv", batch_size=100)
    second = Interrupting(encoder, -1)
    assert encode_file(second, folder / "lines.txt", folder / "rows.csv", batch_size=100) == 1000
    assert second.encoded <= 600
    rows = np.loadtxt(folder / "rows.csv", delimiter=",", skiprows=1, dtype="float32")
    np.testing.assert_array_equal(rows, encoder.encode(LINES))


TABLE = ["the dog", 'a "cat", the\ncat', "", "the dog dog"]


def write_table(path, texts=TABLE):
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps({"id": i, "text": t or None}) + "\n" for i, t in enumerate(texts)))
    elif path.suffix == ".parquet":
        pa = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(
            pa.table({"id": range(len(texts)), "text": [t or None for t in texts]}), path
        )
    else:
        with open(path, "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            table.writerows([["id", "text"], *enumerate(texts)])
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_a_column_of_a_table(files, suffix, capsys, fails):
    folder, encoder = files
    source = write_table(folder / f"table{suffix}")
    base = [
        "encode",
        "--encoder",
        str(folder / "sif.sentencode"),
        "--quiet",
        str(source),
        str(folder / "rows.npy"),
    ]
    assert main([*base, "--column", "text"]) == 0
    np.testing.assert_array_equal(np.load(folder / "rows.npy"), encoder.encode(TABLE))
    (folder / "rows.npy").unlink()
    fails(base, f"table{suffix} is a table: give the --column of its sentences", status=2)
    assert main([*base, "--column", "body"]) != 0
    assert "body" in capsys.readouterr().err
    if suffix in (".jsonl", ".parquet"):
        fails([*base, "--column", "id", "--overwrite"], "expected text, got")


def test_column_requires_a_table(files, fails):
    folder, _ = files
    fails(
        arguments(folder, "--column", "text"),
        "lines.txt is not a table: expected .csv, .tsv, .jsonl, .parquet",
        status=2,
    )
    for content, message in (
        (b"{", "line 1"),
        (b"[1]", "expected a JSON object"),
        (b'{"a": 1}', "has no 'text'"),
    ):
        (folder / "bad.jsonl").write_bytes(content)
        command = ["encode", "--encoder", str(folder / "sif.sentencode"), "--quiet", "--column", "text"]
        fails([*command, str(folder / "bad.jsonl"), str(folder / "bad.npy"), "--overwrite"], message)
    (folder / "bad.csv").write_bytes(b"text\nab\xff\n")
    fails([*command, str(folder / "bad.csv"), str(folder / "bad.npy"), "--overwrite"], "bad.csv: ")


@pytest.mark.parametrize("name", ["rows.npy", "a.txt"])
def test_the_output_is_not_in_a_folder_that_is_read(files, fails, name):
    folder, _ = files
    (folder / "texts").mkdir()
    (folder / "texts" / "a.txt").write_text("the dog\n")
    texts, out = str(folder / "texts"), str(folder / "texts" / name)
    fails(["encode", "--kind", "average", "--overwrite", texts, out], "is in the folder", 2)
    assert os.listdir(texts) == ["a.txt"]


def test_a_saved_encoder_replaces_no_input(files, fails):
    folder, _ = files
    lines = str(folder / "lines.txt")
    command = ["encode", "--kind", "average", lines, "--output", str(folder / "out"), "--overwrite", "--save"]
    fails([*command, lines], "is an input", 2)


def test_a_large_text_is_identified_by_its_time(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "_BLOCK", 1)
    path = tmp_path / "text"
    path.write_bytes(b"x" * 100)
    before = sources.identity(path)
    os.utime(path, ns=(0, 1))
    assert sources.identity(path) != before
