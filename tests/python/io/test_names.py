"""Files of any name that the system knows, and vectors that lie elsewhere than when they were saved."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import sentencode as se
from sentencode.evaluation import Report

from .saved_files import TEXTS, WORDS, parts, table, with_checksums

ODD = b"en\xffc"  # no UTF-8


@pytest.fixture(params=[bytes, str, Path])
def named(request, tmp_path):
    """A path of each type, with unusual names of the folder and the file."""
    folder = os.fsencode(tmp_path) + b"/" + ODD
    os.mkdir(folder)
    as_given = {bytes: bytes, str: os.fsdecode, Path: lambda name: Path(os.fsdecode(name))}[request.param]
    return lambda name: as_given(folder + b"/" + name)


def test_every_reader_and_writer_takes_every_name(named):
    table().save(named(ODD))
    assert list(se.WordVectors.load(named(ODD))) == WORDS
    assert os.fsencode(se.WordVectors.load(named(ODD)).path) == os.fsencode(named(ODD))
    sif = se.SIF(se.WordVectors.load(named(ODD)), components=1).fit(TEXTS)
    sif.save(named(b"sif"))
    np.testing.assert_array_equal(se.load(named(b"sif")).encode(TEXTS), sif.encode(TEXTS))
    table().export(named(b"text\xff"))
    assert list(se.WordVectors.load(named(b"text\xff"))) == WORDS
    se.Vocabulary({"cat": 2, "dog": 1}).write(named(b"words\xff"))
    assert list(se.Vocabulary.read(named(b"words\xff")).words) == ["cat", "dog"]
    Report("one", {}).to_json(named(b"report\xff"))
    assert Report.load(named(b"report\xff")).encoder == "one"


def test_sentences_are_read_from_files_of_every_name(tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + ODD))
    path.write_text("".join(f"{text}\n" for text in TEXTS))
    assert list(se.Corpus(path)) == TEXTS
    encoder = se.SIF(table(), components=1).fit(path)
    np.testing.assert_array_equal(encoder.encode(path), encoder.encode(TEXTS))


def test_errors_name_files_of_every_name(named):
    for load in (se.load, se.WordVectors.load, Report.load):
        with pytest.raises(FileNotFoundError) as caught:
            load(named(b"none\xff"))
        assert "none" in str(caught.value)
        with open(named(b"bad\xff"), "wb") as file:
            file.write(b'\x08\0\0\0\0\0\0\0{"a": }}')
        with pytest.raises(se.FormatError) as wrong:
            load(named(b"bad\xff"))
        assert os.fsdecode(b"bad\xff") in str(wrong.value)


def test_the_command_line_takes_every_name(tmp_path):
    folder = os.fsencode(tmp_path) + b"/" + ODD
    os.mkdir(folder)
    with open(folder + b"/in\xff", "w") as file:
        file.write("".join(f"{text}\n" for text in TEXTS))
    se.Average(table()).save(folder + b"/enc\xff")
    command = [sys.executable, "-m", "sentencode", "encode", "--quiet", "--encoder", folder + b"/enc\xff"]
    done = subprocess.run([*command, folder + b"/in\xff", folder + b"/out\xff"], capture_output=True)
    assert done.returncode == 0, done.stderr
    assert np.load(os.fsdecode(folder + b"/out\xff")).shape == (len(TEXTS), 4)


# --- vectors that are not part of an encoder's file


@pytest.fixture
def apart(tmp_path):
    """An encoder and its vectors in one folder."""
    folder = tmp_path / "here"
    (folder / "below").mkdir(parents=True)
    table().save(folder / "below" / "vectors")
    encoder = se.SIF(se.WordVectors.load(folder / "below" / "vectors"), components=1).fit(TEXTS)
    encoder.save(folder / "sif", vectors=False)
    return encoder, folder


def test_an_encoder_moves_together_with_its_vectors(apart, tmp_path):
    encoder, folder = apart
    moved = folder.rename(tmp_path / "there")
    np.testing.assert_array_equal(se.load(moved / "sif").encode(TEXTS), encoder.encode(TEXTS))
    assert b"here" not in (moved / "sif").read_bytes()


def test_vectors_can_be_passed_to_load(apart, tmp_path):
    encoder, folder = apart
    elsewhere = (folder / "below" / "vectors").rename(tmp_path / "elsewhere")
    with pytest.raises(FileNotFoundError, match="vectors"):
        se.load(folder / "sif")
    for vectors in (elsewhere, str(elsewhere), se.WordVectors.load(elsewhere, oov="mean")):
        loaded = se.load(folder / "sif", vectors=vectors)
        np.testing.assert_array_equal(loaded.encode(TEXTS), encoder.encode(TEXTS))
    table("float16").save(tmp_path / "others")
    with pytest.raises(se.FormatError, match="other word vectors than those given"):
        se.load(folder / "sif", vectors=tmp_path / "others")
    encoder.save(folder / "whole")
    with pytest.raises(ValueError, match="has its own word vectors"):
        se.load(folder / "whole", vectors=elsewhere)


def test_only_files_below_are_opened_unless_trusted(tmp_path):
    table().save(tmp_path / "vectors")
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder" / "sif"
    encoder = se.SIF(se.WordVectors.load(tmp_path / "vectors"), components=1).fit(TEXTS)
    encoder.save(path, vectors=False)
    with pytest.raises(
        se.FormatError, match=r"not in its folder: give them as vectors=, or .*trust_vectors=True"
    ):
        se.load(path)
    for loaded in (se.load(path, trust_vectors=True), se.load(path, vectors=tmp_path / "vectors")):
        np.testing.assert_array_equal(loaded.encode(TEXTS), encoder.encode(TEXTS))


def test_special_files_are_refused(apart):
    _, folder = apart
    (folder / "below" / "vectors").unlink()
    os.mkfifo(folder / "below" / "vectors")
    with pytest.raises(OSError, match="only a regular file can be mapped"):
        se.load(folder / "sif")
    (folder / "below" / "vectors").unlink()
    (folder / "below" / "vectors").symlink_to("/dev/zero")
    with pytest.raises(OSError, match="only a regular file can be mapped"):
        se.load(folder / "sif", trust_vectors=True)


@pytest.mark.parametrize("linked", ["file", "folder", "folder of all"])
def test_links_to_vectors_outside_of_the_folder_are_refused(apart, tmp_path, linked):
    encoder, folder = apart
    inside, outside = folder / "below", tmp_path / "outside"
    if linked == "file":  # first to a file of the same folder
        (inside / "vectors").rename(inside / "others")
        (inside / "vectors").symlink_to("others")
        np.testing.assert_array_equal(se.load(folder / "sif").encode(TEXTS), encoder.encode(TEXTS))
        (inside / "others").rename(outside)
        (inside / "vectors").unlink()
        (inside / "vectors").symlink_to(outside)
    elif linked == "folder":
        inside.rename(outside)
        inside.symlink_to(outside)
        outside = outside / "vectors"
    else:  # links above the folder are the user's
        (tmp_path / "there").symlink_to(folder)
        se.load(tmp_path / "there" / "sif")
        return
    with pytest.raises(se.FormatError, match=r"by a symbolic link .*not in its folder: give them"):
        se.load(folder / "sif")
    for loaded in (se.load(folder / "sif", trust_vectors=True), se.load(folder / "sif", vectors=outside)):
        np.testing.assert_array_equal(loaded.encode(TEXTS), encoder.encode(TEXTS))


def test_a_file_cannot_name_vectors_beyond_a_null_byte(apart):
    _, folder = apart
    header, data = parts((folder / "sif").read_bytes())
    metadata = header["__metadata__"]
    config = json.loads(metadata["config"])
    config["vectors"]["path"] += "\0/x"
    metadata["config"] = json.dumps(config)
    (folder / "sif").write_bytes(with_checksums(header, data))
    with pytest.raises(se.FormatError, match="embedded null byte"):
        se.load(folder / "sif")


# --- folders of data, of rows and of examples


def write_sts(data):
    """SentEval's folder with one small task."""
    folder = os.path.join(data, b"downstream", b"STS", b"STSBenchmark")
    os.makedirs(folder)
    for split in ("train", "dev", "test"):
        with open(os.path.join(folder, f"sts-{split}.csv".encode()), "w") as file:
            for i, (one, other) in enumerate(pairwise(TEXTS)):
                file.write(f"news\tdeft\t2014\t{i:04}\t{i % 5}.5\t{one}\t{other}\n")


