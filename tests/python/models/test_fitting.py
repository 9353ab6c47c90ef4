"""How `fit` behaves: messages, warnings, and Ctrl-C."""

from __future__ import annotations

import itertools
import json
import logging
import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
models = pytest.importorskip("sentencode.models")

import sentencode as se
from sentencode import errors, progress
from sentencode.training import Callback
from sentencode.training.advice import raised_loss, recent_gain
from sentencode.training.history import History, Step

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "good", "bad", "fine", "poor"]
VECTORS = se.WordVectors.from_array(WORDS, np.random.default_rng(0).normal(size=(10, 8)).astype(np.float32))
# 240 sentences whose class is one of their words.
SENTENCES = [
    f"{article} {animal} {verb} {mood}"
    for article, animal, verb, mood in itertools.product(
        ["the", "a"], ["cat", "dog", "cat dog", "dog cat", "cat cat"], ["sat", "ran", "sat ran", "ran sat",
        "sat sat", "ran ran"], ["good", "fine", "bad", "poor"]
    )
]  # fmt: skip
LABELS = ["yes" if text.split()[-1] in ("good", "fine") else "no" for text in SENTENCES]
VALID = (SENTENCES[::5], LABELS[::5])
NETWORK = {"hidden": 6, "layers": 1, "pooling": "max", "characters": False, "dropout": 0.0, "device": "cpu"}
TRAINING = {"max_epochs": 8, "batch_size": 16, "learning_rate": 0.02, "decay": 1.0, "least_rate": None}


def unfitted(**change):
    return se.GeneralizedPooling(VECTORS, head=se.Classifier(hidden=8), **{**NETWORK, **TRAINING, **change})


def fitted(*examples, fit=(), **change):
    return unfitted(**change).fit(*(examples or (SENTENCES, LABELS)), **dict(fit))


class Slow(Callback):
    """Makes each step last."""

    def __init__(self, seconds):
        self.seconds = seconds

    def on_step(self, trainer, step):
        time.sleep(self.seconds)


# --- Options ------------------------------------------------------------------------------------------------


def test_warmup_may_be_a_fraction_of_the_training():
    assert [f"{step.learning_rate:.4f}" for step in fitted(warmup=0.1, max_steps=20).history_.steps[:3]] == [
        "0.0100", "0.0200", "0.0200"
    ]  # fmt: skip


# --- Messages -----------------------------------------------------------------------------------------------


