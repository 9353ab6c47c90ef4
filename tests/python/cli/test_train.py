"""`sentencode train`: TOML files, one and two processes, resumed runs, errors."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import sentencode as se
from sentencode.cli import UsageError, main, train
from sentencode.training import History, Trainer

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "in", "mat", "park"]
TOML = """
[encoder]
class = "MeanMaxAAE"
preset = "paper"
hidden = 8
heads = 2
dropout = 0           # so that several processes do what one does
batch_size = 6
learning_rate = 0.01
clip_norm = false
max_steps = 12
max_epochs = false
validate_every = 4
device = "cpu"

[vectors]
file = "vectors.sentencode"

[data]
train = ["a.txt", "b.txt"]
valid = "valid.txt"

[output]
file = "aae.sentencode"

[logs]
csv = "log.csv"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(len(WORDS), 6)).astype(np.float32)
    se.WordVectors.from_array(WORDS, rows).save(tmp_path / "vectors.sentencode")
    for name in ("a", "b", "valid"):
        lines = [" ".join(rng.choice(WORDS, size=rng.integers(4, 7))) for _ in range(30)]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "aae.toml").write_text(TOML)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")  # paths start from the file's folder
    before = se.cache_dir()
    se.set_cache_dir(tmp_path / "cache")
    yield tmp_path
    se.set_cache_dir(before)


def command(folder, *more):
    return ["train", str(folder / "aae.toml"), "--quiet", *map(str, more)]


def weights(path):
    return {name: tensor.numpy() for name, tensor in se.load(path).network.state_dict().items()}


def same(first, second):
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


def test_it_trains_and_saves(folder, capsys):
    assert main(command(folder)) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "aae.sentencode: MeanMaxAAE, 16 dimensions" in shown.out
    assert "step 12, loss" in shown.out
    saved = se.load(folder / "aae.sentencode")
    parameters = saved.get_params()
    assert (saved.hidden, saved.heads, saved.batch_size, saved.learning_rate) == (8, 2, 6, 0.01)
    assert (parameters["max_epochs"], parameters["clip_norm"]) == (None, None)  # false in TOML
    assert saved.origin_ == {
        "vectors": {"file": str(folder / "vectors.sentencode")},
        "data": {"train": [str(folder / "a.txt"), str(folder / "b.txt")], "valid": str(folder / "valid.txt")},
    }
    log = History.from_csv(folder / "log.csv")
    assert [step.step for step in log.steps] == list(range(1, 13))
    assert [validation.step for validation in log.validations] == [4, 8, 12]
    # The same as by hand.
    vectors = se.WordVectors.load(folder / "vectors.sentencode")
    options = {
        name: parameters[name] for name in parameters if name not in ("vectors", "vocabulary", "tokenizer")
    }
    text = se.Corpus([folder / "a.txt", folder / "b.txt"])
    hand = se.MeanMaxAAE(vectors, **options)
    hand.fit(text, valid=se.Corpus(folder / "valid.txt"), checkpoints=folder / "by-hand")
    hand.save(folder / "hand.sentencode")
    same(weights(folder / "aae.sentencode"), weights(folder / "hand.sentencode"))


def test_the_fingerprint_does_not_depend_on_the_origin(folder):
    assert main(command(folder)) == 0
    saved = se.load(folder / "aae.sentencode")
    before = saved.fingerprint()
    saved.origin_ = None
    assert saved.fingerprint() == before
    saved.save(folder / "again.sentencode")
    assert se.load(folder / "again.sentencode").origin_ is None


