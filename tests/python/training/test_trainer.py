from __future__ import annotations

import concurrent.futures
import copy
import functools
import json
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sentencode.nn")

from torch import nn

import sentencode as se
from sentencode.training import (
    Batcher,
    Callback,
    CsvLog,
    Examples,
    History,
    Loss,
    Step,
    TensorBatch,
    TensorBoardLog,
    Trainer,
    Validation,
    plot_loss,
)
from sentencode.training.interrupts import Interrupts

from . import tiny, workers

HERE = Path(__file__).parent


@pytest.fixture
def make_trainer(tmp_path):
    """Make trainers on the examples of `tiny`."""
    return functools.partial(tiny.trainer, tmp_path / "file")


def weights(model):
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def plain_loss(model, batch, **options):
    """The cross entropy of a batch in plain torch."""
    ids, lengths = (torch.from_numpy(part["tokens"]) for part in (batch.ids, batch.lengths))
    return nn.functional.cross_entropy(model(ids, lengths), torch.from_numpy(batch.labels), **options)


def plain_batches(tmp_path, batch_size=6):
    """The batches that `make_trainer` trains on."""
    return Batcher(tiny.examples(tmp_path / "file"), mode="sorted_buffer", batch_size=batch_size, seed=2)


def assert_close_parameters(model, expected, **tolerance):
    for parameter, other in zip(model.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(parameter, other, **tolerance)


def assert_same(actual, expected):
    assert actual.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(actual[name], tensor), name


# --- Steps --------------------------------------------------------------------------------------


OPTIMIZERS = [
    (
        {"optimizer": "adam", "betas": (0.8, 0.95), "weight_decay": 0.01},
        torch.optim.Adam,
        {"betas": (0.8, 0.95)},
    ),
    ({"optimizer": "adamw", "weight_decay": 0.01}, torch.optim.AdamW, {}),
    ({"optimizer": "sgd", "momentum": 0.9, "weight_decay": 0.01}, torch.optim.SGD, {"momentum": 0.9}),
    ({"optimizer": "rmsprop", "momentum": 0.5, "weight_decay": 0.01}, torch.optim.RMSprop, {"momentum": 0.5}),
    ({"optimizer": "adagrad", "weight_decay": 0.01, "epsilon": 1e-10}, torch.optim.Adagrad, {}),
]


@pytest.mark.parametrize(
    ("options", "optimizer_class", "more"), OPTIMIZERS, ids=lambda value: getattr(value, "__name__", "")
)
@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_loop_in_plain_torch_has_the_same_losses(
    tmp_path, make_trainer, options, optimizer_class, more, accumulate
):
    model = tiny.Reader(dropout=0.0)
    other = copy.deepcopy(model)
    trainer = make_trainer(
        model,
        valid=False,
        max_steps=10,
        schedule="linear",
        warmup=3,
        clip_norm=0.5,
        accumulate=accumulate,
        **options,
    )
    history = trainer.run()

    batcher = plain_batches(tmp_path)
    optimizer = optimizer_class(other.parameters(), lr=0.02, weight_decay=0.01, **more)
    for step in range(10):
        rate = 0.02 * ((step + 1) / 3 if step < 3 else 1 - (step - 3) / 7)
        optimizer.param_groups[0]["lr"] = rate
        batches = [batcher.batch(*divmod(step * accumulate + i, len(batcher))) for i in range(accumulate)]
        optimizer.zero_grad()
        total = sum(plain_loss(other, batch, reduction="sum") for batch in batches)
        loss = total / sum(len(batch) for batch in batches)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(other.parameters(), 0.5)
        optimizer.step()
        reported = history.steps[step]
        assert reported.step == step + 1
        assert reported.loss == pytest.approx(loss.item(), abs=1e-6)
        assert reported.norm == pytest.approx(norm.item(), abs=1e-5)
        assert reported.learning_rate == pytest.approx(rate)
        assert reported.examples == sum(len(batch) for batch in batches)
        assert reported.tokens == sum(batch.tokens["tokens"] for batch in batches)
    assert_close_parameters(model, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", [bytes, str, Path])
def test_folders_of_every_name(tmp_path, kind):
    def named(name):
        path = os.path.join(os.fsencode(tmp_path), name)
        return path if kind is bytes else kind(os.fsdecode(path))

    def trainer(steps):
        log = CsvLog(named(b"log\xff"))
        return tiny.trainer(
            named(b"file\xff"), max_steps=steps, checkpoints=named(b"run\xff"), callbacks=[log]
        )

    trainer(5).run()
    resumed = trainer(10)
    assert resumed.run().steps[0].step == 6
    assert resumed.load_best()
    assert b"best.safetensors" in os.listdir(os.path.join(os.fsencode(tmp_path), b"run\xff"))
    assert [step.step for step in History.from_csv(named(b"log\xff")).steps] == list(range(1, 11))
    with pytest.raises(ValueError, match=r"checkpoints: .*run.* holds those of an earlier run"):
        trainer(12).run(resume=False)
    with pytest.raises(ValueError, match=r"run.*belongs to a different run"):
        tiny.trainer(named(b"file\xff"), max_steps=12, checkpoints=named(b"run\xff"), clip_norm=1.0).run()


def test_another_thread_reads_a_running_trainer(make_trainer):
    trainer = make_trainer(max_epochs=10, validate_every=1)
    done = threading.Event()
    looks, failures = [], []

    def look():
        try:
            while not done.wait(0.001):
                # The trainer may move on between two reads, but what is read later is never older.
                scores = trainer._core.scores
                validations, steps = len(trainer.history.validations), len(trainer.history.steps)
                step = trainer.step
                assert len(scores) <= validations + 1 <= steps + 2 <= step + 3
                assert all(0 < score < 20 for score in scores), scores
                assert step <= trainer.last_step
                assert not trainer.stopped_early
                looks.append(step)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=look, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    history = trainer.run()
    done.set()
    for thread in threads:
        thread.join(30)
    assert not failures, failures
    assert looks
    assert trainer._core.scores == [validation.score for validation in history.validations]
    assert trainer.step == trainer.last_step == len(history.steps)


def test_it_learns_and_validates(tmp_path, make_trainer):
    model = tiny.Reader(dropout=0.0)
    history = make_trainer(model, max_epochs=30, validate_every=None).run()
    assert len(history.validations) == 30
    assert history.steps[-1].epoch == 29
    assert history.steps[0].loss > 1.5
    last = history.validations[-1]
    assert last.loss < 0.2 < history.validations[0].loss
    assert last.accuracy == 1.0
    assert last.score == last.loss
    examples = tiny.examples(tmp_path / "file")
    batch = Batcher(examples, mode="plain", batch_size=61, shuffle=False).batch(0, 0)
    assert last.loss == pytest.approx(plain_loss(model.eval(), batch).item(), abs=1e-5)


def test_a_model_gets_the_fields_of_a_batch(tmp_path, make_trainer):
    seen = []

    class Looks(tiny.Reader):
        def loss(self, batch):
            seen.append((batch, self.training, torch.is_grad_enabled()))
            return Loss(*super().loss(batch))

    model = Looks().eval()
    state = torch.get_rng_state()
    make_trainer(model, max_steps=5).run()
    assert torch.equal(torch.get_rng_state(), state)
    assert not model.training  # unchanged
    batcher = plain_batches(tmp_path)
    assert len(seen) == 5 + 4
    assert [flags for _, *flags in seen] == [[True, True]] * 5 + [[False, False]] * 4
    for i in range(5):
        batch, expected = seen[i][0], batcher.batch(0, i)
        assert isinstance(batch, TensorBatch)
        assert len(batch) == len(expected)
        assert np.array_equal(batch.ids["tokens"], expected.ids["tokens"])
        assert np.array_equal(batch.lengths["tokens"], expected.lengths["tokens"])
        assert np.array_equal(batch.labels, expected.labels)
        assert np.array_equal(batch.mask["tokens"].sum(1), expected.lengths["tokens"])


def test_a_model_in_cpp_is_trained_without_its_python_counterpart(make_trainer):
    from sentencode import _nn
    from sentencode.nn.module import in_core
    from sentencode.training.python_model import ModuleParts

    class Mirror(nn.Module):
        def __init__(self, model):
            super().__init__()
            self._cpp = _nn.PythonModel(ModuleParts(model, ("tokens",)))  # any _nn.Model

        @in_core
        def loss(self, batch):
            raise AssertionError("the loss in C++ is used")

    models = [tiny.Reader() for _ in range(3)]
    make_trainer(models[0], max_steps=6).run()
    make_trainer(Mirror(models[1]), max_steps=6).run()
    make_trainer(_nn.PythonModel(ModuleParts(models[2], ("tokens",))), max_steps=6).run()
    assert not torch.equal(models[0].table.weight, tiny.Reader().table.weight)
    for model in models[1:]:
        assert_same(weights(model), weights(models[0]))


def test_the_loss_of_a_subclass_is_trained(tmp_path):
    from sentencode.models import LSTMAutoencoderNetwork

    examples = Examples.build(
        ["a b c", "b c", "c a b"], se.Vocabulary({"a": 3, "b": 2, "c": 1}), path=tmp_path / "file", end="</s>"
    )
    size = examples.vocabulary_size()
    options = {"words": size + 1, "features": 4, "hidden": 4, "inner": 4, "heads": 2, "dropout": 0.0}
    options |= {"begin": size, "end": examples.symbols()["</s>"]}

    class Scaled(LSTMAutoencoderNetwork):
        def __init__(self, **options):
            super().__init__(**options)
            self.scale = nn.Parameter(torch.zeros(()))

        def loss(self, batch):
            assert isinstance(batch, TensorBatch)
            parts = super().loss(batch.ids["tokens"], batch.lengths["tokens"])
            return parts.sum * self.scale.exp(), parts.tokens, parts.right

    class Named(LSTMAutoencoderNetwork):
        """Does not override the loss."""

    def run(kind, **more):
        torch.manual_seed(0)
        model = kind(**options)
        return model, Trainer(model, Batcher(examples, batch_size=3), max_steps=2, **more).run().steps

    plain, plain_steps = run(LSTMAutoencoderNetwork)
    scaled, steps = run(Scaled)
    assert scaled.scale != 0  # it is trained, and has a gradient through Python alone
    assert steps[0].loss == pytest.approx(plain_steps[0].loss)
    assert steps[0].accuracy == plain_steps[0].accuracy
    assert steps[0].norm > plain_steps[0].norm
    assert not torch.equal(scaled.softmax.bias, LSTMAutoencoderNetwork(**options).softmax.bias)
    named, steps = run(Named)
    assert_same(weights(named), weights(plain))
    broken = LSTMAutoencoderNetwork(**options)
    broken.loss = lambda batch: 1 / 0
    with pytest.raises(ZeroDivisionError):
        Trainer(broken, Batcher(examples), max_steps=1).run()


def test_a_model_whose_parameters_changed_is_refused(make_trainer):
    for change in (
        lambda model: setattr(model, "scores", nn.Linear(8, 6)),
        lambda model: model.load_state_dict(model.state_dict(), assign=True),
        lambda model: model.scores.bias.requires_grad_(True),
        lambda model: model.register_parameter("more", nn.Parameter(torch.zeros(1))),
        lambda model: delattr(model.scores, "weight"),
    ):
        model = tiny.Reader()
        model.scores.bias.requires_grad_(False)
        trainer = make_trainer(model, max_steps=2)
        change(model)
        with pytest.raises(ValueError, match=r"have changed since the Trainer was made .*, and make the Tr"):
            trainer.run()
    model = tiny.Reader()
    trainer = make_trainer(model, max_steps=2)
    model.scores.requires_grad_(False)  # freezing is allowed
    trainer.run()
    assert torch.equal(model.scores.weight, tiny.Reader().scores.weight)


def test_sparse_gradients_are_named(make_trainer):
    model = tiny.Reader()
    model.table.sparse = True
    before = weights(model)
    with pytest.raises(
        ValueError, match=r"model: the gradient of 'table.weight' is sparse, .* sparse_rows.*sparse=False"
    ):
        make_trainer(model, max_steps=2).run()
    assert_same(weights(model), before)


@pytest.mark.parametrize("name", ["adam", "sgd"])
def test_sparse_rows_take_the_steps_of_plain_torch(tmp_path, make_trainer, name):
    model = tiny.Reader(dropout=0.0).double()
    model.table.sparse = True
    other = copy.deepcopy(model)
    # Plain torch adds epsilon before it corrects the second moment for its bias, and ours after.
    options = {"accumulate": 2, "batch_size": 1, "clip_norm": 0.5, "epsilon": 1e-20, "optimizer": name}
    trainer = make_trainer(model, valid=False, max_steps=12, sparse_rows=True, validate_every=None, **options)
    history = trainer.run()
    assert model.table.weight.grad.is_sparse

    batcher = plain_batches(tmp_path, batch_size=1)
    rest = [p for key, p in other.named_parameters() if key != "table.weight"]
    if name == "sgd":
        steps = [torch.optim.SGD(other.parameters(), lr=0.02)]
    else:
        steps = [
            torch.optim.SparseAdam([other.table.weight], lr=0.02, eps=1e-20),
            torch.optim.Adam(rest, lr=0.02, eps=1e-20),
        ]
    for step in range(12):
        other.zero_grad()
        for i in range(2):
            (plain_loss(other, batcher.batch(*divmod(step * 2 + i, len(batcher)))) / 2).backward()
        table = other.table.weight.grad.coalesce()
        norm = torch.stack([table.values().norm(), *(p.grad.norm() for p in rest)]).norm()
        scale = min(1.0, 0.5 / norm.item())
        other.table.weight.grad = table * scale
        for parameter in rest:
            parameter.grad *= scale
        for each in steps:
            each.step()
        assert history.steps[step].norm == pytest.approx(norm.item(), rel=1e-9)
    assert_close_parameters(model, other, rtol=1e-8, atol=1e-10)


def sampling(path, steps, network_class="MeanMaxNetwork", folder=None, network=None, **options):
    """A trainer of one of this package's networks, with a softmax over sampled words."""
    models = pytest.importorskip("sentencode.models")
    examples = tiny.examples(path)
    torch.manual_seed(0)
    # Far more words than a step reads.
    sizes = {"words": 60, "features": 4, "hidden": 4, "inner": 4, "sampled_words": 3, "heads": 2}
    sizes |= network or {}
    model = getattr(models, network_class)(**sizes)
    options = {"learning_rate": 0.05, "clip_norm": 1.0, **options}
    batches = Batcher(examples, batch_size=3, seed=1)
    return Trainer(model, batches, max_steps=steps, checkpoints=folder, **options), model


@pytest.mark.parametrize(
    ("network_class", "trainable"), [("MeanMaxNetwork", True), ("LSTMAutoencoderNetwork", False)]
)
@pytest.mark.parametrize("optimizer", ["sgd", "adagrad"])
@pytest.mark.parametrize("accumulate", [1, 3])
def test_sparse_rows_of_a_network_move_as_dense_ones(
    tmp_path, network_class, trainable, optimizer, accumulate
):
    runs = {}
    # Adagrad normalises gradients, so the rounding of one that is nearly zero would make a step.
    epsilon = {"epsilon": 0.1} if optimizer == "adagrad" else {}
    for sparse in (False, True):
        trainer, model = sampling(
            tmp_path / "file",
            8,
            network_class,
            **epsilon,
            network={"trainable_words": trainable},
            sparse_rows=sparse,
            optimizer=optimizer,
            accumulate=accumulate,
        )
        history = trainer.run()
        runs[sparse] = weights(model), [(step.loss, step.norm) for step in history.steps]
        kinds = {name for name, p in model.named_parameters() if p.grad is not None and p.grad.is_sparse}
        tables = {"softmax.weight", "softmax.bias", *(["table.weight"] if trainable else [])}
        assert kinds == (tables if sparse else set())
    for name, tensor in runs[True][0].items():
        torch.testing.assert_close(tensor, runs[False][0][name], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(runs[True][1], runs[False][1], rtol=1e-5)


def test_sparse_rows_of_a_table_that_the_softmax_shares(tmp_path):
    sharing = {"tied": True, "trainable_words": True}
    sizes = {"words": 60, "features": 4, "hidden": 4, "sampled_words": 3, **sharing}
    models = pytest.importorskip("sentencode.models")
    path = tmp_path / "file"
    rows = [" ".join(tiny.LETTERS[i:] + tiny.LETTERS[:i]) for i in range(6)] * 3
    vocabulary = se.Vocabulary(dict.fromkeys(tiny.LETTERS, 1))
    examples = Examples.build(
        rows, vocabulary, "whitespace", path=path, neighbours={"previous": -1, "next": 1}
    )

    def run(**options):
        torch.manual_seed(0)
        model = models.SkipThoughtsNetwork(**sizes)
        Trainer(model, Batcher(examples, batch_size=2), max_steps=5, optimizer="sgd", **options).run()
        return model

    dense, sparse = run(), run(sparse_rows=True)
    assert sparse.table.weight.grad.is_sparse
    assert not dense.table.weight.grad.is_sparse
    torch.testing.assert_close(sparse.table.weight, dense.table.weight, rtol=1e-5, atol=1e-6)


def test_sparse_rows_resume_from_a_checkpoint(tmp_path):
    straight = sampling(tmp_path / "file", 12, sparse_rows=True)
    straight[0].run()
    sampling(tmp_path / "file", 5, folder=tmp_path / "run", sparse_rows=True)[0].run()
    trainer, model = sampling(tmp_path / "file", 12, folder=tmp_path / "run", sparse_rows=True)
    assert trainer.run().steps[0].step == 6
    assert_same(weights(model), weights(straight[1]))
    with pytest.raises(ValueError, match=r"sparse_rows was true and is nothing$"):
        sampling(tmp_path / "file", 14, folder=tmp_path / "run")[0].run()


@pytest.mark.parametrize("device_reads", [1, 4])
def test_sparse_rows_in_skipped_steps(make_trainer, device_reads):
    """Whether figures are read at once or later: a step that is not finite moves nothing."""
    model = tiny.Reader(dropout=0.0)
    model.table.sparse = True
    calls = [0]

    class Breaks(tiny.Reader):
        def loss(self, batch):
            calls[0] += 1
            total, *rest = super().loss(batch)
            return (total * (math.nan if calls[0] == 3 else 1), *rest)

    model.__class__ = Breaks
    seen = []
    options = {"bad_steps": 1, "read_every": device_reads, "sparse_rows": True, "validate_every": None}
    look = tiny.Do(lambda step: seen.append(step.step))
    make_trainer(model, valid=False, max_steps=8, callbacks=[look], **options).run()
    assert calls[0] == 8
    assert len(seen) >= 7
    assert all(torch.isfinite(p).all() for p in model.parameters())


def test_sparse_rows_without_a_table_that_is_read_by_rows(tmp_path, make_trainer):
    with pytest.raises(ValueError, match=r"sparse_rows: no table .* with sampled_words, .* trainable_words"):
        sampling(tmp_path / "file", 2, network={"sampled_words": 0}, sparse_rows=True)[0].run()
    with pytest.raises(ValueError, match=r"sparse_rows: no table"):
        make_trainer(max_steps=2, sparse_rows=True).run()


@pytest.mark.skipif(not torch.ops.mkldnn._is_mkldnn_bf16_supported(), reason="this processor has no bfloat16")
def test_sparse_rows_in_bfloat16(tmp_path):
    runs = []
    for sparse in (False, True):
        trainer, model = sampling(
            tmp_path / "file", 6, sparse_rows=sparse, optimizer="sgd", autocast="bfloat16"
        )
        trainer.run()
        runs.append(weights(model))
    for name, tensor in runs[1].items():
        torch.testing.assert_close(tensor, runs[0][name], rtol=1e-2, atol=1e-3)


def test_parameters_that_are_shared_or_frozen(make_trainer):
    class Shares(tiny.Reader):
        def __init__(self):
            super().__init__(dropout=0.0)
            self.again = self.table
            self.scores.bias.requires_grad_(False)

    plain, shares = tiny.Reader(dropout=0.0), Shares()
    plain.scores.bias.requires_grad_(False)
    for model in (plain, shares):
        make_trainer(model, max_steps=4).run()
    assert torch.equal(plain.table.weight, shares.table.weight)
    assert torch.equal(plain.scores.bias, tiny.Reader().scores.bias)


def test_accuracy_is_nan_without_counts(make_trainer):
    class Silent(tiny.Reader):
        def loss(self, batch):
            return super().loss(batch)[:2]

    history = make_trainer(Silent(), max_steps=5).run()
    assert math.isnan(history.steps[0].accuracy)
    assert math.isnan(history.validations[0].accuracy)
    trainer = make_trainer(Silent(), max_steps=9, metric="accuracy")
    with pytest.raises(ValueError, match="metric is the accuracy, but the model's loss does not have it"):
        trainer.run()
    assert trainer.step == 5


def test_a_batch_with_a_count_of_zero_is_named(make_trainer):
    class Empty(tiny.Reader):
        def loss(self, batch):
            total, count, right = super().loss(batch)
            return total, count * (not self.training), right

    with pytest.raises(
        ValueError, match=r"step 1, batch 0 of epoch 0: the model.s losses must have a count above 0, got 0"
    ):
        make_trainer(Empty(), max_steps=2).run()
    trainer = make_trainer(Empty(), max_steps=2, bad_steps=2)
    trainer.run()
    assert trainer.step == 2

    class Unseen(tiny.Reader):
        def loss(self, batch):
            total, count, right = super().loss(batch)
            return total, count * self.training, right

    with pytest.raises(ValueError, match=r"validation after step 5: .* count above 0"):
        make_trainer(Unseen(), max_steps=9).run()


@pytest.mark.parametrize("score", [None, "much", True, [1.0]])
def test_a_metric_that_is_no_number_is_named(make_trainer, score):
    trainer = make_trainer(max_steps=9, metric=lambda model: score)
    with pytest.raises(TypeError, match="metric must return a number, got "):
        trainer.run()


class Steps(Callback):
    """Records the numbers of the steps."""

    def __init__(self):
        self.steps = []

    def on_step(self, trainer, step):
        self.steps.append(step.step)


def test_all_callbacks_get_a_step_in_which_one_raises(make_trainer):
    def stop(step):
        if step.step == 3:
            raise KeyboardInterrupt

    log = Steps()
    trainer = make_trainer(max_steps=9, callbacks=[tiny.Do(stop), log])
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    assert log.steps == [step.step for step in trainer.history.steps] == [1, 2, 3]


@pytest.mark.skipif(not hasattr(signal, "raise_signal"), reason="needs signals")
def test_a_step_with_ctrl_c_is_reported(tmp_path):
    """C++ ends the step that it is in; Python raises as soon as it runs again."""
    models = pytest.importorskip("sentencode.models")
    examples = tiny.examples(tmp_path / "file")
    sizes = {"features": 16, "hidden": 256, "inner": 2048, "heads": 2}
    network = models.MeanMaxNetwork(words=examples.vocabulary_size() + 2, **sizes)
    log = Steps()
    trainer = Trainer(network, Batcher(examples, batch_size=61), max_epochs=10_000, callbacks=[log])
    for _ in range(8):
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            trainer.run()
        timer.join()
        assert log.steps == list(range(1, trainer.step + 1))


# --- Resuming --------------------------------------------------------------------------------------------


def start(folder, *arguments, **options):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, HERE / "tiny.py", folder, *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, **options
    )


def finish(process, code=0):
    out, errors = process.communicate(timeout=120)
    assert process.returncode == code, errors
    return out


def last_checkpoint(folder):
    return sorted((folder / "checkpoints").glob("step-*.safetensors"))[-1]


def figures(folder):
    """All but the times."""
    history = History.from_csv(folder / "log.csv")
    return [repr({**vars(step), "seconds": 0}) for step in history.steps], history.validations


def assert_same_run(folder, straight):
    assert last_checkpoint(folder).name == last_checkpoint(straight).name
    assert last_checkpoint(folder).read_bytes() == last_checkpoint(straight).read_bytes()
    assert figures(folder) == figures(straight)


@pytest.fixture
def folders(tmp_path):
    """Folders of a straight run and of one with a break; one thread, as in a process of `start`."""
    for name in ("straight", "broken"):
        (tmp_path / name).mkdir()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield tmp_path / "straight", tmp_path / "broken"
    torch.set_num_threads(threads)


def test_five_steps_and_five_in_a_new_process_are_ten(folders):
    straight, broken = folders
    tiny.run(straight, 10, accumulate=3)
    tiny.run(broken, 5, accumulate=3)
    finish(start(broken, "--steps", 10, "--accumulate", 3))
    assert last_checkpoint(broken).name == "step-000000010.safetensors"
    assert_same_run(broken, straight)


@pytest.mark.parametrize(
    "where", ["loss", "backward", "hook", "on_step", "on_validation", "metric", "validation"]
)
def test_an_interrupt_anywhere_leaves_no_trace(tmp_path, make_trainer, where):
    at = {"calls": 0}

    def interrupt():
        at["calls"] += 1
        if at["calls"] == 3:
            signal.raise_signal(signal.SIGINT)

    class Backward(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, gradient):
            interrupt()
            return gradient

    class Interrupted(tiny.Reader):
        def loss(self, batch):
            total, count, right = super().loss(batch)
            if where == ("loss" if self.training else "validation"):
                interrupt()
            if where == "backward":
                total = Backward.apply(total)
            return total, count, right

    class Callbacks(Callback):
        def on_step(self, trainer, step):
            if where == "on_step":
                interrupt()

        def on_validation(self, trainer, validation):
            if where == "on_validation":
                interrupt()

    def score(model):
        if where == "metric":
            interrupt()
        return model.scores.weight.sum().item()

    def make(model, **more):
        return make_trainer(
            model,
            max_steps=20,
            accumulate=2,
            metric=score,
            decay=0.5,
            save_every=50,
            **more,
        )

    model = Interrupted()
    if where == "hook":
        model.scores.weight.register_hook(lambda gradient: interrupt())
    trainer = make(model, checkpoints=tmp_path / "run", callbacks=[Callbacks()])
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    assert 0 < trainer.step < 20 or where == "loss"
    state = copy.deepcopy(weights(model))

    at["calls"] = 100  # no more interrupts
    straight = tiny.Reader()
    history = make(straight).run()
    # Resume from the checkpoint, as another process would, and continue this trainer.
    fresh = tiny.Reader()
    again = make(fresh, checkpoints=tmp_path / "run")
    again._core.resume()
    assert again.step == trainer.step
    assert_same(weights(fresh), state)
    again.run()
    trainer.run()
    assert_same(weights(fresh), weights(straight))
    assert_same(weights(model), weights(straight))
    scores = {validation.step: validation.score for validation in trainer.history.validations}
    assert scores == {validation.step: validation.score for validation in history.validations}


def test_a_log_has_the_step_in_which_ctrl_c_came(tmp_path, make_trainer):
    class Log(CsvLog):
        def on_step(self, trainer, step):
            if step.step == 4:
                signal.raise_signal(signal.SIGINT)
            super().on_step(trainer, step)

    before = signal.getsignal(signal.SIGINT)
    log = Log(tmp_path / "log.csv")
    trainer = make_trainer(tiny.Reader(), max_steps=20, callbacks=[log])
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    assert trainer.step == 4
    assert [step.step for step in History.from_csv(tmp_path / "log.csv").steps] == [1, 2, 3, 4]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_ctrl_c_does_not_wait():
    done = []

    def function(times):
        for k in range(times):
            done.append(k)
            signal.raise_signal(signal.SIGINT)
        done.append("end")

    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        interrupts.deferred(function)(5)
    assert done == [0, 1]
    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        interrupts.deferred(function)(1)
    assert done[2:] == [0, "end"]
    with Interrupts() as interrupts:
        interrupts.deferred(function)(0)  # no interrupt is pending
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    def fails():
        signal.raise_signal(signal.SIGINT)
        raise ValueError("stop")

    with pytest.raises(KeyboardInterrupt) as raised, Interrupts() as interrupts:
        interrupts.deferred(fails)()
    assert isinstance(raised.value.__context__, ValueError)

    def trains_another():
        with Interrupts() as inner:
            signal.raise_signal(signal.SIGINT)
            inner.deferred(function)(0)
        done.append("outer")

    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        interrupts.deferred(trains_another)()
    assert done[-2:] == ["end", "outer"]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        pool.submit(Interrupts().__enter__).result()  # other threads install no handler
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


OTHERS = [
    ({"batch_size": 7}, "batches.batch_size was 6 and is 7"),
    ({"seed": 1}, "seed was 0 and is 1"),
    ({"optimizer": "sgd"}, r'betas was \[0.9,0.999\] and is nothing; .*; optimizer was "adam" and is "sgd"'),
    ({"betas": (0.9, 0.98)}, r"betas was \[0.9,0.999\] and is \[0.9,0.98\]$"),
    ({"epsilon": 1e-6}, "epsilon was 1e-08 and is 1e-06$"),
    ({"weight_decay": 0.1}, "weight_decay was 0.0 and is 0.1$"),
    ({"learning_rate": 0.01}, "learning_rate was 0.02 and is 0.01$"),
    ({"warmup": 2}, "warmup was 0 and is 2$"),
    ({"schedule": "inverse_sqrt"}, 'schedule was "constant" and is "inverse_sqrt"$'),
    (
        {"schedule": "cosine"},
        'schedule was "constant" and is "cosine"; .*schedule_steps was nothing and is 9$',
    ),
    ({"decay": 0.5}, "decay was nothing and is 0.5"),
    ({"clip_norm": 1}, "clip_norm was 0.0 and is 1.0$"),
    ({"clip_each": 1}, "clip_each was 0.0 and is 1.0$"),
    ({"accumulate": 2}, "accumulate was 1 and is 2$"),
    ({"settings": {"width": 8}}, "model.width was 9 and is 8$"),
    ({"settings": {}}, "model.width was 9 and is nothing$"),
    ({"metric": "accuracy"}, 'higher_is_better was false and is true; metric was "loss" and is "accuracy"'),
]


@pytest.mark.parametrize(
    ("change", "message"), OTHERS, ids=lambda value: "-".join(value) if isinstance(value, dict) else ""
)
def test_checkpoints_of_another_training_are_refused(tmp_path, make_trainer, change, message):
    folder, settings = tmp_path / "run", {"width": 9}
    make_trainer(max_steps=5, settings=settings, checkpoints=folder).run()
    changed = {"max_steps": 9, "settings": settings, **change}
    with pytest.raises(ValueError, match=message) as refused:
        make_trainer(checkpoints=folder, **changed).run()
    assert str(folder) in str(refused.value)
    # Options that do not change the steps.
    free = {"validate_every": 2, "save_every": 1, "stop_after": 9, "bad_steps": 1, "keep_last": 5}
    done = make_trainer(checkpoints=folder, settings=settings, max_steps=7, **free)
    assert [step.step for step in done.run().steps] == [6, 7]


def test_checkpoints_of_other_examples_are_refused(tmp_path):
    folder, vocabulary = tmp_path / "run", se.Vocabulary({"a": 2, "b": 1})

    class Bag(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.EmbeddingBag(4, 4)

        def loss(self, batch):
            return self.words(batch.ids["tokens"]).square().sum(), len(batch)

    def run(sentences, name, steps, **options):
        examples = Examples.build(sentences, vocabulary, path=tmp_path / name)
        batches = Batcher(examples, batch_size=2, **options)
        return Trainer(Bag(), batches, max_steps=steps, checkpoints=folder).run()

    run(["a b", "b a", "a a"], "one", 2)
    with pytest.raises(ValueError, match=r"examples was \S+ and is \S+$"):  # as many, of the same lengths
        run(["a b", "b a", "b b"], "two", 3)
    with pytest.raises(ValueError, match=r"batches.seed was 0 and is 1$"):
        run(["a b", "b a", "a a"], "one", 3, seed=1)
    with pytest.raises(ValueError, match=r'batches.mode was "equal_length" and is "plain"$'):
        run(["a b", "b a", "a a"], "one", 3, mode="plain")
    assert [step.step for step in run(["a b", "b a", "a a"], "elsewhere", 3).steps] == [3]  # the same content


def test_a_linear_schedule_fixes_the_end(tmp_path, make_trainer):
    folder, linear = tmp_path / "run", {"schedule": "linear", "checkpoints": tmp_path / "run"}
    make_trainer(max_steps=5, **linear).run()
    with pytest.raises(ValueError, match=r"schedule_steps was 5 and is 9$"):
        make_trainer(max_steps=9, **linear).run()
    again = make_trainer(max_steps=9, schedule_steps=5, **linear)
    assert [step.learning_rate for step in again.run().steps] == [0] * 4
    assert folder.is_dir()


def test_options_of_validation_that_decide_learning_rates_must_not_change(tmp_path, make_trainer):
    options = {"decay": 0.5, "patience": 2, "checkpoints": tmp_path / "run"}
    make_trainer(max_steps=5, **options).run()
    for change, message in [
        ({"patience": 1}, "patience was 2 and is 1$"),
        ({"validate_every": 2}, "validate_every was 5 and is 2$"),
        ({"reload_best": True}, "reload_best was false and is true$"),
    ]:
        with pytest.raises(ValueError, match=message):
            make_trainer(max_steps=9, **(options | change)).run()


def test_checkpoints_store_the_settings_of_a_network(tmp_path):
    models = pytest.importorskip("sentencode.models")
    examples = tiny.examples(tmp_path / "file")

    def run(steps, **options):
        sizes = {"words": examples.vocabulary_size() + 2, "features": 4, "hidden": 4, "inner": 4, "heads": 2}
        network = models.MeanMaxNetwork(**(sizes | options), trainable_words=True)
        batches = Batcher(examples, batch_size=8)
        return Trainer(network, batches, max_steps=steps, checkpoints=tmp_path / "run").run()

    run(2, pooling="mean")
    with pytest.raises(
        ValueError, match=r'model.heads was 2 and is 1; model.pooling was "mean" and is "max"$'
    ):
        run(4, pooling="max", heads=1)
    assert len(run(4, pooling="mean").steps) == 2


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_checkpoints_of_another_precision_are_refused(tmp_path, make_trainer, dtype):
    options = {"valid": False, "validate_every": None, "checkpoints": tmp_path / "run"}
    make_trainer(max_steps=2, **options).run()
    message = f"run: the model's 'table.weight' was float32 and is {str(dtype)[6:]}: the checkpoint"
    with pytest.raises(ValueError, match=message):
        make_trainer(tiny.Reader().to(dtype), max_steps=4, **options).run()
    model = tiny.Reader()
    model.scores.bias.data = model.scores.bias.data.to(dtype)
    before = {name: value.clone() for name, value in weights(model).items()}
    with pytest.raises(ValueError, match=r"'scores\.bias' was float32"):
        make_trainer(model, max_steps=4, **options).run()
    assert_same(weights(model), before)
    assert len(make_trainer(max_steps=4, **options).run().steps) == 2


def test_a_finished_run_is_not_trained_again(tmp_path, make_trainer):
    folder = tmp_path / "run"
    make_trainer(max_steps=5, checkpoints=folder).run()
    with pytest.raises(ValueError, match=r"holds those of an earlier run"):
        make_trainer(max_steps=9, checkpoints=folder).run(resume=False)
    done = make_trainer(max_steps=5, checkpoints=folder)
    assert done.run().steps == []  # nothing is left to do
    assert done.step == 5
    message = r"run: holds a checkpoint of step 5, but this training ends after step 3$"
    with pytest.raises(ValueError, match=message):
        make_trainer(max_steps=3, checkpoints=folder).run()


def test_another_file_next_to_checkpoints_is_left_alone(tmp_path, make_trainer):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"precious")
    trainer = make_trainer(max_steps=2, checkpoints=folder)
    assert len(trainer.run(resume=False).steps) == 2
    assert (folder / "model.safetensors").read_bytes() == b"precious"


# --- Several processes -----------------------------------------------------------------------------------


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def together(jobs, world):
    """Runs jobs of workers.py in processes."""
    environment = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    environment |= {"WORLD_SIZE": str(world), "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen(
            [sys.executable, HERE / "workers.py", json.dumps(jobs)],
            env={**environment, "RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(world)
    ]
    try:
        for process in processes:
            _, errors = process.communicate(timeout=120)
            assert process.returncode == 0, errors
    finally:
        for process in processes:
            process.kill()


@pytest.mark.parametrize("world", [2, 3])
def test_several_processes_equal_one(tmp_path, world):
    """61 examples: the last batch of an epoch has one example, so some processes have none."""
    path = str(tmp_path / "file")
    examples = tiny.examples(path)
    jobs = []
    for size, accumulate, by_function in {2: [(6, 1, False), (6, 3, True)], 3: [(4, 2, False)]}[world]:
        assert Batcher(examples, mode="plain", batch_size=size).batch(0, -(-61 // size) - 1).total == 1
        options = {"size": size, "accumulate": accumulate, "by_function": by_function}
        jobs.append(("reader", {"path": path, **options}, str(tmp_path / f"together{accumulate}-")))
    jobs.append(("in_parts", {"path": path}, str(tmp_path / "parts-")))
    for name in ("alone", "together"):
        (tmp_path / name).mkdir()

    def in_folder(job, folder):
        name, arguments, out = job
        more = {"folder": str(tmp_path / folder / Path(out).name)} if name == "reader" else {}
        return name, {**arguments, **more}, out

    together([in_folder(job, "together") for job in jobs], world)
    for job in jobs:
        name, arguments, out = in_folder(job, "alone")
        alone = getattr(workers, name)(**arguments)
        rtol = 1e-9 if name == "reader" else 1e-6
        for rank in range(world):
            saved = torch.load(f"{out}{rank}", weights_only=True)
            assert saved.keys() == alone.keys()
            for key, tensor in alone.items():
                torch.testing.assert_close(saved[key], tensor, rtol=rtol, atol=1e-9, equal_nan=True)


def test_processes_that_differ_and_errors_of_the_first(tmp_path):
    """No process waits for another one that has failed."""
    path = str(tmp_path / "file")
    tiny.examples(path)
    together([("refusals", {"path": path, "folder": str(tmp_path / "folder")}, str(tmp_path / "errors"))], 2)
    first, second = (torch.load(tmp_path / f"errors{rank}", weights_only=True) for rank in range(2))
    start = "process 1 would train differently: "
    assert first[:4] == [f"{start}see its error"] * 4
    assert second[0] == f"{start}learning_rate was 0.1 in process 0 and is 1.1"
    assert second[1] == f"{start}valid.higher_is_better was true in process 0 and is false"
    assert second[2] == f'{start}weights.table.weight was "[7, 8]" in process 0 and is "[8, 8]"'
    assert second[3].startswith(f"{start}examples was ")
    assert first[4] == "the file of the metric is missing"
    assert second[4] == "the first process could not compute the metric: see its error"
    assert "File too large" in first[5]
    assert second[5].endswith("/folder: the first process could not write the checkpoint: see its error")


def test_batches_of_another_process_are_refused(tmp_path):
    examples = tiny.examples(tmp_path / "file")
    with pytest.raises(
        ValueError, match="train: batches are for rank 1 of 2, but this process is rank 0 of 1"
    ):
        Trainer(tiny.Reader(), Batcher(examples, rank=1, world=2))
    with pytest.raises(ValueError, match="valid: batches are for rank 1 of 2"):
        Trainer(tiny.Reader(), Batcher(examples), Batcher(examples, rank=1, world=2))


# --- Errors -------------------------------------------------------------------------------------


class Broken(tiny.Reader):
    """Has a loss of NaN in some steps."""

    def __init__(self, *steps):
        super().__init__()
        self.steps = steps
        self.calls = 0

    def loss(self, batch):
        total, count, right = super().loss(batch)
        self.calls += self.training
        return total * (math.nan if self.calls in self.steps else 1), count, right


def test_a_loss_that_is_not_finite_is_located(tmp_path, make_trainer):
    model = Broken(13)  # 61 examples in batches of 6: 11 an epoch
    trainer = make_trainer(model, max_steps=20, checkpoints=tmp_path / "run")
    with pytest.raises(se.DivergedError, match=r"^step 13, batch 1 of epoch 1: the loss is nan") as caught:
        trainer.run()
    assert isinstance(caught.value, FloatingPointError)
    assert trainer.step == 12
    assert all(torch.isfinite(tensor).all() for tensor in model.state_dict().values())
    assert (tmp_path / "run" / "step-000000012.safetensors").exists()


@pytest.mark.parametrize("where", ["loss", "backward", "on_step", "on_validation", "on_end", "metric"])
def test_python_exceptions_are_raised_unchanged(make_trainer, where):
    error = Exception("this very one")

    def fail(here):
        if here == where:
            raise error

    class Backward(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, gradient):
            fail("backward")
            return gradient

    class Fails(tiny.Reader):
        def loss(self, batch):
            fail("loss")
            total, count, right = super().loss(batch)
            return Backward.apply(total) if self.training else total, count, right

    class Callbacks(Callback):
        ended = 0

        def on_step(self, trainer, step):
            fail("on_step")

        def on_validation(self, trainer, validation):
            fail("on_validation")

        def on_end(self, trainer):
            Callbacks.ended += 1
            fail("on_end")

    def score(model):
        assert not model.training
        fail("metric")
        return 1.0

    trainer = make_trainer(Fails(), max_steps=5, metric=score, callbacks=[Callbacks(), Callbacks()])
    with pytest.raises(Exception, match="this very one") as caught:
        trainer.run()
    assert caught.value is error
    assert Callbacks.ended == 2


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        (lambda t, n: t, TypeError, r"Odd\.loss\(batch\) must return \(sum, count\).*got Tensor"),
        (lambda t, n: (t,), TypeError, r"got \(Tensor\)"),
        (lambda t, n: None, TypeError, "got NoneType"),
        (lambda t, n: (t.item(), n), TypeError, r"got \(float, int\)"),
        (lambda t, n: (t.expand(2), n), ValueError, r"sum must be one number, got \(2,\)"),
        (lambda t, n: (t.detach(), n), ValueError, "sum has no graph"),
        (lambda t, n: (t, -1), ValueError, "count must be at least 0, got -1"),
        (lambda t, n: (t, None), TypeError, "count must be a number, got None"),
    ],
)
def test_wrong_results_of_loss_are_refused(make_trainer, returned, error, message):
    class Odd(tiny.Reader):
        def loss(self, batch):
            return returned(*super().loss(batch)[:2])

    with pytest.raises(error, match=message):
        make_trainer(Odd(), valid=False, max_steps=1, validate_every=None).run()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"optimizer": "adamax"}, ValueError, "optimizer must be 'adam', .* got 'adamax'"),
        ({"betas": (0.9, 1.0)}, ValueError, r"betas\[1\] must be less than 1, got 1.0"),
        ({"betas": 0.9}, TypeError, "betas must be a tuple of two numbers"),
        ({"momentum": -1}, ValueError, "momentum must be at least 0, got -1"),
        ({"momentum": 0.5}, ValueError, "momentum: adam has none"),
        ({"epsilon": math.nan}, ValueError, "epsilon must be finite"),
        ({"weight_decay": "much"}, TypeError, "weight_decay must be a number, got 'much'"),
        ({"sparse_rows": 1}, TypeError, "sparse_rows must be True or False, got 1"),
        (
            {"sparse_rows": True, "weight_decay": 0.1},
            ValueError,
            "sparse_rows: momentum and weight_decay must be 0, .* got 0 and 0.1",
        ),
        (
            {"sparse_rows": True, "optimizer": "sgd", "momentum": 0.9},
            ValueError,
            "sparse_rows: momentum and weight_decay must be 0, .* got 0.9 and 0",
        ),
        ({"sparse_rows": True, "optimizer": "rmsprop"}, ValueError, "sparse_rows: optimizer must be 'adam'"),
        ({"learning_rate": 0}, ValueError, "learning_rate must be more than 0, got 0"),
        ({"schedule": "step"}, ValueError, "schedule must be 'constant'"),
        ({"schedule_steps": 5}, ValueError, "schedule_steps: a schedule that is 'constant' has no end"),
        (
            {"schedule": "cosine", "warmup": 5, "schedule_steps": 5},
            ValueError,
            r"schedule_steps must be more than warmup \(5\), got 5",
        ),
        ({"schedule_end": 2}, ValueError, r"schedule_end must be in \[0, 1\], got 2"),
        ({"warmup": 1.5}, TypeError, "warmup must be a whole number"),
        ({"decay": 0}, ValueError, r"decay must be in \(0, 1\], got 0"),
        ({"patience": 0}, ValueError, "patience must be at least 1"),
        ({"max_steps": 0}, ValueError, "max_steps must be at least 1"),
        ({"max_epochs": -1}, ValueError, "max_epochs must be at least 1"),
        ({"accumulate": 0}, ValueError, "accumulate must be at least 1"),
        ({"clip_norm": -1}, ValueError, "clip_norm must be at least 0"),
        ({"clip_each": -1}, ValueError, "clip_each must be at least 0"),
        ({"validate_every": 0}, ValueError, "validate_every must be at least 1"),
        ({"save_every": 0}, ValueError, "save_every must be at least 1"),
        ({"stop_after": -1}, ValueError, "stop_after must be at least 0"),
        ({"patience": 3}, ValueError, "patience=3 needs decay below 1"),
        ({"metric": "bleu"}, ValueError, "metric must be one of 'loss', 'accuracy', got 'bleu'"),
        ({"metric": 3}, TypeError, "metric must be a str"),
        ({"keep_last": 0}, ValueError, "keep_last must be at least 1"),
        ({"autocast": "float16"}, ValueError, "autocast must be 'bfloat16', got 'float16'"),
        ({"bad_steps": -1}, ValueError, "bad_steps must be at least 0"),
        ({"seed": -1}, ValueError, "seed must be at least 0"),
        ({"callbacks": CsvLog("x")}, TypeError, "callbacks must be a sequence, got CsvLog"),
        ({"callbacks": [print]}, TypeError, r"callbacks\[0\] must be an object with on_step"),
        (
            {"callbacks": [Callback]},
            TypeError,
            r"callbacks\[0\] must be an object with on_step, got Callback",
        ),
        ({"communicator": 2}, TypeError, "communicator must be a Communicator, got int"),
        ({"read_every": 0}, ValueError, "read_every must be"),
        ({"reload_best": "no"}, TypeError, "reload_best must be True or False, got 'no'"),
        ({"higher_is_better": 1}, TypeError, "higher_is_better must be True or False, got 1"),
        ({"max_steps": True}, TypeError, "max_steps must be a whole number, got True"),
        ({"epsilon": True}, TypeError, "epsilon must be a number, got True"),
        ({"settings": 3}, TypeError, "settings must be a mapping of names to values, got int"),
        ({"settings": {"a": print}}, TypeError, "settings: .*not JSON serializable"),
        ({"settings": {"a": math.nan}}, ValueError, "settings: "),
        ({"nothing": 1}, TypeError, "nothing"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_bad_arguments_are_named(make_trainer, options, error, message):
    with pytest.raises(error, match=message):
        make_trainer(**options)


def test_bad_models_and_batches_are_named(tmp_path):
    examples = tiny.examples(tmp_path / "file")
    with pytest.raises(TypeError, match=r"model must be a torch\.nn\.Module, got str"):
        Trainer("model", Batcher(examples))
    with pytest.raises(TypeError, match=r"model: Linear has no method loss"):
        Trainer(nn.Linear(2, 2), Batcher(examples))
    with pytest.raises(TypeError, match="train must be a Batcher, got Examples"):
        Trainer(tiny.Reader(), examples)
    with pytest.raises(TypeError, match="valid must be a Batcher, got list"):
        Trainer(tiny.Reader(), Batcher(examples), [])
    same = se.Vocabulary({letter: len(tiny.LETTERS) - i for i, letter in enumerate(tiny.LETTERS)})
    other = se.Vocabulary({**dict(same), "f": 9})  # the same words in another order
    for vocabulary, symbols, message in (
        (other, {}, "valid: its field 'tokens' has another vocabulary than train's"),
        (
            same,
            {"end": "</s>"},
            r"valid: its field 'tokens' has the symbols .*</s>.*, train's \{'<unk>': 6\}",
        ),
    ):
        valid = Examples.build(["a b"], vocabulary, "whitespace", path=tmp_path / "valid", **symbols)
        with pytest.raises(ValueError, match=message):
            Trainer(tiny.Reader(), Batcher(examples), Batcher(valid))
    with pytest.raises(ValueError, match="stop_after needs validations"):
        Trainer(tiny.Reader(), Batcher(examples), stop_after=3)
    with pytest.raises(ValueError, match="metric is 'accuracy', but there is no valid"):
        Trainer(tiny.Reader(), Batcher(examples), metric="accuracy")
    with pytest.raises(ValueError, match="no parameter to train"):
        Trainer(tiny.Reader().requires_grad_(False), Batcher(examples))


# --- Ends, scores, precision -----------------------------------------------------------------------------


def test_early_stop_and_the_best_weights(tmp_path, make_trainer):
    scores, states, rates = iter([0.5, 0.7, 0.6, 0.6, 0.6, 0.9]), [], []
    model = tiny.Reader()

    class Record(Callback):
        def on_validation(self, trainer, validation):
            states.append((validation, weights(model)))

        def on_step(self, trainer, step):
            rates.append(step.learning_rate)

    trainer = make_trainer(
        model,
        valid=False,
        max_steps=100,
        validate_every=2,
        metric=lambda _: next(scores),
        stop_after=3,
        decay=0.5,
        reload_best=True,
        checkpoints=tmp_path / "run",
        callbacks=[Record()],
    )
    history = trainer.run()
    assert trainer.stopped_early
    assert trainer.step == 10
    assert [validation for validation, _ in states] == history.validations
    assert [v.score for v in history.validations] == [0.5, 0.7, 0.6, 0.6, 0.6]
    assert [v.best for v in history.validations] == [True, True, False, False, False]
    assert [v.decayed for v in history.validations] == [False, False, True, True, True]
    assert rates == [0.02] * 6 + [0.01] * 2 + [0.005] * 2
    assert_same(states[4][1], states[1][1])  # reloaded
    with torch.no_grad():
        model.scores.bias.add_(1)
    assert trainer.load_best()
    assert_same(weights(model), states[1][1])
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "best.safetensors",
        "step-000000008.safetensors",
        "step-000000010.safetensors",
    ]


@pytest.mark.parametrize("folder", [True, False])
def test_reload_best_keeps_the_optimizer_state(tmp_path, make_trainer, folder):
    """Compares with a plain loop that only loads the weights."""
    scores = iter([0.7, 0.5, 0.9])
    model = tiny.Reader(dropout=0.0)
    other = copy.deepcopy(model)
    make_trainer(
        model,
        valid=False,
        max_steps=8,
        validate_every=3,
        metric=lambda model: next(scores),
        decay=0.5,
        reload_best=True,
        **({"checkpoints": tmp_path / "run"} if folder else {}),
    ).run()

    batcher = plain_batches(tmp_path)
    optimizer, best = torch.optim.Adam(other.parameters(), lr=0.02), None
    for step in range(8):
        optimizer.zero_grad()
        plain_loss(other, batcher.batch(*divmod(step, len(batcher)))).backward()
        optimizer.step()
        if step == 2:
            best = copy.deepcopy(other.state_dict())
        elif step == 5:  # a miss
            other.load_state_dict(best)
            optimizer.param_groups[0]["lr"] = 0.01
    assert_close_parameters(model, other, rtol=1e-5, atol=1e-6)


def test_an_early_stop_resumes_with_more_patience(tmp_path, make_trainer):
    def run(stop_after, scores, **more):
        iterator = iter(scores)
        trainer = make_trainer(
            valid=False,
            max_steps=30,
            validate_every=2,
            decay=0.5,
            reload_best=True,
            stop_after=stop_after,
            **more,
            metric=lambda model: next(iterator),
        )
        history = trainer.run()
        return trainer, [step.learning_rate for step in history.steps]

    scores = [0.5, 0.7, 0.6, 0.6, 0.6, 0.9, 0.1, 0.1, 0.1, 0.1]
    folder = {"checkpoints": tmp_path / "run"}
    first, rates = run(3, scores, **folder)
    assert (first.step, first.stopped_early) == (10, True)
    same, none = run(3, [], **folder)
    assert (same.step, same.stopped_early, none) == (10, True, [])
    more, later_rates = run(4, scores[5:], **folder)
    assert (more.step, more.stopped_early) == (20, True)
    whole, all_rates = run(4, scores, checkpoints=tmp_path / "whole")
    assert rates + later_rates == all_rates
    assert_same(weights(more.model), weights(whole.model))
    unbound, _ = run(None, scores[10:] + [0.1] * 5, **folder)
    assert (unbound.step, unbound.stopped_early) == (30, False)


@pytest.mark.parametrize("validate_every", [4, None])
def test_a_later_end_takes_the_steps_of_a_run_that_did_not_end(tmp_path, make_trainer, validate_every):
    """The validation at an end that comes between others is no miss afterwards."""

    def run(folder, steps):
        trainer = make_trainer(
            max_steps=steps,
            validate_every=validate_every,
            metric=lambda model: 0.0,
            decay=0.5,
            patience=1,
            checkpoints=tmp_path / folder,
        )
        return trainer, [step.learning_rate for step in trainer.run().steps]

    _, first = run("parts", 6)
    parts, rest = run("parts", 40)
    whole, rates = run("whole", 40)
    assert first + rest == rates
    assert len(set(rates)) > 2
    assert_same(weights(parts.model), weights(whole.model))


def test_the_best_weights_of_an_end_between_validations_are_forgotten(tmp_path, make_trainer):
    scores = {4: 0.1, 6: 0.2, 8: 0.05, 12: 0.07}  # with an end after 12 steps, step 6 has no validation

    def trainer(folder, steps):
        made = make_trainer(
            max_steps=steps,
            validate_every=4,
            keep_last=1,
            metric=lambda model: scores[made.step],
            decay=0.5,
            reload_best=True,
            checkpoints=tmp_path / folder,
        )
        return made

    straight = trainer("straight", 12)
    straight.run()
    trainer("parts", 6).run()
    parts = trainer("parts", 6)
    assert parts.run().steps == []
    parts = trainer("parts", 12)
    parts.run()
    assert_same(weights(parts.model), weights(straight.model))
    assert parts.load_best()
    assert straight.load_best()
    assert_same(weights(parts.model), weights(straight.model))

    trainer("lost", 6).run()
    for path in (tmp_path / "lost").glob("best-*"):
        path.unlink()
    with pytest.raises(ValueError, match=r"lost: this training ended after step 6, where no validation was"):
        trainer("lost", 12).run()


def test_a_full_disk_while_the_best_weights_are_written_leaves_no_trace(tmp_path, make_trainer):
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    class Full(Callback):
        def on_step(self, trainer, step):
            if step.step == 4:
                resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))

    def trainer(folder, *callbacks):
        options = {"decay": 0.5, "reload_best": True, "learning_rate": 0.02, "validate_every": 2}
        where = {"checkpoints": tmp_path / folder, "callbacks": callbacks}
        return make_trainer(tiny.Reader(dropout=0), max_steps=11, **options, **where)

    straight = trainer("straight")
    straight.run()
    assert straight.history.validations[1].best
    stopped = trainer("full", Full())
    try:
        with pytest.raises(OSError, match="File too large"):
            stopped.run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [validation.step for validation in stopped.history.validations] == [2]
    assert stopped._core.scores == [straight.history.validations[0].score]
    other = trainer("full")
    other.run()
    assert_same(weights(other.model), weights(straight.model))
    stopped._callbacks = ()
    stopped.run()
    assert_same(weights(stopped.model), weights(straight.model))
    assert stopped.history.validations == straight.history.validations


