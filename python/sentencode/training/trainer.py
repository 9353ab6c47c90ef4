"""Trains any model that gives a loss."""

from __future__ import annotations

import functools
import json
import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from .._extras import require_nn

require_nn()

import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from .. import _nn  # noqa: E402
from ..checks import checked_bool, checked_float, checked_int, checked_str  # noqa: E402
from ..distributed import Communicator  # noqa: E402
from ..distributed import communicator as all_processes  # noqa: E402
from ..generators import isolated_generators  # noqa: E402
from .batcher import Batcher  # noqa: E402
from .callbacks import Callback, Progress  # noqa: E402
from .checkpoints import checkpoint_files  # noqa: E402
from .examples import Examples  # noqa: E402
from .history import COLUMNS, History, Step, Validation  # noqa: E402
from .interrupts import Interrupts  # noqa: E402
from .options import TrainingOptions  # noqa: E402

__all__ = ["Loss", "TensorBatch", "Trainer"]

_LOG = logging.getLogger("sentencode")
_OPTIMIZERS = ("adam", "adamw", "sgd", "rmsprop", "adagrad")
_SCHEDULES = ("constant", "linear", "cosine", "inverse_sqrt")


@dataclass(frozen=True)
class TensorBatch:
    """What a model in Python is given: a batch on the device where it computes.

    Attributes:
        ids: For each field, ids [B, T] int64, padded to the longest.
        lengths: For each field, how many of them are the example's [B] int64.
        mask: For each field, [B, T] bool: true where there is a token.
        labels: Labels [B], or None.
    """

    ids: dict[str, Tensor]
    lengths: dict[str, Tensor]
    mask: dict[str, Tensor]
    labels: Tensor | None

    def __len__(self) -> int:
        return len(next(iter(self.ids.values())))


@dataclass(frozen=True)
class Loss:
    """What a model says of a batch. A tuple (sum, count) or (sum, count, right) is as good.

    Losses are summed, not averaged, so that batches of any size, accumulated or of several processes, count
    by what is in them.

    Attributes:
        sum: A scalar with a graph: the loss of all that counts, words or sentences.
        count: How much counts.
        right: How much of it the model had right, or None.
        figures: What else is worth telling, by the names of the model's attribute `figures`: each a number,
            or a pair of a sum and of how many. Their means are in the progress bar, in `History` and in logs.
    """

    sum: Tensor
    count: float | Tensor
    right: float | Tensor | None = None
    figures: Mapping[str, Any] | None = None