def in_two_processes(folder, arguments):
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
        "XDG_CACHE_HOME": str(folder / "xdg"),
    }
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [*launch, "-m", "sentencode", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_two_processes_train_the_same_weights(folder):
    # Adam would make steps of a whole learning rate of rounding errors, where a gradient is zero.
    plain = ["--set", "optimizer=sgd", "--set", "learning_rate=0.3"]
    assert main(command(folder, *plain)) == 0
    plain += ["--output", folder / "two.sentencode", "--set", f"logs.csv={folder / 'two.csv'}"]
    done = in_two_processes(folder, command(folder, *plain))
    assert done.stdout.count("two.sentencode") == 1  # the first process prints
    one, two = weights(folder / "aae.sentencode"), weights(folder / "two.sentencode")
    for name in one:
        np.testing.assert_allclose(two[name], one[name], rtol=1e-5, atol=1e-6, err_msg=name)
    logs = [History.from_csv(folder / name) for name in ("log.csv", "two.csv")]
    assert [step.examples for step in logs[0].steps] == [step.examples for step in logs[1].steps]
    assert logs[0].steps[-1].loss < logs[0].steps[0].loss - 0.05  # something was learnt


def test_ctrl_c_saves_a_checkpoint_and_says_how_to_resume(folder, capsys, monkeypatch):
    assert main(command(folder, "--output", folder / "straight.sentencode")) == 0
    capsys.readouterr()
    run = Trainer.run

    class Stops:
        def on_step(self, trainer, step):
            if step.step == 6:
                raise KeyboardInterrupt

        on_validation = on_end = lambda self, *_: None

    def stopped(self, **more):
        self._callbacks = (*self._callbacks, Stops())
        return run(self, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "run", stopped)
        assert main(command(folder)) == 130
    checkpoints = folder / "aae.sentencode.checkpoints"
    shown = capsys.readouterr().err
    assert f"step 6 is saved in {checkpoints}; the same command resumes there" in shown
    assert not (folder / "aae.sentencode").exists()
    assert main(command(folder, "--stop-now", "--output", folder / "now.sentencode")) == 1
    assert "--stop-now: there is no checkpoint" in capsys.readouterr().err
    stopped = ["--stop-now", "--checkpoints", checkpoints, "--output", folder / "now.sentencode"]
    assert main(command(folder, *stopped)) == 0
    assert "no further steps" in capsys.readouterr().out
    assert se.load(folder / "now.sentencode").encode("a dog").any()
    assert main(command(folder, "--resume")) == 0
    assert "step 12" in capsys.readouterr().out
    same(weights(folder / "aae.sentencode"), weights(folder / "straight.sentencode"))
    assert [step.step for step in History.from_csv(folder / "log.csv").steps] == list(range(1, 13))


OF_CLASSES = {
    "MeanMaxAAE": "hidden = 8\nheads = 2",
    "RNNCNN": """
        hidden = 4
        channels = 5
        inner = 4
        decoder = "autoregressive_cnn"
        feeding = "always_sampling"
        """,
    "SkipThoughts": "hidden = 8",
    "FastSent": "autoencode = true",
    "HierarchicalCNN": "hidden = 8\nfilters = 4\nparagraph_length = 3",
    "CompoundNMT": """
        hidden = 4
        decoder_hidden = 6
        heads = 2
        attention = 4
        dropout = 0.2
        """,
    "GeneralizedPooling": """
        hidden = 4
        layers = 1
        heads = 2
        attention_hidden = 4
        character_filters = 2
        dropout = 0.2
        penalty = "attention"
        head = "Classifier"
        """,
}


@pytest.mark.parametrize(
    ("kind", "sent"),
    [
        ("MeanMaxAAE", signal.SIGINT),
        *(("RNNCNN", sent) for sent in (signal.SIGINT, signal.SIGKILL)),
        *(("SkipThoughts", sent) for sent in (signal.SIGINT, signal.SIGKILL)),
        ("FastSent", signal.SIGKILL),
        ("HierarchicalCNN", signal.SIGKILL),
        *(("CompoundNMT", sent) for sent in (signal.SIGINT, signal.SIGKILL)),
        *(("GeneralizedPooling", sent) for sent in (signal.SIGINT, signal.SIGKILL)),
    ],
)
def test_a_killed_run_resumes_bit_for_bit(folder, capsys, kind, sent):
    of_mean_max = 'class = "MeanMaxAAE"\npreset = "paper"\nhidden = 8\nheads = 2\ndropout = 0 '
    assert of_mean_max in TOML
    text = TOML.replace(of_mean_max, f'class = "{kind}"\npreset = "paper"\n{OF_CLASSES[kind]}\n')
    if "head =" in OF_CLASSES[kind]:  # it learns from labels
        for name in ("a", "valid"):
            lines = (folder / f"{name}.txt").read_text().splitlines()
            labelled = [f"{'no' if i % 3 else 'yes'}\t{line}\n" for i, line in enumerate(lines)]
            (folder / f"{name}.tsv").write_text("".join(labelled))
        text = text.replace('["a.txt", "b.txt"]', '"a.tsv"').replace("valid.txt", "valid.tsv")
    if kind == "CompoundNMT":
        text = text.replace('["a.txt", "b.txt"]', '"a.txt"\ntrain_target = "b.txt"')
        text = text.replace('valid = "valid.txt"', 'valid = "valid.txt"\nvalid_target = "valid.txt"')
    (folder / "aae.toml").write_text(text)
    seldom = 10**6 if sent == signal.SIGINT else 5  # Ctrl-C itself makes a checkpoint
    more = ["--set", f"save_every={seldom}", "--set", f"validate_every={seldom}"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    log, checkpoints = folder / "log.csv", folder / "aae.sentencode.checkpoints"
    until = time.monotonic() + 100
    launch = [sys.executable, "-m", "sentencode", *command(folder, *more, "--set", "max_steps=1000000")]
    with subprocess.Popen(launch, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            while not (log.exists() and log.read_text().count("\n") > 8):
                assert process.poll() is None, process.stderr.read()
                assert time.monotonic() < until
                time.sleep(0.02)
            process.send_signal(sent)
            assert process.wait(60) == (130 if sent == signal.SIGINT else -signal.SIGKILL)
            errors = process.stderr.read()
            assert ("the same command resumes there" in errors) == (sent == signal.SIGINT)
        finally:
            process.kill()
    assert not (folder / "aae.sentencode").exists()
    last = max(int(path.stem.split("-")[1]) for path in checkpoints.glob("step-*.safetensors"))
    before = se.num_threads()
    se.set_num_threads(1)
    try:
        more += ["--set", f"max_steps={last + 7}"]
        assert main(command(folder, *more, "--resume")) == 0
        straight = [
            "--output",
            folder / "straight.sentencode",
            "--set",
            f"logs.csv={folder / 'straight.csv'}",
        ]
        assert main(command(folder, *more, *straight)) == 0
    finally:
        se.set_num_threads(before)
    same(weights(folder / "aae.sentencode"), weights(folder / "straight.sentencode"))
    assert [step.step for step in History.from_csv(log).steps] == list(range(1, last + 8))


def test_existing_output_and_checkpoints(folder, capsys, fails):
    assert main(command(folder)) == 0
    fails(command(folder), "aae.sentencode: exists already; --overwrite replaces it")
    assert main(command(folder, "--overwrite")) == 0
    assert "no further steps" in capsys.readouterr().out
    assert main(command(folder, "--overwrite", "--set", "max_steps=14")) == 0  # further
    assert "step 14" in capsys.readouterr().out
    assert main(command(folder, "--overwrite", "--set", "hidden=4", "--set", "data.valid=../b.txt")) == 1
    shown = capsys.readouterr().err
    assert "holds checkpoints of a different run: [encoder] hidden was 8 and is 4; [data] valid was" in shown
    assert "--fresh starts over" in shown
    assert main(command(folder, "--overwrite", "--set", "hidden=4", "--fresh")) == 0
    assert se.load(folder / "aae.sentencode").hidden == 4
    fails(
        command(folder, "--resume", "--checkpoints", "nothing", "--output", "x.sentencode"), "no checkpoint"
    )
    fails(command(folder, "--output", folder / "a.txt", "--overwrite"), "is an input", status=2)


def header(metadata):
    """A safetensors file without tensors."""
    text = json.dumps({"__metadata__": metadata}).encode()
    return len(text).to_bytes(8, "little") + text


@pytest.mark.parametrize("fresh", [[], ["--fresh"]], ids=["plain", "fresh"])
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", b'{"model_type": "bert"}', "config.json is not of sentencode train"),
        ("config.json", b"no JSON", "config.json is not of sentencode train"),
        ("best.safetensors", header({"format": "pt"}), "best.safetensors is no checkpoint"),
        ("step-12.safetensors", header({}), "step-12.safetensors is no checkpoint"),
    ],
    ids=["another config", "no JSON", "another best", "another step"],
)
def test_a_folder_of_other_files_is_refused_and_unchanged(folder, fails, fresh, name, content, message):
    models = folder / "models"
    models.mkdir()
    files = {"model.safetensors": b"precious", name: content}
    for file, bytes_ in files.items():
        (models / file).write_bytes(bytes_)
    fails(
        command(folder, "--checkpoints", models, *fresh),
        f"{models} holds other files: {message}; --checkpoints names another",
    )
    assert {path.name: path.read_bytes() for path in models.iterdir()} == files


def test_a_second_training_changes_nothing_of_the_first(folder, fails):
    from sentencode import _nn

    run = folder / "run"
    assert main(command(folder, "--checkpoints", run, "--set", "max_steps=2")) == 0
    for path in run.glob("*.safetensors"):  # as before the first checkpoint
        path.unlink()
    before = (run / "config.json").read_text()
    with _nn.lock_folder(run):
        fails(
            command(folder, "--checkpoints", run, "--overwrite", "--set", "hidden=4"),
            "another training writes to",
        )
    assert (run / "config.json").read_text() == before


@pytest.mark.parametrize("key", ["logs.csv", "logs.tensorboard", "checkpoints.folder"])
def test_what_is_written_is_not_in_a_folder_that_is_read(folder, key, fails):
    texts = folder / "texts"
    texts.mkdir()
    (folder / "a.txt").rename(texts / "a.txt")
    more = ["--set", f'data.train="{texts}"', "--set", f'{key}="{texts / "new"}"']
    fails(command(folder, *more), f"is in the folder {texts}, which is read", 2)
    assert [path.name for path in texts.iterdir()] == ["a.txt"]


def test_fresh_removes_only_checkpoints(folder, capsys):
    run = folder / "run"
    run.mkdir()
    others = ["model.safetensors", "step-x.safetensors", "step-3.safetensors.bak"]
    for name in others:
        (run / name).write_bytes(b"precious")
    common = ["--checkpoints", run, "--overwrite"]
    assert main(command(folder, *common, "--set", "max_steps=4")) == 0  # other files are no checkpoints
    assert main(command(folder, *common, "--resume", "--set", "max_steps=5")) == 0
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    assert main(command(folder, *common, "--fresh", "--set", "hidden=5")) == 1
    assert "hidden must be a multiple of heads, got 5 and 2" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before
    (run / "best.safetensors").write_bytes(b"damaged")  # ours by its name
    assert main(command(folder, *common, "--fresh", "--set", "hidden=4", "--set", "max_steps=2")) == 0
    assert sorted(path.name for path in run.iterdir()) == sorted(
        [*others, "best.safetensors", "config.json", "step-000000002.safetensors"]
    )
    assert [(run / name).read_bytes() for name in others] == [b"precious"] * 3
    assert json.loads((run / "config.json").read_text())["encoder"]["hidden"] == 4


def test_options_that_decide_learning_rates_must_not_change(folder, capsys, fails):
    linear = ["--overwrite", "--set", "schedule=linear"]
    assert main(command(folder, *linear)) == 0
    fails(
        command(folder, *linear, "--set", "max_steps=14"),
        "a different run: [encoder] max_steps was 12 and is 14; --fresh",
    )
    assert main(command(folder, *linear)) == 0
    decays = [*linear[:1], "--set", "decay=0.5", "--checkpoints", folder / "decays"]
    assert main(command(folder, *decays)) == 0
    assert main(command(folder, *decays, "--set", "max_steps=14")) == 0
    capsys.readouterr()
    fails(
        command(folder, *decays, "--set", "max_steps=14", "--set", "validate_every=3"),
        "[encoder] validate_every was 4 and is 3",
    )


def test_logs_get_their_folders_and_replace_nothing(folder, fails):
    log = folder / "logs" / "new" / "log.csv"
    assert main(command(folder, "--set", f"logs.csv={log}", "--set", "max_steps=2")) == 0
    assert len(History.from_csv(log).steps) == 2
    for name, message in [
        ("b.sentencode", "b.sentencode is also the output; give the log another name"),
        ("valid.txt", "valid.txt is also read, or written as another file"),
        ("b.sentencode.checkpoints/config.json", "config.json is also read, or written as another file"),
        ("logs", "is a folder, and must be a file"),
    ]:
        more = ["--output", folder / "b.sentencode", "--set", f"logs.csv={folder / name}"]
        fails(command(folder, *more), message, status=2)
    assert not (folder / "b.sentencode").exists()


def test_validation_metric_of_the_file(folder):
    chosen = {"metric": "accuracy", "decay": 0.5, "patience": 1, "reload_best": True, "accumulate": 2}
    text = TOML.replace(
        "max_steps = 12",
        "max_steps = 12\n" + "\n".join(f"{name} = {json.dumps(value)}" for name, value in chosen.items()),
    )
    (folder / "aae.toml").write_text(text)
    assert main(command(folder)) == 0
    saved = se.load(folder / "aae.sentencode")
    assert {name: saved.get_params()[name] for name in chosen} == chosen
    log = History.from_csv(folder / "log.csv")
    assert [v.score for v in log.validations] == [v.accuracy for v in log.validations]


def test_a_restart_by_torchrun_does_not_begin_anew(folder, capsys, monkeypatch):
    assert main(command(folder)) == 0
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    capsys.readouterr()
    assert main(command(folder, "--overwrite", "--fresh")) == 0
    assert "no further steps" in capsys.readouterr().out


def test_checkpoints_note_all_that_decides(folder):
    assert main(command(folder, "--checkpoints", folder / "run")) == 0
    noted = json.loads((folder / "run" / "config.json").read_text())
    assert noted["encoder"]["class"] == "MeanMaxAAE"
    assert noted["encoder"]["hidden"] == 8
    assert noted["encoder"]["min_length"] == 4  # a default
    assert noted["data"]["valid"] == str(folder / "valid.txt")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "hidden = 8",
            "hiden = 8",
            r"aae.toml: \[encoder\] has no key 'hiden' \(MeanMaxAAE\); it has .*hidden",
        ),
        ("hidden = 8", "filters = 8", r"\[encoder\] has no key 'filters' \(MeanMaxAAE\)"),
        ("hidden = 8", "vocabulary = 'x'", r"\[encoder\] has no key 'vocabulary'"),
        ("valid =", "validation =", r"aae.toml: \[data\] has no key 'validation'; it has train, valid"),
        ("[logs]", "[log]", r"aae.toml: there is no table \[log\]; there are encoder, vectors"),
        ("[encoder]", "steps = 3\n[encoder]", r"aae.toml: there is no table \[steps\]"),
        ("[encoder]", "logs = 3\n[encoder]", r"aae.toml: "),
        (
            '"MeanMaxAAE"',
            '"SIF"',
            r"class must be one of CNNLSTMAE, .*, RAE, RNNCNN, SkipThoughts, got 'SIF'",
        ),
        ('"MeanMaxAAE"', '["RAE"]', r"class must be one of .*, got \['RAE'\]"),
        ('class = "MeanMaxAAE"', "", r"aae.toml: \[encoder\] lacks class"),
        ('train = ["a.txt", "b.txt"]', "", r"aae.toml: \[data\] lacks train"),
        ('train = ["a.txt", "b.txt"]', "train = 3", r"\[data\] train must be a path, got 3"),
        ('"a.txt", "b.txt"', '"a.txt", "c.txt"', r"c.txt"),
        ('file = "vectors.sentencode"', "limit = 3", r"\[vectors\] lacks file"),
        ("hidden = 8", "hidden = ", r"aae.toml: is not TOML: .*line 5"),
        ("hidden = 8", "hidden = 9", r"hidden"),
        ("hidden = 8", 'hidden = 8\nunit_words = "yes"', r"unit_words must be True or False .*, got 'yes'"),
        ("hidden = 8", "hidden = 8\nunit_words = 1", r"unit_words must be True or False .*, got 1"),
        ("hidden = 8", "hidden = 8\nseed = true", r"seed must be a whole number, got True"),
        ("hidden = 8", "hidden = 8\npooling = false", r"pooling must be text, got False"),
    ],
)
def test_errors_name_the_file_and_the_key(folder, capsys, old, new, message):
    assert TOML.count(old) == 1
    (folder / "aae.toml").write_text(TOML.replace(old, new))
    assert main(command(folder)) == 1
    error = capsys.readouterr().err
    assert re.search(message, error), error
    assert not (folder / "aae.sentencode").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("hiden=8", "--set: [encoder] has no key 'hiden' (MeanMaxAAE)"),
        ("data.dev=x", "--set: [data] has no key 'dev'; it has train, valid"),
        ("texts.train=x", "--set: there is no table [texts]"),
        ("hidden", "--set: expected KEY=VALUE or TABLE.KEY=VALUE, got 'hidden'"),
        ("a.b.c=1", "--set: expected"),
    ],
)
def test_wrong_changes_are_wrong_usage(folder, fails, change, message):
    fails(command(folder, "--set", change), message, status=2)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("hidden", '"big"', "[encoder] hidden must be a whole number or false, for None, got 'big' (str)"),
        ("hidden", "1.5", "[encoder] hidden must be a whole number or false, for None, got 1.5 (float)"),
        ("hidden", "true", "[encoder] hidden must be a whole number or false, for None, got True (bool)"),
        ("heads", "[2]", "[encoder] heads must be a whole number, got [2] (list)"),
        ("dropout", '"0.1"', "[encoder] dropout must be a number or false, for None, got '0.1' (str)"),
        ("max_steps", '"x"', "[encoder] max_steps must be a whole number or false, for None, got 'x' (str)"),
        (
            "max_length",
            "[1]",
            "[encoder] max_length must be a whole number or false, for None, got [1] (list)",
        ),
        ("device", "7", "[encoder] device must be text, got 7 (int)"),
        ("vectors.limit", '"x"', "[vectors] limit must be a whole number, got 'x' (str)"),
        ("checkpoints.keep_last", '"x"', "[checkpoints] keep_last must be a whole number, got 'x' (str)"),
    ],
)
def test_wrong_types_are_named(folder, capsys, key, value, message):
    """In the file, and with --set."""
    file = folder / "aae.toml"
    changed = value.replace("true", "True")
    assert main(command(folder, "--set", f"{key}={changed}")) == 2
    assert capsys.readouterr().err == f"sentencode: error: --set: {message}\n"
    table, _, name = key.rpartition(".")
    lines = [line for line in TOML.splitlines() if line.partition(" ")[0] != name]
    where = lines.index(f"[{table or 'encoder'}]") + 1 if f"[{table or 'encoder'}]" in lines else len(lines)
    added = [f"{name} = {value}"] if where < len(lines) else [f"[{table}]", f"{name} = {value}"]
    file.write_text("\n".join([*lines[:where], *added, *lines[where:]]))
    assert main(command(folder)) == 1
    assert capsys.readouterr().err == f"sentencode: error: {file}: {message}\n"
    assert not (folder / "aae.sentencode.checkpoints").exists()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("tokenizer", "3", "[encoder] tokenizer must be text or false, for None, got 3 (int)"),
        ("tokenizer", "{a = 1}", "got {'a': 1} (dict)"),
        ("head", "true", "head must be a head such as se.Classifier(), got True (bool)"),
        ("head", "[1]", "head must be a head such as se.Classifier(), got [1] (list)"),
        ("betas", "3", "betas must be two numbers, got 3 (int)"),
    ],
)
def test_wrong_types_that_the_encoder_finds_are_named(folder, capsys, name, value, message):
    lines = [line for line in TOML.splitlines() if line.partition(" ")[0] != name]
    lines.insert(lines.index("[encoder]") + 1, f"{name} = {value}")
    (folder / "aae.toml").write_text("\n".join(lines))
    assert main(command(folder)) == 1
    shown = capsys.readouterr().err
    assert message in shown
    assert "TypeError" not in shown
    assert shown.count("\n") == 1