# --- Locks of folders ------------------------------------------------------------------------------------


def test_a_second_training_in_a_folder_is_refused(tmp_path, make_trainer):
    """In this process, and in another one; when the first one has ended, the folder is free."""
    message = rf"another training writes to .*run: process {os.getpid()} on .*, since 20\d\d-.* UTC; wait"
    refused = []

    def try_others(step):
        if step.step != 3:
            return
        for options in ({}, {"learning_rate": 0.3}):
            with pytest.raises(BlockingIOError, match=message):
                make_trainer(max_steps=9, checkpoints=tmp_path / "run", **options).run()
            refused.append(options)
        code = "import sys, tiny; tiny.trainer(sys.argv[1], max_steps=9, checkpoints=sys.argv[2]).run()"
        command = [sys.executable, "-c", code, tmp_path / "file", tmp_path / "run"]
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
        assert done.returncode == 1
        assert f"BlockingIOError: [Errno 11] checkpoints: another training writes to {tmp_path}" in (
            done.stderr
        )
        refused.append("another process")

    first = make_trainer(max_steps=9, checkpoints=tmp_path / "run", callbacks=[tiny.Do(try_others)])
    first.run()
    assert len(refused) == 3
    assert not (tmp_path / "run" / "training.lock").exists()
    assert make_trainer(max_steps=9, checkpoints=tmp_path / "run").run().steps == []
    with pytest.raises(ValueError, match=r"learning_rate was 0.02 and is 0.3$"):
        make_trainer(max_steps=9, checkpoints=tmp_path / "run", learning_rate=0.3).run()