class Trainer:
    """Trains any model that gives a loss, by the trainer in C++.

    A model is a C++ one of this package, or any `torch.nn.Module` with a method `loss(batch)`: it gets a
    `TensorBatch` and returns a `Loss`, or (sum, count) or (sum, count, right). The mean over all batches of a
    step, in all processes, is what is minimised. A module that tells figures besides (penalties, the loss of
    a second decoder) names them in its attribute `figures`, a tuple of strings.

    A subclass of one of this package's networks that has a `loss` of its own is trained by that, as any
    module is.

    What is done in a step depends on the seed, the step, the weights, the optimiser's state and the scores so
    far, and on nothing else: a checkpoint holds these, and a run that goes on from one takes the very steps
    that it would have taken (bit by bit on a CPU with the same number of threads). Chance within a model must
    come from torch's generators, which are set anew before each step; those of the caller stay as they are.

    Of several processes (torchrun), each makes its `Batcher` with its `rank` and `world`; together they take
    the steps that one would.

    Args:
        model: The model. Its parameters that want a gradient are trained, on the device where they are.
        train: Batches to train on.
        valid: Batches to validate on, all of them each time.
        checkpoints: A folder for them: the last ones, and the best. None: none.
        keep_last: How many of the last ones are kept.
        settings: Those of the model, and whatever else decides what is learnt, by name, as JSON has values.
            Checkpoints note them, and are refused where they have changed. The networks of this package tell
            theirs themselves.
        callbacks: What is told of steps and validations: `CsvLog`, `TensorBoardLog`, your own `Callback`.
        communicator: The other processes. None: all of `torch.distributed`, if it was set up.
        options: How it is trained.
        **training: The like one by one, each in the place of what `options` says: see `TrainingOptions`.

    Attributes:
        model: The model.
        history: Steps and validations of this trainer's runs.

    Raises:
        TypeError: An argument is not of its kind.
        ValueError: An argument is out of its bounds, or contradicts another one.

    Example:
        >>> import os, tempfile, torch
        >>> from sentencode import Vocabulary
        >>> from sentencode.training import Batcher, Examples, Trainer
        >>> class FirstWord(torch.nn.Module):  # tells the first word of a sentence from the mean of all
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.words = torch.nn.EmbeddingBag(4, 8)
        ...         self.scores = torch.nn.Linear(8, 4)
        ...     def loss(self, batch):
        ...         ids = batch.ids["tokens"]
        ...         scores = self.scores(self.words(ids))
        ...         right = (scores.argmax(1) == ids[:, 0]).sum()
        ...         sum = torch.nn.functional.cross_entropy(scores, ids[:, 0], reduction="sum")
        ...         return sum, len(batch), right
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "file")
        >>> vocabulary = Vocabulary({"a": 4, "b": 3, "c": 2})
        >>> examples = Examples.build(["a b", "b c", "c a", "b", "c"], vocabulary, path=path)
        >>> trainer = Trainer(FirstWord(), Batcher(examples, batch_size=5), learning_rate=0.1, max_steps=60)
        >>> history = trainer.run()
        >>> history.steps[-1].accuracy
        1.0
        >>> folder.cleanup()
    """

    def __init__(
        self,
        model: Any,
        train: Batcher,
        valid: Batcher | None = None,
        *,
        checkpoints: str | os.PathLike[str] | None = None,
        keep_last: int = 2,
        settings: Mapping[str, Any] | None = None,
        callbacks: Sequence[Callback] = (),
        communicator: Communicator | None = None,
        options: TrainingOptions | None = None,
        **training: Any,
    ) -> None:
        if unknown := set(training) - set(TrainingOptions.defaults()):
            raise TypeError(
                f"Trainer has no argument {min(unknown)!r}; see TrainingOptions for those there are"
            )
        chosen = replace(TrainingOptions() if options is None else options, **training)
        for name, batcher in (("train", train), ("valid", valid)):
            if not isinstance(batcher, Batcher) and not (name == "valid" and batcher is None):
                raise TypeError(f"{name} must be a Batcher, got {type(batcher).__name__}")
        if valid is not None:
            _check_same_ids(train.examples, valid.examples)
        self.model = model
        self.history = History()
        self._running = threading.Lock()
        self._metric = (
            chosen.metric
            if callable(chosen.metric)
            else _one_of("metric", chosen.metric, ("loss", "accuracy"))
        )
        checked_bool("reload_best", chosen.reload_best)
        if chosen.metric == "accuracy" and valid is None:
            raise ValueError("metric is 'accuracy', but there is no valid to measure it on")
        if not callable(chosen.metric) and valid is None:
            wants = {"stop_after": chosen.stop_after is not None, "decay": chosen.decay != 1}
            wants["reload_best"] = chosen.reload_best
            for name in (name for name, wanted in wants.items() if wanted):
                raise ValueError(f"{name} needs validations: give valid, or a function as metric")
        if not isinstance(chosen.betas, tuple) or len(chosen.betas) != 2:
            raise TypeError(f"betas must be a tuple of two numbers, got {chosen.betas!r:.40}")
        self._callbacks = _checked_callbacks(callbacks)
        self._folder = None if checkpoints is None else os.fsdecode(checkpoints)
        self._autocast = chosen.autocast
        self._check_autocast()
        if communicator is not None and not isinstance(communicator, Communicator):
            raise TypeError(f"communicator must be a Communicator, got {type(communicator).__name__}")
        others = all_processes() if communicator is None else communicator
        self.rank, self.world = others.rank, others.size
        epochs = 0 if chosen.max_epochs is None else checked_int("max_epochs", chosen.max_epochs, 1)
        steps = 0 if chosen.max_steps is None else checked_int("max_steps", chosen.max_steps, 1)
        if chosen.max_epochs is None and chosen.max_steps is None:
            epochs = 1
        accumulate = checked_int("accumulate", chosen.accumulate, 1)
        warmup = checked_int("warmup", chosen.warmup, 0)
        shape = _one_of("schedule", chosen.schedule, _SCHEDULES)
        ends = [steps] * (steps > 0) + [math.ceil(len(train) * epochs / accumulate)] * (epochs > 0)
        schedule_steps = chosen.schedule_steps
        if schedule_steps is None:
            schedule_steps = max(min(ends), warmup + 1)
        elif shape in {"constant", "inverse_sqrt"}:
            raise ValueError(f"schedule_steps: a schedule that is {shape!r} has no end")
        # The optimiser's: held, so that a new tensor cannot come to lie where an old one did.
        self._trained = [parameter for parameter in _parameters(model) if parameter.requires_grad]
        cpp = _core_model(model, train)
        self._figures = tuple(cpp.figures)
        self._core = _nn.Trainer(
            cpp,
            train.core,
            None if valid is None else valid.core,
            others,
            optimizer=_one_of("optimizer", chosen.optimizer, _OPTIMIZERS),
            beta1=checked_float("betas[0]", chosen.betas[0], 0, 1, below=True),
            beta2=checked_float("betas[1]", chosen.betas[1], 0, 1, below=True),
            momentum=checked_float("momentum", chosen.momentum, 0, 1, below=True),
            epsilon=checked_float("epsilon", chosen.epsilon, 0),
            weight_decay=checked_float("weight_decay", chosen.weight_decay, 0),
            sparse_rows=checked_bool("sparse_rows", chosen.sparse_rows),
            learning_rate=checked_float("learning_rate", chosen.learning_rate, 0, above=True),
            schedule=shape,
            warmup=warmup,
            schedule_steps=checked_int("schedule_steps", schedule_steps, warmup + 1),
            schedule_end=checked_float("schedule_end", chosen.schedule_end, 0, 1),
            decay=checked_float("decay", chosen.decay, 0, 1, above=True),
            patience=checked_int("patience", chosen.patience, 1),
            epoch_decay=checked_float("epoch_decay", chosen.epoch_decay, 0, 1, above=True),
            least_rate=_bound("least_rate", chosen.least_rate),
            higher_is_better=(
                chosen.metric != "loss"
                if chosen.higher_is_better is None
                else checked_bool("higher_is_better", chosen.higher_is_better)
            ),
            clip_norm=_bound("clip_norm", chosen.clip_norm),
            clip_each=_bound("clip_each", chosen.clip_each),
            max_steps=steps,
            max_epochs=epochs,
            accumulate=accumulate,
            validate_every=_every("validate_every", chosen.validate_every),
            save_every=_every("save_every", chosen.save_every),
            stop_after=_every("stop_after", chosen.stop_after),
            validate_accuracy=chosen.metric == "accuracy",
            reload_best=chosen.reload_best,
            bad_steps=checked_int("bad_steps", chosen.bad_steps, 0),
            read_every=_every("read_every", chosen.read_every),
            bfloat16=chosen.autocast is not None,
            seed=checked_int("seed", chosen.seed, 0, 2**64 - 1),
            settings=_settings(model, settings),
            checkpoints=self._folder,
            keep_last=checked_int("keep_last", keep_last, 1),
        )

    @property
    def step(self) -> int:
        """How many steps are done."""
        return self._core.step

    @property
    def last_step(self) -> int:
        """The step at which it ends, if nothing stops it before."""
        return self._core.last_step

    @property
    def stopped_early(self) -> bool:
        """Whether `stop_after` validations in a row were not better than the best."""
        return self._core.stopped_early

    def run(self, *, resume: bool = True, show_progress_bar: bool | None = None) -> History:
        """Trains until an end is reached.

        Ctrl-C, an error, or what a callback raises ends it between two steps: the checkpoint is written, and
        the exception comes out. Then `run()` goes on, here or in another process. Ctrl-C waits for callbacks
        and for files that are being written; a second one ends the callback that runs. A validation that was
        not completed, with its best weights and callbacks, is repeated.

        While it runs, no other training can use its folder of checkpoints.

        Args:
            resume: Whether a trainer that has done no step yet goes on from the folder's last checkpoint, if
                there is one. If not, a folder that has one is refused.
            show_progress_bar: Whether to show one. None: if the logger "sentencode" shows information.

        Returns:
            The history.

        Raises:
            BlockingIOError: Another training writes to the folder of checkpoints; the message says which.
            DivergedError: The loss or a gradient is not finite.
            FormatError: All checkpoints of the folder are damaged, or of another version.
            ValueError: The checkpoint belongs to a different run: other examples, batches, or settings of the
                optimiser, the schedule or the model; the message names what differs. Or the
                model's loss is not what it should be, or its parameters are no longer those that it had when
                the trainer was made.
            RuntimeError: It is running: a callback or another thread called `run`.
        """
        self._check_parameters()
        show = _LOG.isEnabledFor(logging.INFO) if show_progress_bar is None else show_progress_bar
        told: list[Callback] = [*self._callbacks]
        with ExitStack() as stack:
            if not self._running.acquire(blocking=False):
                raise RuntimeError(
                    "this Trainer is running; wait until its run() has returned, or make another one"
                )
            stack.callback(self._running.release)
            stack.enter_context(self._core.own_folder())
            if self.step == 0 and self._folder is not None:
                if not resume and checkpoint_files(self._folder):
                    raise ValueError(
                        f"checkpoints: {self._folder} holds those of an earlier run: with resume=False, "
                        "name another folder, or remove them"
                    )
                self._core.resume()
            if show and self.rank == 0:
                told.append(Progress(self))
            for callback in reversed(told):
                stack.callback(callback.on_end, self)
            stack.enter_context(self._undisturbed())
            interrupts = stack.enter_context(Interrupts())
            clock = [time.perf_counter()]
            validator = (
                functools.partial(_score, self._metric, self.model) if callable(self._metric) else None
            )

            def tell(event: Step | Validation) -> None:
                # All are told, whatever one of them raises: a log has each step that a checkpoint has.
                errors: list[BaseException] = []
                for callback in told:
                    try:
                        if isinstance(event, Step):
                            callback.on_step(self, event)
                        else:
                            callback.on_validation(self, event)
                    except BaseException as error:
                        errors.append(error)
                clock[0] = time.perf_counter()
                if errors:
                    raise next((e for e in errors if isinstance(e, KeyboardInterrupt)), errors[0])

            def named(figures: list[float]) -> dict[str, float]:
                # A validation that is a function alone has none.
                return dict(zip(self._figures, figures, strict=True)) if figures else {}

            def on_step(*parts: Any) -> None:
                seconds = time.perf_counter() - clock[0]
                step = Step(*(*parts[:-1], seconds, named(parts[-1])))
                self.history.steps.append(step)
                tell(step)

            def on_validation(*parts: Any) -> None:
                validation = Validation(*(*parts[:-1], named(parts[-1])))
                self.history.validations.append(validation)
                tell(validation)

            self._core.run(on_step, on_validation, validator, interrupts.whole(lambda action: action()))
        return self.history

    def load_best(self) -> bool:
        """Gives the model the weights of the best validation so far. All processes have to call it.

        Returns:
            Whether there are any: before the first validation there are none; nor where somebody has removed
            `best.safetensors`. Without a folder they are kept in memory.

        Raises:
            FormatError: That file is damaged, or is no checkpoint of this model.
            ValueError: It is of a different run: of other settings, or with other validations.
        """
        return self._core.load_best()

    @contextmanager
    def _undisturbed(self) -> Iterator[None]:
        """The caller's mode of the model and state of chance are what they were."""
        training = getattr(self.model, "training", None)
        with isolated_generators():
            try:
                yield
            finally:
                if training is not None:
                    self.model.train(training)

    def _check_parameters(self) -> None:
        """The optimiser has the tensors of then: it would not move those that have come since."""
        if not isinstance(self.model, nn.Module):
            return
        now = dict(self.model.named_parameters())
        known = {id(parameter) for parameter in self._trained}
        new = [name for name, tensor in now.items() if tensor.requires_grad and id(tensor) not in known]
        if new or not known <= {id(tensor) for tensor in now.values()}:
            which = f"{new[0]!r} was not among them" if new else "some of them are no longer the model's"
            raise ValueError(
                f"model: its parameters to train have changed since the Trainer was made ({which}): replace, "
                "add or unfreeze them first, and make the Trainer then"
            )

    def _check_autocast(self) -> None:
        if self._autocast is None:
            return
        _one_of("autocast", self._autocast, ("bfloat16",))
        device = next((parameter.device for parameter in _parameters(self.model)), torch.device("cpu"))
        if device.type == "cuda":
            there = torch.cuda.is_bf16_supported()
        else:
            there = device.type == "cpu" and torch.ops.mkldnn._is_mkldnn_bf16_supported()
        if not there:
            raise ValueError(f"autocast: {device} has no bfloat16")