def test_tasks_of_folders_of_every_name(named, tmp_path):
    data = named(b"data\xff")
    write_sts(os.fsencode(data))
    report = se.evaluate(
        se.Average(table()),
        "STSBenchmarkCosine",
        data,
        options={"similarity": "cosine"},
        partial=True,
        out=named(b"out\xff"),
        cache=named(b"cache\xff"),
        show_progress_bar=False,
    )
    assert report["STSBenchmarkCosine"].error is None
    again = Report.load(named(b"out\xff"))
    assert again["STSBenchmarkCosine"]["test"] == report["STSBenchmarkCosine"]["test"]
    assert os.listdir(named(b"cache\xff"))


def test_missing_files_in_folders_of_every_name(named):
    data = named(b"data\xff")
    write_sts(os.fsencode(data))
    report = se.evaluate(
        se.Average(table()), "all", data, options={"similarity": "cosine"}, partial=True, cache=False
    )
    assert set(report.results) == {"STSBenchmark", "STSBenchmarkCosine"}
    assert os.fsdecode(b"data\xff") in report.skipped["MR"]
    report.to_json(named(b"report\xff"))
    assert Report.load(named(b"report\xff")).skipped == report.skipped
    report.to_html(named(b"page\xff"))
    with open(named(b"page\xff"), encoding="utf-8") as file:
        assert r"data\udcff" in file.read()
    with pytest.raises(FileNotFoundError, match="data"):
        se.evaluate(se.Average(table()), "MR", data, cache=False)
    os.mkdir(named(b"none\xff"))
    with pytest.raises(ValueError, match=r"none of the tasks has its files in .*none"):
        se.evaluate(se.Average(table()), "all", named(b"none\xff"), cache=False)