def test_a_trainer_that_is_running_does_not_run_again(tmp_path, make_trainer):
    """From a callback, and from another thread; the outer run is the one without these calls."""
    straight = make_trainer(max_steps=9)
    straight.run()
    made, refused = [], []

    def again():
        with pytest.raises(RuntimeError, match="this Trainer is running; wait until"):
            made[-1].run()
        refused.append(1)

    def call(step):
        if step.step == 3:
            again()
            thread = threading.Thread(target=again)
            thread.start()
            thread.join()

    for where in ({}, {"checkpoints": tmp_path / "run"}):
        made.append(make_trainer(max_steps=9, callbacks=[tiny.Do(call)], **where))
        made[-1].run()
        assert [step.step for step in made[-1].history.steps] == list(range(1, 10))
        assert_same(weights(made[-1].model), weights(straight.model))
        assert made[-1].run().steps == made[-1].history.steps  # nothing is left to do
    assert len(refused) == 4


def test_a_folder_that_cannot_be_resumed_is_refused_again(tmp_path, make_trainer):
    make_trainer(max_steps=9, checkpoints=tmp_path / "run").run()
    shorter = make_trainer(max_steps=5, checkpoints=tmp_path / "run")
    before = weights(shorter.model)
    for _ in range(2):
        with pytest.raises(
            ValueError, match=r"holds a checkpoint of step 9, but this training ends after step 5"
        ):
            shorter.run()
    assert shorter.step == 0
    assert_same(weights(shorter.model), before)