class ModuleParts:
    """A module in Python as C++ sees it (`_nn.PythonModel`)."""

    def __init__(self, module: nn.Module, fields: tuple[str, ...]) -> None:
        self._module = module
        self._fields = fields
        self.figures = _checked_names(module)

    def loss(
        self, fields: list[tuple[Tensor, Tensor, Tensor]], labels: Tensor | None
    ) -> tuple[Tensor, float, Tensor | None, Tensor | None]:
        ids, lengths, mask = (
            dict(zip(self._fields, part, strict=True)) for part in zip(*fields, strict=True)
        )
        found = self._module.loss(TensorBatch(ids, lengths, mask, labels))  # type: ignore[operator]
        what = f"{type(self._module).__name__}.loss(batch)"
        return *_checked_loss(found, what), _checked_figures(found, self.figures, what)

    def train(self, mode: bool) -> None:
        self._module.train(mode)

    def parameters(self) -> list[tuple[str, Tensor]]:
        return list(self._module.named_parameters())

    def buffers(self) -> list[tuple[str, Tensor]]:
        return list(self._module.named_buffers())


def _check_same_ids(train: Examples, valid: Examples) -> None:
    """Ids of validation must mean what those of training do."""
    if valid.fields != train.fields:
        raise ValueError(f"valid has the fields {valid.fields}, train {train.fields}")
    for name, ours, theirs in zip(train.fields, train.config["fields"], valid.config["fields"], strict=True):
        if ours["vocabulary"] != theirs["vocabulary"]:
            raise ValueError(
                f"valid: the words of its field {name!r} are of another vocabulary than train's, so that its "
                "ids mean other words; build both with one vocabulary"
            )
        if train.symbols(name) != valid.symbols(name):
            raise ValueError(
                f"valid: its field {name!r} has the symbols {valid.symbols(name)}, train's "
                f"{train.symbols(name)}; build both with the same ones"
            )