def test_rows_and_sentences_of_files_of_every_name(named):
    from sentencode.evaluation import Precomputed, load_tsv_task

    rows = np.eye(len(TEXTS), 3, dtype=np.float32)
    with open(named(b"rows\xff.npy"), "wb") as file:
        np.save(file, rows)
    with open(named(b"lines\xff"), "w") as file:
        file.writelines(f"{text}\n" for text in TEXTS)
    precomputed = Precomputed(named(b"lines\xff"), named(b"rows\xff.npy"))
    np.testing.assert_array_equal(precomputed.encode(TEXTS[:2]), rows[:2])
    with open(named(b"task\xff"), "w") as file:
        file.write("sun\ta bright day\nrain\tit pours\n")
    assert len(load_tsv_task("classification", named(b"task\xff"))["all"].labels) == 2


def test_examples_of_files_of_every_name(named, tmp_path):
    from sentencode.training import Examples

    with open(named(b"lines\xff"), "w") as file:
        file.writelines(f"{text}\n" for text in TEXTS)
    words = se.Vocabulary(dict.fromkeys(WORDS, 1))
    path = named(b"examples\xff")
    for source in (Path(os.fsdecode(named(b"lines\xff"))), {"tokens": named(b"lines\xff")}):
        for tokenizer in ("whitespace", se.Tokenizer(str.split)):
            loaded = Examples.build(source, words, tokenizer, path=path)
            assert os.fsencode(loaded.path) == os.fsencode(path)
            assert "lines" in loaded.config["source"]
            assert len(Examples.open(path)) == len(loaded) > 3
            os.remove(path)