def test_an_output_is_needed(folder, fails):
    (folder / "aae.toml").write_text(TOML.replace('[output]\nfile = "aae.sentencode"', ""))
    fails(command(folder), "has no [output] file: give it there, or with --output", status=2)


def test_changes_override_the_file(folder):
    path = folder / "aae.toml"
    config = train.read_config(path, {"hidden": 4, "data.valid": "near.txt", "output_projection": False})
    assert config.parameters["hidden"] == 4
    assert config.parameters["output_projection"] is False  # which is not None there
    assert config.tables["data"]["valid"] == str(folder / "elsewhere" / "near.txt")
    assert config.tables["data"]["train"] == [str(folder / "a.txt"), str(folder / "b.txt")]
    assert config.kind is se.MeanMaxAAE
    with pytest.raises(UsageError):
        train.read_config(path, {"data.nothing": 1})


@pytest.mark.parametrize(
    "kind",
    [
        *("CNNLSTMAE", "CompositeCNN", "FastSent", "HierarchicalCNN", "LSTMSDAE", "MeanMaxAAE"),
        *("RAE", "RNNCNN", "SkipThoughts"),
    ],
)
def test_every_class_takes_its_parameters(folder, kind):
    """Each with its default; none is refused for its type."""
    names = {name: value for name, value in getattr(se, kind)._defaults().items() if name != "vectors"}
    written = {name: False if value is None else value for name, value in names.items()}
    lines = "\n".join(
        f"{name} = {json.dumps(value)}" for name, value in written.items() if name != "vocabulary"
    )
    (folder / "all.toml").write_text(f'[encoder]\nclass = "{kind}"\n{lines}\n[data]\ntrain = "a.txt"\n')
    assert set(train.read_config(folder / "all.toml").parameters) == {*names} - {"vocabulary"}