def test_fit_says_what_it_does_and_how_good_it_is(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("sentencode.models.fit_report.DELAY", 0.1)
    fit = {"show_progress_bar": True, "valid": VALID, "callbacks": [Slow(0.04)]}
    fitted(fit={**fit, "checkpoints": tmp_path}, max_epochs=2)
    shown = capsys.readouterr().err
    assert "GeneralizedPooling: 240 examples, 48 for validation; up to 30 steps, about " in shown
    assert f"; checkpoints in {tmp_path}: the same call continues a stopped run\n" in shown
    assert "GeneralizedPooling: validation accuracy " in shown
    assert " (majority class 0.5), the best of 2 validations; 30 steps, " in shown
    fitted(fit={**fit, "valid": None}, max_epochs=1)
    shown = capsys.readouterr().err
    assert "240 examples; up to 15 steps, about" in shown
    assert "no checkpoints: checkpoints=FOLDER makes a stopped run continue\n" in shown
    assert "training loss" in shown


@pytest.mark.parametrize("interactive", [True, False])
def test_who_sees_messages(interactive, capsys, monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.05)
    monkeypatch.setattr(progress, "is_interactive", lambda: interactive)
    fit = {"callbacks": [Slow(0.02)]}
    fitted(fit=fit, max_epochs=1)
    shown = capsys.readouterr().err
    assert ("GeneralizedPooling: training loss" in shown) == interactive
    assert ("train:" in shown) == interactive
    fitted(fit={**fit, "show_progress_bar": False}, max_epochs=1)
    fitted(max_steps=1)  # it is fast
    assert not capsys.readouterr().err


def test_the_logger_gets_messages(caplog):
    with caplog.at_level(logging.INFO, "sentencode"):
        fitted(max_epochs=1)
    assert "GeneralizedPooling: training loss" in caplog.text


def test_terminals_and_notebooks_are_interactive(monkeypatch):
    class Terminal:
        def isatty(self):
            return True

    assert not progress.is_interactive()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", Terminal())
        assert progress.is_interactive()
    shell = type("Shell", (), {"kernel": object()})()
    monkeypatch.setitem(sys.modules, "IPython", type("IPython", (), {"get_ipython": lambda: shell}))
    assert progress.is_interactive()


# --- Ctrl-C -------------------------------------------------------------------------------------------------

CHILD = """
import sys
import numpy as np
sys.path.insert(0, {tests!r})
from models.test_fitting import LABELS, SENTENCES, VALID, Slow, unfitted
class Report(Slow):
    def on_step(self, trainer, step):
        super().on_step(trainer, step)
        if step.step == 40:
            print("ready", flush=True)
unfitted(max_epochs=1000).fit(SENTENCES, LABELS, valid=VALID, callbacks=[Report(0.01)], {arguments})
"""


def interrupted(folder):
    """The standard error of a process that fits and gets Ctrl-C."""
    arguments = "" if folder is None else f"checkpoints={os.fspath(folder)!r}"
    tests = os.path.dirname(os.path.dirname(__file__))
    code = CHILD.format(tests=tests, arguments=arguments)
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n", process.stderr.read()
            process.send_signal(signal.SIGINT)
            _, shown = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode != 0
    return shown


def test_ctrl_c_says_how_to_continue_and_stop_now_makes_the_encoder(tmp_path):
    shown = interrupted(tmp_path / "run").splitlines()[-1]
    assert shown.startswith("KeyboardInterrupt: GeneralizedPooling: stopped after step ")
    assert f'which is saved in {tmp_path / "run"}. The same call continues there; with stop="now" it' in shown
    fit = {"valid": VALID, "checkpoints": tmp_path / "run"}
    encoder = fitted(fit={**fit, "stop": "now"}, max_epochs=1000)
    assert encoder.history_.steps == []
    assert encoder.score(SENTENCES, LABELS) > 0.9
    assert encoder.predict(["the cat sat good"]).tolist() == ["yes"]
    # The same weights as those of a run that ends there.
    data = (tmp_path / "run" / "best.safetensors").read_bytes()
    step = int(json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["step"])
    straight = fitted(fit={"valid": VALID}, max_epochs=None, max_steps=step, validate_every=step)
    np.testing.assert_allclose(encoder.encode(SENTENCES), straight.encode(SENTENCES), atol=1e-6)
    assert "nothing is saved; with checkpoints=FOLDER, the same call would continue" in interrupted(None)


@pytest.mark.parametrize(
    ("stop", "folder", "message"),
    [
        ("now", None, "stop='now' makes an encoder of checkpoints: give checkpoints=FOLDER, too"),
        ("now", "empty", "stop='now': .*empty holds no checkpoint of a step yet"),
        ("later", "empty", "stop must be None or 'now', got 'later'"),
    ],
)
def test_stop_now_needs_checkpoints(stop, folder, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        fitted(fit={"stop": stop, "checkpoints": folder and tmp_path / folder})


# --- Warnings -----------------------------------------------------------------------------------------------


def kinds(*examples, fit=(), **change):
    """The classes of the warnings of a training."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted(*examples, fit=fit, **change)
    assert all(warning.filename == __file__ for warning in caught)
    return {warning.category for warning in caught}


def test_no_better_than_the_majority_class():
    skewed = ["yes" if i % 4 else "no" for i in range(len(SENTENCES))]
    options = {
        "fit": {"valid": (SENTENCES[::5], skewed[::5])},
        "max_epochs": 1,
        "learning_rate": 1e-5,
        "seed": 1,
    }
    assert kinds(SENTENCES, skewed, **options) == {errors.MajorityWarning}
    assert kinds(fit={"valid": VALID}) == set()


def test_a_rate_that_is_too_high():
    for rate in (1.0, 30.0):
        assert kinds(learning_rate=rate, clip_norm=None) == {errors.LearningRateWarning}
    with pytest.warns(
        errors.LearningRateWarning, match=r"was 0.7\d* at the start, then up to 1\.\d*, and is 0"
    ):
        fitted(optimizer="sgd", learning_rate=3.0, clip_norm=None)
    assert kinds() == set()


def test_stopped_while_still_improving():
    with pytest.warns(errors.StillImprovingWarning, match=r"training loss .*: give max_epochs=16"):
        fitted(learning_rate=3e-3)
    with pytest.warns(errors.StillImprovingWarning, match=r"validation loss .*: give max_steps=120"):
        fitted(fit={"valid": VALID}, learning_rate=1e-3, max_steps=60, validate_every=10, metric="loss")
    assert kinds(fit={"valid": VALID}, metric="loss", max_epochs=40, learning_rate=0.05) == set()


def steps(losses):
    return History([Step(i + 1, 0, loss, 0.5, 1e-3, 1.0, 8, 8, 0.1) for i, loss in enumerate(losses)])


def test_signs_in_a_history():
    random = np.random.default_rng(0)
    falling = 2 - np.arange(200) / 200 + random.normal(0, 0.05, 200)
    flat = 1 + 1.5 * np.exp(-np.arange(200) / 20) + random.normal(0, 0.05, 200)
    rising = 0.7 + np.arange(200) / 200 + random.normal(0, 0.05, 200)
    chance = 0.69 + random.normal(0, 0.05, 200)
    assert recent_gain(steps(falling), [], np.nan) is not None
    for losses in (flat, chance, falling[:40]):
        assert recent_gain(steps(losses), [], np.nan) is None
    assert recent_gain(steps(falling), [3.0, 2.0, 1.0], 4.0) == (2.0, 1.0)
    for scores in ([3.0, 1.0, 2.0], [2.0, 1.0, 0.99], [3.0, 2.0], [3.0, 1.0, np.nan]):
        assert recent_gain(steps(falling), scores, 4.0) is None
    assert raised_loss(steps(rising)) is not None
    for losses in (falling, flat, chance, rising[:40]):
        assert raised_loss(steps(losses)) is None
    resumed = steps(rising)
    resumed.steps = resumed.steps[1:]
    assert raised_loss(resumed) is None


@pytest.mark.parametrize(("count", "size"), [(40, 16), (4000, 64), (100_000, 128)])
def test_batches_grow_with_the_examples(count, size):
    texts, labels = list(itertools.islice(itertools.cycle(SENTENCES), count)), ["yes", "no"] * (count // 2)
    encoder = fitted(texts, labels, batch_size="auto", batching="plain", max_steps=1)
    assert encoder.history_.steps[0].examples == size