def test_a_resume_that_a_full_disk_stops_is_repeated(tmp_path, make_trainer):
    """The run was killed after a better validation than those before its last checkpoint."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    scores, made = {2: 0.1, 4: 0.2, 6: 0.3}, []

    class Copy(Callback):
        def on_validation(self, trainer, validation):
            if validation.step == 6:
                shutil.copytree(tmp_path / "run", tmp_path / "killed")

    def trainer(folder, steps):
        where = {"checkpoints": tmp_path / folder, "callbacks": [Copy()] if folder == "run" else []}
        score = {"validate_every": 2, "save_every": 4, "metric": lambda model: scores[made[-1].step]}
        made.append(make_trainer(max_steps=steps, **score, **where))
        return made[-1]

    straight = trainer("straight", 4)
    straight.run()
    trainer("run", 6).run()
    (tmp_path / "killed" / "training.lock").unlink()
    resumed = trainer("killed", 4)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            resumed.run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert resumed.run().steps == []
    assert resumed.load_best()
    assert_same(weights(resumed.model), weights(straight.model))


def test_a_folder_is_free_after_an_error_and_a_kill(tmp_path):
    (tmp_path / "run").mkdir()
    finish(start(tmp_path, "--steps", 9, "--kill-at", 7), -signal.SIGKILL)
    assert (tmp_path / "checkpoints" / "training.lock").exists()

    def fail(step):
        raise RuntimeError("stop")

    def trainer(*callbacks):
        where = {"checkpoints": tmp_path / "checkpoints", "callbacks": callbacks}
        return tiny.trainer(tmp_path / "examples", max_steps=9, decay=0.5, **where)

    with pytest.raises(RuntimeError, match="stop") as raised:  # keeps the traceback
        trainer(tiny.Do(fail)).run()
    assert trainer().run().steps[-1].step == 9
    assert raised.value is not None
    assert not (tmp_path / "checkpoints" / "training.lock").exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_hold_the_folder(tmp_path, make_trainer):
    children = []

    def fork(step):
        if step.step == 2:
            ready, done = os.pipe(), os.pipe()
            child = os.fork()
            if child == 0:
                os.close(done[1])
                os.write(ready[1], b"x")
                os.read(done[0], 1)  # it lives until the test closes the other end
                os._exit(0)
            os.close(done[0])
            os.read(ready[0], 1)
            children.append((child, done[1]))

    def trainer(*callbacks):
        where = {"checkpoints": tmp_path / "run", "callbacks": callbacks}
        return make_trainer(max_steps=9, **where)

    trainer(tiny.Do(fork)).run()
    assert len(children) == 1
    assert trainer().run().steps == []
    for child, end in children:
        os.close(end)
        os.waitpid(child, 0)


def test_the_best_weights_of_another_training_are_refused(tmp_path, make_trainer):
    def trainer(folder, model=None, **options):
        return make_trainer(model, max_steps=10, checkpoints=tmp_path / folder, **options)

    mine = trainer("mine")
    mine.run()
    assert trainer("mine").load_best()  # in another process it has no step yet
    trainer("other", learning_rate=0.3).run()
    begun = tiny.Reader()
    with torch.no_grad():
        begun.scores.bias[0] += 1
    trainer("begun", begun).run()  # of the same settings
    before = weights(mine.model)
    for folder, why in (
        ("other", r"learning_rate was 0.3 and is 0.02$"),
        ("begun", "its validations had other scores$"),
    ):
        best = (tmp_path / folder / "best.safetensors").read_bytes()
        (tmp_path / "mine" / "best.safetensors").write_bytes(best)
        with pytest.raises(ValueError, match=rf"best.safetensors: belongs to a different run: {why}"):
            mine.load_best()
        assert_same(weights(mine.model), before)
    assert trainer("mine").run().steps == []  # it resumes; the file may be lost


def test_a_folder_that_another_training_took_in_between_is_refused(tmp_path, make_trainer):
    def stop(step):
        if step.step == 3:
            raise KeyboardInterrupt

    mine = make_trainer(max_steps=9, checkpoints=tmp_path / "run", callbacks=[tiny.Do(stop)])
    with pytest.raises(KeyboardInterrupt):
        mine.run()
    for path in (tmp_path / "run").iterdir():
        path.unlink()
    make_trainer(max_steps=9, checkpoints=tmp_path / "run", learning_rate=0.3).run()
    with pytest.raises(ValueError, match=r"run: another training has written .*learning_rate was 0.3"):
        mine.run()


def test_higher_is_better_false_for_a_metric_function(make_trainer):
    scores = iter([0.5, 0.7])
    history = make_trainer(max_steps=10, metric=lambda model: next(scores), higher_is_better=False).run()
    assert [v.best for v in history.validations] == [True, False]
    assert all(math.isfinite(v.loss) for v in history.validations)
    accuracy = make_trainer(max_steps=10, metric="accuracy").run().validations
    assert [v.score for v in accuracy] == [v.accuracy for v in accuracy]
    assert accuracy[1].best == (accuracy[1].score > accuracy[0].score)


def test_no_best_without_checkpoints(make_trainer):
    assert not make_trainer().load_best()


@pytest.mark.skipif(not torch.ops.mkldnn._is_mkldnn_bf16_supported(), reason="this processor has no bfloat16")
def test_autocast(make_trainer):
    kinds = set()

    class Looks(tiny.Reader):
        def forward(self, ids, lengths):
            x = self.table(ids).sum(1)
            scores = self.scores(x)
            kinds.add((torch.is_autocast_enabled("cpu"), scores.dtype))
            return scores.float()

    model = Looks()
    history = make_trainer(model, max_steps=40, autocast="bfloat16").run()
    assert kinds == {(True, torch.bfloat16)}
    assert not torch.is_autocast_enabled("cpu")
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert history.steps[-1].loss < history.steps[0].loss


def test_autocast_on_unsupported_processors_is_refused(make_trainer, monkeypatch):
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: False)
    with pytest.raises(ValueError, match="autocast: cpu has no bfloat16"):
        make_trainer(autocast="bfloat16")


# --- Logs ------------------------------------------------------------------------------------------------


def test_csv_log(tmp_path, make_trainer):
    log = tmp_path / "log.csv"
    trainer = make_trainer(max_steps=10, callbacks=[CsvLog(log)])
    history = trainer.run()
    assert History.from_csv(log) == history
    assert [type(event) for event in (history.steps[0], history.validations[0])] == [Step, Validation]
    lines = log.read_text().splitlines()
    assert len(lines) == 1 + 10 + 2
    assert lines[0].startswith(
        "event,step,epoch,loss,accuracy,learning_rate,norm,examples,tokens,seconds,score"
    )
    log.write_text("a,b\n1,2\n")
    with pytest.raises(se.FormatError, match=r"log\.csv: not the log of a training: line 1 is 'a,b'"):
        make_trainer(max_steps=1, callbacks=[CsvLog(log)]).run()
    assert log.read_text() == "a,b\n1,2\n"
    log.write_text("\n".join([*lines, "step,x,,,,,,,,,,,", ""]))
    with pytest.raises(se.FormatError, match=r"log\.csv, line 14"):
        History.from_csv(log)


def test_tensorboard_log_with_the_package(tmp_path, make_trainer):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    history = make_trainer(max_steps=10, callbacks=[TensorBoardLog(tmp_path / "runs")]).run()
    events = accumulator.EventAccumulator(str(tmp_path / "runs")).Reload()
    assert [e.step for e in events.Scalars("train/loss")] == list(range(1, 11))
    assert [e.value for e in events.Scalars("valid/score")] == pytest.approx(
        [v.score for v in history.validations], rel=1e-6
    )


def test_tensorboard_log_follows_no_link(tmp_path, make_trainer):
    writer = pytest.importorskip("tensorboard.summary.writer.event_file_writer")
    pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    folder, elsewhere = tmp_path / "runs", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.write_text("theirs")
    following = writer._global_uid.get() + 1
    for second in range(int(time.time()), int(time.time()) + 60):
        name = f"events.out.tfevents.{second:010d}.{socket.gethostname()}.{os.getpid()}.{following}"
        (folder / name).symlink_to(elsewhere)
    make_trainer(max_steps=2, callbacks=[TensorBoardLog(folder)]).run()
    assert elsewhere.read_text() == "theirs"
    assert len([path for path in folder.iterdir() if not path.is_symlink()]) == 1


def test_tensorboard_log_writes_scalars(tmp_path, make_trainer, monkeypatch):
    """Does not need the package."""
    calls = []

    class SummaryWriter:
        def __init__(self, log_dir, purge_step, filename_suffix):
            calls.append((log_dir, purge_step))

        def add_scalar(self, name, value, step):
            calls.append((name, value, step))

        def close(self):
            calls.append("closed")

    module = types.ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = SummaryWriter
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    monkeypatch.setattr(torch.utils, "tensorboard", module, raising=False)
    options = {"checkpoints": tmp_path / "run", "callbacks": [TensorBoardLog(tmp_path / "runs")]}
    first = make_trainer(max_steps=5, **options).run()
    assert calls[0] == (str(tmp_path / "runs"), 1)
    assert ("train/loss", first.steps[2].loss, 3) in calls
    assert ("valid/score", first.validations[0].score, 5) in calls
    assert calls[-1] == "closed"
    calls.clear()
    make_trainer(max_steps=6, **options).run()
    assert calls[0] == (str(tmp_path / "runs"), 6)


def test_tensorboard_log_without_the_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    monkeypatch.delattr(torch.utils, "tensorboard", raising=False)
    with pytest.raises(ImportError, match="pip install tensorboard"):
        TensorBoardLog("runs")


def test_progress(make_trainer, capsys):
    make_trainer(max_steps=10).run(show_progress_bar=True)
    shown = capsys.readouterr().err
    assert "10/10" in shown
    assert "sentences/s" in shown
    assert "tokens/s" in shown
    make_trainer(max_steps=2).run(show_progress_bar=False)
    assert capsys.readouterr().err == ""


def test_plot_loss(tmp_path, make_trainer):
    pytest.importorskip("matplotlib")
    log = tmp_path / "log.csv"
    history = make_trainer(max_steps=10, callbacks=[CsvLog(log)]).run()
    for source in (history, log):
        (axes,) = plot_loss(source).axes
        training, validation = axes.get_lines()[:2]
        assert training.get_ydata().tolist() == [step.loss for step in history.steps]
        assert validation.get_xdata().tolist() == [5, 10]
    faint, smooth, *_ = plot_loss(history, smooth=4).axes[0].get_lines()
    assert faint.get_ydata().tolist() == [step.loss for step in history.steps]
    losses = np.array([step.loss for step in history.steps])
    expected = [losses[max(0, i - 3) : i + 1].mean() for i in range(10)]
    assert np.allclose(smooth.get_ydata(), expected)
    with pytest.raises(ValueError, match="no step to plot"):
        plot_loss(History())
    plot_loss(history).savefig(tmp_path / "loss.png")


class Mean(nn.Module):
    """Reads no tensor on the host."""

    figures = ("size",)

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(1)
        self.table = nn.Parameter(torch.randn(len(tiny.LETTERS) + 1, 6, generator=generator))

    def loss(self, batch):
        x = self.table[batch.ids["tokens"]] * batch.mask["tokens"].unsqueeze(2)
        scores = x.sum(1)
        total = nn.functional.cross_entropy(scores, batch.labels, reduction="sum")
        return se.training.Loss(total, len(batch), None, {"size": self.table.square().sum()})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"optimizer": "sgd"},
        {"optimizer": "sgd", "momentum": 0.9},
        {"optimizer": "rmsprop", "momentum": 0.9},
        {"optimizer": "adagrad"},
    ],
    ids=str,
)
def test_a_step_does_not_wait_for_the_device(make_trainer, options):
    """Counts reads of scalars, which wait for a GPU."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Looks(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            self.count += "_local_scalar_dense" in str(function) or "nonzero" in str(function)
            return function(*args, **(kwargs or {}))

    runs = []
    for every in (1, 5, 100):
        model = Mean()
        trainer = make_trainer(
            model,
            valid=False,
            max_steps=20,
            read_every=every,
            clip_norm=0.1,
            clip_each=0.05,
            **options,
        )
        with Looks() as looks:
            history = trainer.run()
        assert looks.count == (20 if every == 1 else 0)
        assert [step.step for step in history.steps] == list(range(1, 21))
        runs.append((weights(model), [(step.loss, step.norm, step.figures) for step in history.steps]))
    for tensors, losses in runs[1:]:
        assert_same(tensors, runs[0][0])
        assert losses == runs[0][1]
    assert all(0 < figures["size"] < 1e4 for _, _, figures in runs[0][1])