def test_labels_are_learnt_from_a_file(folder, capsys, fails):
    (folder / "pairs.tsv").write_text("yes\ta b\tc d\nno\tb c\ta\n" * 6)
    text = """
        [encoder]
        class = "GeneralizedPooling"
        preset = "paper"
        hidden = 4
        layers = 1
        heads = 2
        attention_hidden = 4
        character_filters = 2
        max_epochs = 2
        device = "cpu"
        [encoder.head]
        kind = "{kind}"
        [data]
        train = "pairs.tsv"
        valid = "pairs.tsv"
        [output]
        file = "{kind}.sentencode"
    """
    pairs = [("a b", "c d"), ("b c", "a")]
    for kind, shape in (("Classifier", (2,)), ("MultipleNegatives", (2,))):
        (folder / "labels.toml").write_text(textwrap.dedent(text.format(kind=kind)))
        if kind == "MultipleNegatives":  # every column is a sentence
            (folder / "pairs.tsv").write_text("a b\tc d\nb c\ta\n" * 6)
        assert main(["train", str(folder / "labels.toml"), "--quiet"]) == 0
        assert se.load(folder / f"{kind}.sentencode").predict(pairs).shape == shape
    (folder / "labels.toml").write_text(textwrap.dedent(text.format(kind="RowRegression")))
    fails(
        ["train", str(folder / "labels.toml"), "--quiet"],
        "[data] lacks teacher, the encoder whose embeddings",
    )
    (folder / "labels.toml").write_text(textwrap.dedent(text.format(kind="Other")))
    assert main(["train", str(folder / "labels.toml"), "--quiet"]) != 0
    assert "head: kind must be one of" in capsys.readouterr().err