def _checked_loss(found: Any, what: str) -> tuple[Tensor, float, Tensor | None]:
    parts: tuple[Any, ...] = (None,)
    if isinstance(found, tuple):
        parts = found
    elif not isinstance(found, Tensor) and hasattr(found, "sum") and hasattr(found, "count"):
        parts = (found.sum, found.count, getattr(found, "right", None))
    if len(parts) not in (2, 3) or not isinstance(parts[0], Tensor):
        shown = type(found).__name__
        if isinstance(found, tuple):
            shown = f"({', '.join(type(part).__name__ for part in found)})"
        raise TypeError(f"{what} must return (sum, count) or (sum, count, right), or a Loss; got {shown}")
    total = parts[0]
    count = checked_float(f"{what}: count", parts[1], 0)
    right = parts[2] if len(parts) == 3 else None
    if total.numel() != 1 or not total.is_floating_point():
        raise ValueError(f"{what}: sum must be one number, got {tuple(total.shape)} {total.dtype}")
    if torch.is_grad_enabled() and not total.requires_grad:
        raise ValueError(f"{what}: sum has no graph: it does not depend on a parameter that is trained")
    if right is not None:
        right = torch.as_tensor(right, device=total.device).detach().reshape(())
    return total.reshape(()), count, right


def _checked_names(module: nn.Module) -> list[str]:
    """The names of what a module's loss tells besides."""
    names = getattr(module, "figures", ())
    what = f"{type(module).__name__}.figures"
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise TypeError(f"{what} must be a tuple of names, got {names!r:.40}")
    for i, name in enumerate(names):
        if not checked_str(f"{what}[{i}]", name).isidentifier() or name in (*COLUMNS, *names[:i]):
            raise ValueError(f"{what}[{i}] must be a name of its own for a column of logs, got {name!r}")
    return list(names)