def test_the_learning_rate_may_decay_each_epoch_and_end_the_training(make_trainer):
    options = {"learning_rate": 0.1, "epoch_decay": 0.5, "max_epochs": 20}
    trainer = make_trainer(Mean(), valid=False, least_rate=0.02, **options)
    steps = trainer.run().steps
    assert sorted({step.learning_rate for step in steps}, reverse=True) == [0.1, 0.05, 0.025]
    assert {step.epoch for step in steps if step.learning_rate == 0.05} == {1}
    whole = make_trainer(Mean(), valid=False, **options).run().steps
    assert len(steps) == len(whole) * 3 // 20
    with pytest.raises(ValueError, match=r"least_rate must be from 0 to below the rate of 0\.1, got 0\.2"):
        make_trainer(Mean(), valid=False, least_rate=0.2, **options)


def test_training_options_may_be_passed_as_one_object(tmp_path):
    options = se.training.TrainingOptions(max_steps=7, learning_rate=0.1, warmup=0.0)
    runs = []
    for arguments in (
        {"options": options},
        {"max_steps": 7, "learning_rate": 0.1},
        {"options": options, "seed": 0},
    ):
        model = Mean()
        examples = tiny.examples(tmp_path / "file")
        Trainer(model, Batcher(examples, batch_size=6), **arguments).run()
        runs.append(weights(model))
    assert_same(runs[1], runs[0])
    assert_same(runs[2], runs[0])
    with pytest.raises(TypeError, match="Trainer has no argument 'lerning_rate'; see TrainingOptions"):
        Trainer(Mean(), Batcher(examples), lerning_rate=0.1)