TRANSLATED = """
[encoder]
class = "CompoundNMT"
preset = "paper"
features = 8
hidden = 6
decoder_hidden = 8
heads = 2
attention = 6
max_steps = 12
max_epochs = false
validate_every = 4
device = "cpu"
[data]
train = "a.txt"
train_target = "b.txt"
valid = "valid.txt"
valid_target = "valid.txt"
[output]
file = "nmt.sentencode"
"""


def test_translations_are_learnt_from_files(folder, capsys, fails):
    toml = folder / "nmt.toml"
    toml.write_text(TRANSLATED)
    command = ["train", str(toml), "--quiet"]
    assert main([*command, "--set", "max_steps=5"]) == 0
    assert main([*command, "--overwrite"]) == 0  # resumes
    loaded = se.load(folder / "nmt.sentencode")
    source, target, valid = (
        (folder / f"{name}.txt").read_text().splitlines() for name in ("a", "b", "valid")
    )
    straight = se.CompoundNMT(**{**loaded.get_params(deep=False), "vectors": None, "tokenizer": "auto"})
    straight.fit(source, target, valid=(valid, valid))
    expected = {name: tensor.numpy() for name, tensor in straight.network.state_dict().items()}
    same(weights(folder / "nmt.sentencode"), expected)
    assert len(loaded.translate(source)) == len(source)
    capsys.readouterr()
    toml.write_text(TRANSLATED.replace('valid_target = "valid.txt"', ""))
    fails([*command, "--overwrite"], "[data] lacks valid_target, the file with the translations of valid")
    toml.write_text(TRANSLATED.replace('"a.txt"', '["a.txt", "valid.txt"]'))
    fails([*command, "--overwrite"], "[data] train and train_target: give one file each")
    toml.write_text('[encoder]\nclass = "RNNCNN"\n[data]\ntrain = "a.txt"\ntrain_target = "b.txt"\n')
    fails(command, "[data] has no key 'train_target'")