def _checked_figures(found: Any, names: list[str], what: str) -> Tensor | None:
    """Sums, and of how many, [names, 2]."""
    given = getattr(found, "figures", None) or {}
    if set(given) != set(names):
        raise ValueError(
            f"{what}: figures must be {names}, as the model's `figures` says, got {sorted(given)}"
        )
    if not names:
        return None
    pairs = [pair if isinstance(pair := given[name], tuple) else (pair, 1.0) for name in names]
    device = found.sum.device
    return torch.stack(
        [
            torch.stack([torch.as_tensor(part, dtype=torch.float64, device=device).detach() for part in pair])
            for pair in pairs
        ]
    )


def _settings(model: Any, given: Mapping[str, Any] | None) -> str:
    """What checkpoints note of a model: JSON."""
    cpp = getattr(model, "_cpp", model)
    known = json.loads(cpp.config()) if isinstance(cpp, _nn.SentenceNetwork) else {}
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"settings must be a mapping of names to values, got {type(given).__name__}")
    try:
        return json.dumps({**known, **(given or {})}, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise type(error)(f"settings: {error}") from None


def _score(metric: Callable[[Any], float], model: Any) -> float:
    found = metric(model)
    try:
        if isinstance(found, str | bytes | bool):
            raise TypeError
        return float(found)
    except (TypeError, ValueError):
        raise TypeError(f"metric must return a number, got {found!r:.40} ({type(found).__name__})") from None


def _core_model(model: Any, train: Batcher) -> _nn.Model:
    cpp = getattr(model, "_cpp", model)
    # A subclass of one of this package's networks may have another loss than that in C++.
    if isinstance(cpp, _nn.Model) and (cpp is model or getattr(model.loss, "in_core", False)):
        return cpp
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    if not callable(getattr(model, "loss", None)):
        raise TypeError(f"model: {type(model).__name__} has no method loss(batch)")
    return _nn.PythonModel(ModuleParts(model, train.examples.fields))


def _parameters(model: Any) -> Iterator[Tensor]:
    return model.parameters() if isinstance(model, nn.Module) else iter(())


def _checked_callbacks(callbacks: Sequence[Callback]) -> tuple[Callback, ...]:
    if not isinstance(callbacks, Sequence):
        raise TypeError(f"callbacks must be a sequence, got {type(callbacks).__name__}")
    for i, callback in enumerate(callbacks):
        for method in ("on_step", "on_validation", "on_end"):
            if isinstance(callback, type) or not callable(getattr(callback, method, None)):
                shown = callback.__name__ if isinstance(callback, type) else type(callback).__name__
                raise TypeError(f"callbacks[{i}] must be an object with {method}, got {shown}")
    return tuple(callbacks)


def _one_of(name: str, value: Any, choices: Sequence[str]) -> str:
    if checked_str(name, value) not in choices:
        shown = ", ".join(map(repr, choices))
        raise ValueError(f"{name} must be {'one of ' * (len(choices) > 1)}{shown}, got {value!r}")
    return str(value)


def _bound(name: str, value: float | None) -> float:
    return 0.0 if value is None else checked_float(name, value, 0, above=True)


def _every(name: str, value: int | None) -> int:
    return 0 if value is None else checked_int(name, value, 1)
