"""The programs in examples/."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sentencode as se

ROOT = Path(__file__).parents[2]
STUB = ROOT / "tests" / "python" / "senteval" / "stub_senteval"


def run(folder, name, *arguments):
    return subprocess.run(
        [sys.executable, ROOT / "examples" / name, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )


def output_of(folder, name, *arguments):
    done = run(folder, name, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def trained(folder, name, validations):
    """Run a program that trains, and run it again, which trains no more; return what it prints."""
    pytest.importorskip("torch")
    done = run(folder, name, ".")
    assert done.returncode == 0, done.stderr
    assert not done.stderr or "still improving" in done.stderr  # it trains briefly
    losses = [float(line.split()[3]) for line in done.stdout.splitlines() if line.startswith("step")]
    assert len(losses) == validations
    assert losses[-1] < losses[0]
    assert "step" not in output_of(folder, name, ".")
    return done.stdout


def test_quickstart(tmp_path):
    done = run(tmp_path, "quickstart.py")
    assert done.returncode == 0, done.stderr
    assert not done.stderr or "still improving" in done.stderr  # it trains briefly
    assert done.stdout.startswith("5 sentences, 148 dimensions, float32")
    best, second = done.stdout.splitlines()[3:5]
    assert "The vessel sank" in best
    assert "A ship was lost" in second
    assert isinstance(se.load(tmp_path / "quickstart.sentencode"), se.SIF)


def test_distill(tmp_path):
    *_, agreement = output_of(tmp_path, "distill.py").splitlines()
    assert agreement.startswith("cosines of pairs of held-out sentences correlate at 0.")
    assert float(agreement.split()[-1]) > 0.5


def test_senteval_plugin_describes_itself(tmp_path):
    pytest.importorskip("torch")
    assert "--tasks STS14 CR TREC" in output_of(tmp_path, "senteval_plugin.py", "--help")


def test_senteval_plugin_scores(tmp_path):
    for needed in ("torch", "sklearn", "scipy"):
        pytest.importorskip(needed)
    shutil.copytree(STUB, tmp_path / "clone" / "senteval")
    printed = output_of(tmp_path, "senteval_plugin.py", "clone", "--tasks", "CR", "STS12", "--kfold", "2")
    results = [json.loads(line) for line in printed.splitlines()]
    assert [list(result) for result in results] == [["CR"], ["STS12"]]
    assert 0 <= results[0]["CR"]["acc"] <= 100


def test_senteval_plugin_without_senteval(tmp_path):
    for needed in ("torch", "sklearn", "scipy"):
        pytest.importorskip(needed)
    done = run(tmp_path, "senteval_plugin.py", tmp_path / "nothing")
    assert done.returncode != 0
    assert "clone https://github.com/facebookresearch/SentEval" in done.stderr


def test_own_encoder(tmp_path):
    pytest.importorskip("torch")
    accuracy, shape = output_of(tmp_path, "own_encoder.py").splitlines()
    assert int(re.fullmatch(r"held out: (\d+) % right", accuracy)[1]) > 55
    assert shape == "(64,)"
    assert (tmp_path / "bag.sentencode").stat().st_size > 1000


def test_train_a_user_defined_model(tmp_path):
    assert "(best)" in trained(tmp_path, "train_own_model.py", validations=3)


def test_train_autoencoder(tmp_path):
    assert "  ship is written from the mean by 0." in trained(tmp_path, "train_autoencoder.py", validations=3)
    assert isinstance(se.load(tmp_path / "autoencoder.sentencode"), se.MeanMaxAAE)


def test_train_context(tmp_path):
    printed = trained(tmp_path, "train_context.py", validations=3)
    assert re.search(r"next word 4: \S+ 0\.\d\d   \S+ 0\.\d\d   ", printed)
    assert isinstance(se.load(tmp_path / "context.sentencode"), se.RNNCNN)


def test_train_translation(tmp_path):
    printed = trained(tmp_path, "train_translation.py", validations=4)
    right = re.findall(r": (\d+) of 24 new sentences", printed)
    assert len(right) == 2
    assert min(map(int, right)) > 12
    assert re.search(r"attends to \w+ with [01]\.\d\d", printed)
    assert isinstance(se.load(tmp_path / "translation.sentencode"), se.CompoundNMT)


def trained_from(config, folder, files, options):
    """Train the encoder of a TOML file with other files, in the folder, and options."""
    from sentencode.cli import main

    changes = {**{name: folder / file for name, file in files.items()}, **options}
    arguments = [part for name, value in changes.items() for part in ("--set", f"{name}={value}")]
    output = folder / "out.sentencode"
    assert main(["train", str(config), "--output", str(output), "--quiet", *arguments]) == 0
    return se.load(output)


TRANSLATIONS = sorted((ROOT / "examples" / "translation").glob("*.toml"))


def test_each_architecture_of_translation_has_a_file():
    pytest.importorskip("torch")
    from sentencode import _nn

    options = {option["name"]: option for option in json.loads(_nn.described_options("TranslationNetwork"))}
    assert {path.stem.replace("-", "_") for path in TRANSLATIONS} == set(options["architecture"]["choices"])


@pytest.mark.parametrize("path", TRANSLATIONS, ids=lambda path: path.stem)
def test_an_architecture_of_translation(path, tmp_path):
    """Its file has the size of the paper, and can be trained."""
    pytest.importorskip("torch")
    from sentencode.cli import train

    config = train.read_config(path)
    encoder = config.kind(**config.parameters)
    settings = encoder.settings()
    assert config.kind is se.CompoundNMT
    assert settings["architecture"] == Path(config.tables["output"]["file"]).stem.replace("-", "_")
    assert path.stem == Path(config.tables["output"]["file"]).stem
    assert (settings["max_epochs"], settings["max_steps"], settings["batch_size"]) == (20, None, 32)
    transformer = path.stem.startswith("trf")
    assert settings["layers"] == (6 if transformer else 1)
    if path.stem not in ("attn", "trf"):
        assert settings["size"] in (600, 1200)

    (tmp_path / "en").write_text("a dog runs\na cat\nthe dog\n")
    (tmp_path / "de").write_text("ein Hund rennt\neine Katze\nder Hund\n")
    files = {"train": "en", "train_target": "de", "valid": "en", "valid_target": "de"}
    small = {"features": 8, "hidden": 4, "decoder_hidden": 6, "attention": 4, "inner": 8, "layers": 1}
    small |= {"attention_heads": 2, "max_steps": 1, "device": "cpu"}
    if "size" in config.parameters:
        small |= {"size": 8, "heads": 2}
    nmt = trained_from(path, tmp_path, {f"data.{key}": name for key, name in files.items()}, small)
    assert isinstance(nmt.translate("a dog runs"), str)
    if path.stem not in ("attn", "trf"):
        assert nmt.encode("a dog runs").shape == (8,)


CONFIGS = sorted((ROOT / "examples" / "rnn_cnn").glob("*.toml"))


def test_each_row_of_the_context_papers_table_1_has_a_file():
    pytest.importorskip("torch")
    from sentencode.reproduce import rnn_cnn
    from sentencode.reproduce.results_folder import slug

    assert {path.stem for path in CONFIGS} == {slug(name) for name in rnn_cnn.FAMILY.tables["1"].rows}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_row_of_the_context_papers_table_1(path, tmp_path):
    """Its file has the settings of `sentencode reproduce` at the paper's size, and can be trained."""
    pytest.importorskip("torch")
    from sentencode.cli import train
    from sentencode.reproduce import rnn_cnn
    from sentencode.reproduce.results_folder import slug

    config = train.read_config(path)
    (row,) = [row for name, row in rnn_cnn.ROWS.items() if slug(name) == path.stem]
    paper = rnn_cnn.SIZES["paper"]
    sized = {name: getattr(paper, of) for name, of in row.sized.items()}
    options = {"preset": "paper", **paper.training, **row.options, **sized}
    options |= {"max_epochs": None, "max_steps": paper.steps}
    if row.options.get("word_bias"):
        del options["word_bias"]  # that of the published rows, which eq. 2 does not have
    words = se.WordVectors.from_array(["the", "ship", "sank"], np.eye(3, 4, dtype=np.float32))
    assert config.kind.__name__ == row.kind
    encoder, expected = (config.kind(words, **options) for options in (config.parameters, options))
    assert encoder.settings() == expected.settings()
    assert Path(config.tables["output"]["file"]).stem == path.stem

    words.save(tmp_path / "words")
    (tmp_path / "text").write_text("the ship sank\nthe ship\nsank the\n\nthe the ship\nsank\n")
    files = {"vectors.file": "words", "data.train": "text", "data.valid": "text"}
    small = {"hidden": 4, "channels": 5, "inner": 4, "max_steps": 1, "device": "cpu"}
    assert trained_from(path, tmp_path, files, small).encode("the ship sank").any()