RAW = {
    "train": ["A dog runs.", "A cat sleeps.", "Now a cat runs.", "Now a dog sleeps.", "", "Dogs run!"],
    "target": [
        "Ein Hund rennt.",
        "Eine Katze schläft.",
        "Nun rennt eine Katze.",
        "Nun schläft ein Hund.",
        "",
        "Ja!",
    ],
}
PREPARED = """
[encoder]
class = "CompoundNMT"
preset = "paper"
features = 16
hidden = 16
decoder_hidden = 32
heads = 2
attention = 16
dropout = 0.0
learning_rate = 0.02
max_steps = 300
max_epochs = false
device = "cpu"
[data]
train = "train.txt"
train_target = "target.txt"
[text]
moses = ["en", "de"]
bpe = 40
[output]
file = "nmt.sentencode"
"""


@pytest.fixture
def raw(folder):
    for name, lines in RAW.items():
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (folder / "raw.toml").write_text(PREPARED)
    return folder


def test_text_is_preprocessed_and_moses_is_saved(raw, capfdbinary):
    pytest.importorskip("sacremoses")
    from sentencode.text import Moses, learn_bpe

    command = ["train", str(raw / "raw.toml"), "--quiet"]
    assert main([*command, "--set", "max_steps=20"]) == 0
    assert main([*command]) == 1  # the files are there
    assert main([*command, "--overwrite"]) == 0  # resumes
    loaded = se.load(raw / "nmt.sentencode")
    moses = [Moses.load(raw / f"nmt.{side}.moses") for side in ("source", "target")]
    texts = [one.prepare(lines) for one, lines in zip(moses, RAW.values(), strict=True)]
    assert moses[0].casing_ == Moses("en").learn(RAW["train"]).casing_
    assert moses[1].language == "de"
    bpe = learn_bpe(*texts, size=40)
    assert se.Tokenizer(loaded.tokenizer).to_config()["content"] == bpe.to_str()
    assert loaded.origin_["text"] == {"moses": ["en", "de"], "bpe": 40}

    options = {**loaded.get_params(deep=False), "vectors": None, "tokenizer": bpe}
    straight = se.CompoundNMT(**options).fit(*texts)
    expected = {name: tensor.numpy() for name, tensor in straight.network.state_dict().items()}
    same(weights(raw / "nmt.sentencode"), expected)

    capfdbinary.readouterr()
    files = [str(raw / f"nmt.{side}.moses") for side in ("source", "target")]
    assert (
        main(["translate", str(raw / "nmt.sentencode"), "--moses", *files, str(raw / "train.txt"), "-"]) == 0
    )
    assert capfdbinary.readouterr().out.decode().splitlines() == RAW["target"]