def test_a_checkpoint_includes_steps_that_were_not_reported(tmp_path, make_trainer):
    class Stop(Callback):
        def on_step(self, trainer, step):
            if step.step >= 5:
                raise StopIteration

    options = {"valid": False, "max_steps": 20, "save_every": 2, "read_every": 4}
    trainer = make_trainer(Mean(), checkpoints=tmp_path / "run", callbacks=[Stop()], **options)
    with pytest.raises(StopIteration):
        trainer.run()
    assert (tmp_path / "run" / f"step-{trainer.step:09}.safetensors").exists()
    assert [step.step for step in trainer.history.steps] == list(range(1, trainer.step + 1))
    whole, resumed = Mean(), Mean()
    make_trainer(whole, **options).run()
    make_trainer(resumed, checkpoints=tmp_path / "run", **options).run()
    assert_same(weights(resumed), weights(whole))


def test_reload_best_waits_for_a_planned_validation(tmp_path, make_trainer):
    """A run that ends at a miss in between goes on as if it had not ended."""
    scores = {5: 0.9, 7: 0.1, 10: 0.95, 12: 0.2}

    def run(folder, steps):
        made = make_trainer(
            max_steps=steps,
            metric=lambda model: scores[made.step],
            decay=0.5,
            reload_best=True,
            checkpoints=tmp_path / folder,
        )
        made.run()
        return made

    run("parts", 7)
    parts, straight = run("parts", 12), run("straight", 12)
    assert_same(weights(parts.model), weights(straight.model))


def test_the_loss_decides_between_equal_accuracies(make_trainer):
    class Wrong(tiny.Reader):
        def loss(self, batch):
            total, count, right = super().loss(batch)
            return total, count, 0 * right

    options = {"metric": "accuracy", "max_steps": 20}
    trainer = make_trainer(Wrong(), stop_after=1, **options)
    validations = trainer.run().validations
    assert [v.score for v in validations] == [0.0] * 4
    assert all(v.best for v in validations)
    assert not trainer.stopped_early
    # A plateau of the accuracy itself decays the learning rate.
    validations = make_trainer(Wrong(), decay=0.5, **options).run().validations
    assert [v.best for v in validations] == [True, False, False, False]


def test_an_anchored_table_must_begin_as_before(tmp_path, make_trainer):
    def run(model, steps):
        return make_trainer(model, max_steps=steps, anchor=0.5, checkpoints=tmp_path / "run").run()

    run(tiny.Reader(), 4)
    other = tiny.Reader()
    with torch.no_grad():
        other.table.weight.add_(1)
    with pytest.raises(ValueError, match="belongs to a different run: anchor"):
        run(other, 8)
    assert len(run(tiny.Reader(), 8).steps) == 4