@pytest.mark.slow
def test_train_distributed_resumes_when_a_process_dies(tmp_path):
    pytest.importorskip("torch")
    from sentencode.training import History

    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}

    def torchrun(folder, *arguments):
        launch = ["-m", "sentencode.distributed.torchrun", "--standalone", "--nproc-per-node=2"]
        script = ROOT / "examples" / "train_distributed.py"
        done = subprocess.run(
            [
                sys.executable,
                *launch,
                "--max-restarts=1",
                script,
                tmp_path / folder,
                "--steps",
                "20",
                *arguments,
            ],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "2 processes, steps 1 to 20" in torchrun("straight")
    # The last regular checkpoint is that of step 10; the other process, if it lives long enough, adds one.
    assert re.search("2 processes, steps 1[13] to 20", torchrun("killed", "--die-at", "12"))
    last = "checkpoints/step-000000020.safetensors"
    assert (tmp_path / "killed" / last).read_bytes() == (tmp_path / "straight" / last).read_bytes()
    logs = [History.from_csv(tmp_path / name / "log.csv").steps for name in ("killed", "straight")]
    killed, straight = ([(step.step, step.loss) for step in log] for log in logs)
    assert len(killed) == 20
    assert killed == straight


def test_learning_labels(tmp_path):
    pytest.importorskip("torch")
    first, classes, *_ = output_of(tmp_path, "learn_labels.py").splitlines()
    assert first.startswith("accuracy on 12 new pairs: ")
    assert float(first.split()[-1]) > 0.5
    assert classes == "classes: contradiction, entailment, neutral"


def test_scale_search(tmp_path):
    pytest.importorskip("pyarrow")
    printed = output_of(tmp_path, "scale_search.py", "out")
    first, query, *hits = printed.splitlines()
    assert first == "1566 rows in 4 files"
    assert query == "A storm at sea."
    best = {line.partition(": ")[2] for line in hits if "is not installed" not in line}
    assert len(best) <= 1  # all find the same
    assert all(one.startswith("0.") for one in best)
    assert output_of(tmp_path, "scale_search.py", "out") == printed


@pytest.mark.parametrize(
    ("name", "package"), [("langchain_embeddings", "langchain_core"), ("haystack_embedders", "haystack")]
)
def test_a_search_in_another_library(name, package, tmp_path):
    pytest.importorskip(package)
    assert output_of(tmp_path, f"{name}.py") == "A ship was lost in the storm.\n"


def test_topics(tmp_path):
    pytest.importorskip("bertopic")
    *topics, query = output_of(tmp_path, "topics.py").splitlines()
    assert len(topics) == 12
    assert query.removeprefix("A storm at sea: ") in topics


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("engine", ["ray", "spark", "dask"])
def test_scale_on_an_engine(tmp_path, engine):
    pytest.importorskip({"ray": "ray", "spark": "pyspark", "dask": "distributed"}[engine])
    if engine == "spark" and shutil.which("java") is None:
        pytest.skip("Spark needs a Java runtime, and there is no java")
    assert "1566 rows" in output_of(tmp_path, f"scale_{engine}.py", "out")
    assert isinstance(se.load(tmp_path / "out" / "sif.sentencode"), se.SIF)