def test_text_that_cannot_be_prepared(raw, fails):
    pytest.importorskip("sacremoses")
    toml, command = raw / "raw.toml", ["train", str(raw / "raw.toml"), "--quiet"]
    languages = 'moses = ["en", "de"]'
    for old, new, why in (
        (
            languages,
            'moses = "en"',
            '[text] moses must be both languages, as in ["en", "de"], got',
        ),
        (languages, 'moses = ["en", "German"]', "language must be two or three lower-case letters"),
        (languages, "other = 1", "[text] has no key 'other'; it has bpe, moses"),
        ("bpe = 40", "bpe = true", "[text] bpe must be the vocabulary size"),
        ("bpe = 40", "bpe = 5", "size must be at least"),
        (
            "heads = 2",
            'tokenizer = "words"',
            "[text] bpe tokenizes both languages: leave out [encoder] tokenizer",
        ),
    ):
        assert old in PREPARED
        toml.write_text(PREPARED.replace(old, new))
        fails(command, why)
    toml.write_text('[encoder]\nclass = "RNNCNN"\n[data]\ntrain = "train.txt"\n[text]\nbpe = 40\n')
    fails(command, "[text] is for translation models")
    (raw / "target.txt").write_text("Wort\n" * 6)
    toml.write_text(PREPARED)
    fails(command, "target.txt: learn: no sentence has a second word")
    assert not list(raw.glob("nmt.*moses"))