# --- names with a null byte, at which the system would take them for ended


PACKAGES = [
    *("sentencode", "sentencode.evaluation", "sentencode.training", "sentencode.text", "sentencode.scale"),
    *("sentencode.models", "sentencode.linear", "sentencode.vectors"),
]


def parameters_with_paths():
    """`function(parameter)` for all exported parameters that are annotated as paths."""
    with_paths = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            exported = getattr(module, name)
            functions = [exported]
            if inspect.isclass(exported):
                members = inspect.getmembers(exported, callable)
                functions = [one for name, one in members if not name.startswith("_") or name == "__init__"]
            for function in functions:
                try:
                    parameters = inspect.signature(function).parameters.values()
                except (TypeError, ValueError):  # of C
                    continue
                for one in parameters:
                    if any(text in str(one.annotation) for text in ("PathLike", "StrPath", "Paths")):
                        with_paths[f"{function.__qualname__}({one.name})"] = function
    return with_paths


def calls():
    """How each of them is called with a path, by the name that `parameters_with_paths` gives it."""
    from sentencode import evaluation, linear, models, scale, text, training

    sif = se.SIF(table(), components=1).fit(TEXTS)
    small = {"hidden": 8, "inner": 8, "heads": 2, "max_steps": 1, "device": "cpu"}
    mean_max = se.MeanMaxAAE(table(), **small).fit(TEXTS)
    vocabulary = se.Vocabulary({"cat": 1})
    report = evaluation.Report("one", {})
    paragraphs = se.ParagraphVec(vector_size=2, min_count=1, epochs=1).fit(TEXTS)
    moses = text.Moses("en").learn(TEXTS)
    rows = np.eye(len(TEXTS), 3)
    one_task = {"tasks": "MR", "cache": False}
    batcher = training.Batcher(training.Examples.build(TEXTS, vocabulary), batch_size=2)
    lines = str(Path(__file__))

    def ngrams(path):
        model = text.NgramModel(2)
        model.fit(TEXTS * 9)
        model.write_arpa(path)

    return {
        "Concatenation.save(path)": se.Concatenation([sif]).save,
        "Whitening.save(path)": se.Whitening(sif).fit(TEXTS).save,
        "Corpus.from_files(paths)": lambda path: se.Corpus.from_files([path]),
        "CsvLog.__init__(path)": training.CsvLog,
        "Embeddings.__init__(folder)": scale.Embeddings,
        "Examples.build(path)": lambda path: training.Examples.build(TEXTS, vocabulary, path=path),
        "Examples.open(path)": training.Examples.open,
        "Frequencies.read(path)": se.Frequencies.read,
        "History.from_csv(path)": training.History.from_csv,
        "LinearEncoder.export(path)": sif.export,
        "LinearEncoder.save(path)": sif.save,
        "Moses.load(path)": text.Moses.load,
        "Moses.save(path)": moses.save,
        "NeuralEncoder.save(path)": mean_max.save,
        "NeuralEncoder.fit(checkpoints)": lambda path: se.MeanMaxAAE(table(), **small).fit(
            TEXTS, checkpoints=path
        ),
        "NgramModel.write_arpa(path)": ngrams,
        "Precomputed.__init__(rows)": lambda path: evaluation.Precomputed(TEXTS, path),
        "Precomputed.__init__(sentences)": lambda path: evaluation.Precomputed(path, rows),
        "ParagraphVec.save(path)": paragraphs.save,
        "Report.from_mteb(folder)": evaluation.Report.from_mteb,
        "Report.load(path)": evaluation.Report.load,
        "Report.to_html(path)": report.to_html,
        "Report.to_json(path)": report.to_json,
        "Report.to_mteb(folder)": report.to_mteb,
        "Selection.save(path)": linear.Selection("components", np.arange(1), {}, "SIF", 0, 1.0, sif).save,
        "TensorBoardLog.__init__(folder)": training.TensorBoardLog,
        "Trainer.__init__(checkpoints)": lambda path: training.Trainer(
            mean_max.network, batcher, max_steps=1, checkpoints=path
        ),
        "Vocabulary.read(path)": se.Vocabulary.read,
        "Vocabulary.write(path)": vocabulary.write,
        "WordVectors.distill(cache)": lambda path: se.WordVectors.distill(sif, TEXTS, cache=path),
        "Lookup.export(path)": table().export,
        "WordVectors.load(path)": se.WordVectors.load,
        "Lookup.save(path)": table().save,
        "average_checkpoints(folder)": lambda path: models.average_checkpoints(mean_max, path),
        "convert_coco_pickles(folder)": evaluation.convert_coco_pickles,
        "convert_coco_pickles(target)": lambda path: evaluation.convert_coco_pickles("/", path),
        "count_words(inputs)": scale.count_words,
        "count_words(scratch)": lambda path: scale.count_words(lines, scratch=path),
        "definitions(path)": lambda path: list(se.definitions(path)),
        "encode(inputs)": lambda path: scale.encode(sif, path, "/none"),
        "encode(output)": lambda path: scale.encode(sif, lines, path, workers=1),
        "evaluate(cache)": lambda path: se.evaluate(sif, "MR", "/none", cache=path),
        "evaluate(data)": lambda path: se.evaluate(sif, data=path, **one_task),
        "evaluate(out)": lambda path: se.evaluate(sif, data="/none", out=path, **one_task),
        "fit(inputs)": lambda path: scale.fit(se.SIF(table()), path),
        "fit(scratch)": lambda path: scale.fit(se.SIF(table()), lines, scratch=path, workers=1),
        "learning_curve(cache)": lambda path: evaluation.learning_curve(sif, "MR", "/none", cache=path),
        "learning_curve(data)": lambda path: evaluation.learning_curve(sif, "MR", path, cache=False),
        "load(path)": se.load,
        "load(vectors)": lambda path: se.load(lines, vectors=path),
        "load_groups(path)": evaluation.load_groups,
        "load_nli_task(files)": lambda path: evaluation.load_nli_task(
            {"train": path, "dev": path, "test": path}, name="x"
        ),
        "load_task(data)": lambda path: evaluation.load_task("MR", path),
        "load_tsv_task(files)": lambda path: evaluation.load_tsv_task("classification", path),
        "plot_loss(source)": training.plot_loss,
        "read_labelled(path)": evaluation.read_labelled,
        "set_cache_dir(path)": se.set_cache_dir,
        "train_vectors(inputs)": scale.train_vectors,
        "train_vectors(scratch)": lambda path: scale.train_vectors(lines, scratch=path, workers=1),
        "write_html(path)": lambda path: evaluation.write_html([report], path),
    }


def test_every_function_that_takes_a_path_refuses_a_null_byte(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("pyarrow")
    pytest.importorskip("gensim")
    se.set_cache_dir(tmp_path / "cache")
    try:
        functions_called = calls()
        assert set(functions_called) == set(parameters_with_paths())
        parameters = []
        for name, call in functions_called.items():
            odd = tmp_path / "odd"
            for path in (f"{odd}\0/x", os.fsencode(odd) + b"\0", Path(f"{odd}\0.npy")):
                try:
                    call(path)
                    parameters.append((name, path, "taken"))
                except ValueError as error:
                    if "null byte" not in str(error) or isinstance(error, se.FormatError):
                        parameters.append((name, path, repr(error)))
                except Exception as error:
                    parameters.append((name, path, repr(error)))
        assert not parameters, "\n".join(map(str, parameters))
        assert not (tmp_path / "odd").exists()
    finally:
        se.set_cache_dir(None)