def test_other_text_is_a_different_run(raw, capsys, fails):
    pytest.importorskip("sacremoses")
    command = ["train", str(raw / "raw.toml"), "--quiet", "--overwrite"]
    assert main([*command, "--set", "max_steps=4"]) == 0
    fails([*command, "--set", "text.bpe=50"], "[text] bpe was 40 and is 50")
    (raw / "raw.toml").write_text(PREPARED.replace('[text]\nmoses = ["en", "de"]\nbpe = 40\n', ""))
    assert main(command) == 1
    assert (
        "[text] bpe was 40 and is None; [text] moses was ['en', 'de'] and is None" in capsys.readouterr().err
    )


TAUGHT = """
    [encoder]
    class = "RNNCNN"
preset = "paper"
    hidden = 4
    channels = 5
    inner = 4
    max_steps = 200
    max_epochs = false
    validate_every = 50
    learning_rate = 0.02
    device = "cpu"
    [encoder.head]
    kind = "RowRegression"
    [vectors]
    file = "vectors.sentencode"
    [data]
    train = ["a.txt", "b.txt"]
    valid = "valid.txt"
    teacher = "teacher.sentencode"
    [output]
    file = "student.sentencode"
"""


def test_a_student_learns_the_rows_of_its_teacher(folder, capsys, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    vectors = se.WordVectors.load(folder / "vectors.sentencode")
    teacher = se.Average(vectors)
    teacher.save(folder / "teacher.sentencode")
    (folder / "student.toml").write_text(textwrap.dedent(TAUGHT))
    with (folder / "a.txt").open("a") as file:
        file.write("\n\n")  # blank lines are no sentences
    assert main(["train", str(folder / "student.toml"), "--quiet"]) == 0
    assert list((folder / "cache").rglob("*.npy"))  # its embeddings are cached
    student = se.load(folder / "student.sentencode")
    assert student.origin_["data"]["teacher"] == str(folder / "teacher.sentencode")
    texts = (folder / "valid.txt").read_text().splitlines()
    rows = teacher.encode(texts)
    assert np.abs(student.predict(texts) - rows).mean() < 0.7 * np.abs(rows - rows.mean(0)).mean()
    # The same by hand: the teacher's rows of the lines that have text.
    lines = [line for name in "ab" for line in (folder / f"{name}.txt").read_text().split("\n") if line]
    by_hand = train.read_config(folder / "student.toml")
    twin = se.RNNCNN(vectors, **by_hand.parameters)
    twin.fit(lines, teacher.encode(lines), valid=(texts, rows))
    np.testing.assert_allclose(student.encode(texts), twin.encode(texts), rtol=1e-4, atol=1e-5)


def test_the_second_process_reads_the_embeddings_of_the_teacher(folder):
    se.Average(se.WordVectors.load(folder / "vectors.sentencode")).save(folder / "teacher.sentencode")
    (folder / "student.toml").write_text(textwrap.dedent(TAUGHT))
    in_two_processes(folder, ["train", str(folder / "student.toml"), "--set", "max_steps=4"])
    assert list((folder / "xdg").rglob("*.npy"))
    assert isinstance(se.load(folder / "student.sentencode"), se.RNNCNN)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'teacher = "teacher.sentencode"',
            "",
            "student.toml: [data] lacks teacher, the encoder whose embeddings",
        ),
        (
            '"teacher.sentencode"',
            "3",
            "student.toml: [data] teacher must be a path, or a model's name, got 3",
        ),
        ('"teacher.sentencode"', '"a.txt"', "[data] teacher: "),
        (
            'kind = "RowRegression"',
            'kind = "Classifier"',
            "[data] has no key 'teacher'; it has train, valid, and with [encoder.head] kind = "
            '"RowRegression" a teacher',
        ),
        ('valid = "valid.txt"', 'valid = "blank.txt"', "[data] valid: there is no sentence for the teacher"),
    ],
)
def test_errors_of_a_teacher(folder, capsys, monkeypatch, old, new, message):
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    se.Average(se.WordVectors.load(folder / "vectors.sentencode")).save(folder / "teacher.sentencode")
    (folder / "blank.txt").write_text("\n\n")
    assert TAUGHT.count(old) == 1
    (folder / "student.toml").write_text(textwrap.dedent(TAUGHT.replace(old, new)))
    assert main(["train", str(folder / "student.toml"), "--quiet"]) == 1
    error = capsys.readouterr().err
    assert message in error, error
