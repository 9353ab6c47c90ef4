"""Trains any model that has a loss."""

from __future__ import annotations

import functools
import json
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from .._extras import require_nn

require_nn()

import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from .. import _nn  # noqa: E402
from ..checks import checked_int, checked_str  # noqa: E402
from ..distributed import Communicator  # noqa: E402
from ..distributed import communicator as all_processes  # noqa: E402
from ..generators import isolated_generators  # noqa: E402
from ..progress import progress  # noqa: E402
from .batcher import Batcher  # noqa: E402
from .callbacks import Callback, Progress  # noqa: E402
from .checkpoints import checkpoint_files  # noqa: E402
from .examples import Examples  # noqa: E402
from .history import History, Step, Validation  # noqa: E402
from .interrupts import Interrupts  # noqa: E402
from .options import TrainingOptions  # noqa: E402
from .python_model import core_model  # noqa: E402

__all__ = ["Trainer"]

_UNLIMITED = 2**62  # steps


class Trainer:
    """Trains any model that has a loss, with the training loop in C++.

    A model is a C++ one of this package, or any `torch.nn.Module` with a method `loss(batch)`. The method
    gets a `TensorBatch` and returns a `Loss`, or (sum, count) or (sum, count, right). A step minimises the
    mean over its batches in all processes. A module that reports further values (penalties, the loss of a
    second decoder) names them in its attribute `figures`, a tuple of strings. A subclass of one of this
    package's networks may override `loss`.

    A step depends only on the seed, the step number, the weights, the optimizer state and the scores so far.
    A checkpoint holds these, so a resumed run takes the same steps as one without a break (bit by bit on a
    CPU with the same number of threads). A model must sample from torch's generators, which are seeded before
    each step; the caller's states are restored.

    With several processes (torchrun), each makes its `Batcher` with its `rank` and `world`; together they
    take the steps of a single process.

    Args:
        model: Model. Its parameters that require a gradient are trained on their device.
        train: Training batches.
        valid: Validation batches, all of which are used each time.
        checkpoints: Folder for the last checkpoints and the best one. None: none.
        keep_last: Number of last checkpoints to keep.
        settings: Settings of the model and of anything else that affects training, by name, as JSON values.
            Checkpoints store them, and are refused where they differ. Networks of this package add theirs.
        callbacks: Receivers of steps and validations: `CsvLog`, `TensorBoardLog`, a `Callback`.
        communicator: Processes to train with. None: all of `torch.distributed`, if it was initialised.
        options: Options of the training.
        **training: Single options that replace those in `options`; see `TrainingOptions`.

    Attributes:
        model: The model.
        history: Steps and validations of this trainer's runs.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: An argument is out of range, or contradicts another one.

    Example:
        >>> import os, tempfile, torch
        >>> from sentencode import Vocabulary
        >>> from sentencode.training import Batcher, Examples, Trainer
        >>> class FirstWord(torch.nn.Module):  # predicts the first word from the mean of all
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
            raise TypeError(f"Trainer has no argument {min(unknown)!r}; see TrainingOptions for its options")
        chosen = replace(TrainingOptions() if options is None else options, **training)
        for name, batcher in (("train", train), ("valid", valid)):
            if not isinstance(batcher, Batcher) and not (name == "valid" and batcher is None):
                raise TypeError(f"{name} must be a Batcher, got {type(batcher).__name__}")
        if valid is not None:
            _check_same_ids(train.examples, valid.examples)
        self.model = model
        self.history = History()
        self._running = threading.Lock()
        self._metric = chosen.metric
        values = chosen.to_core()
        if not callable(self._metric):
            _check_choice("metric", self._metric, ("loss", "accuracy"))
            if valid is None:
                _check_without_validation(chosen)
        values["anchored"] = list(_word_tables(model)) if values["anchor"] else []
        values["validate_accuracy"] = self._metric == "accuracy"
        self._higher_is_better: bool = values.setdefault("higher_is_better", self._metric != "loss")
        self._callbacks = _checked_callbacks(callbacks)
        self._folder = None if checkpoints is None else os.fsdecode(checkpoints)
        _check_autocast(chosen.autocast, model)
        if communicator is not None and not isinstance(communicator, Communicator):
            raise TypeError(f"communicator must be a Communicator, got {type(communicator).__name__}")
        processes = all_processes() if communicator is None else communicator
        self.rank, self.world = processes.rank, processes.size
        limited = "max_steps" in values or "max_minutes" in values
        values.setdefault("max_epochs", 0 if limited else 1)
        by_epochs = math.ceil(len(train) * values["max_epochs"] / values["accumulate"])
        last = min(filter(None, (values.get("max_steps"), by_epochs)), default=_UNLIMITED)
        end = values.setdefault("schedule_steps", last)
        if values["warmup"] < 1:
            if "max_minutes" in values:
                values["warmup_spent"] = values["warmup"]
            values["warmup"] = round(values["warmup"] * end)
        if chosen.schedule_steps is None:
            values["schedule_steps"] = max(last, values["warmup"] + 1)
        elif chosen.schedule in {"constant", "inverse_sqrt"}:
            raise ValueError(f"schedule_steps: a schedule that is {chosen.schedule!r} has no end")
        # Kept alive, so that a new tensor cannot have the id of an old one.
        self._trained = [parameter for parameter in _parameters(model) if parameter.requires_grad]
        cpp = core_model(model, train.examples.fields)
        self._figures = tuple(cpp.figures)
        self._core = _nn.Trainer(
            cpp,
            train.core,
            None if valid is None else valid.core,
            processes,
            settings=_settings(model, settings),
            checkpoints=self._folder,
            keep_last=checked_int("keep_last", keep_last, 1),
            options=values,
        )

    @property
    def step(self) -> int:
        """Number of steps done."""
        return self._core.step

    @property
    def last_step(self) -> int:
        """Step at which the training ends, unless it stops early; above 2**62 if steps are not limited."""
        return self._core.last_step

    @property
    def stopped_early(self) -> bool:
        """Whether `stop_after` consecutive validations were not better than the best."""
        return self._core.stopped_early

    @property
    def higher_is_better(self) -> bool:
        """Whether a higher score of a validation is better."""
        return self._higher_is_better

    def add_callback(self, callback: Callback) -> None:
        """Adds a receiver of steps and validations, which those before it precede.

        Args:
            callback: As in `callbacks`.
        """
        self._callbacks += _checked_callbacks([callback])

    def evaluate(self) -> tuple[float, float]:
        """Return the loss and the accuracy of the current weights on the validation batches.

        All processes have to call it. NaN: there are no such batches, or the model counts no predictions.
        """
        with self._preserved_state():
            loss, accuracy = self._core.evaluate()
        return loss, accuracy

    def resume(self) -> bool:
        """Restores the last checkpoint of the folder without taking a step. All processes have to call it.

        Returns:
            Whether there was one.

        Raises:
            ValueError: The checkpoint belongs to a different run, or there is no folder.
            FormatError: All checkpoints of the folder are damaged, or of another version.
        """
        if self._folder is None:
            raise ValueError("resume: this Trainer has no folder of checkpoints")
        with self._core.lock_folder():
            resumed: bool = self._core.resume()
        return resumed

    def run(self, *, resume: bool = True, show_progress_bar: bool | None = None) -> History:
        """Trains until an end is reached.

        Ctrl-C, an error, or an exception of a callback ends the run between two steps: a checkpoint is
        written, and the exception is raised. Then `run()` continues, here or in another process. Ctrl-C waits
        for callbacks and for files that are being written; a second one ends the callback. A validation that
        was interrupted is repeated, with its best weights and callbacks.

        While it runs, no other training can use its folder of checkpoints.

        Args:
            resume: Whether a trainer without steps resumes from the folder's last checkpoint, if there is
                one. If False, a folder with checkpoints is refused.
            show_progress_bar: Whether to show one. None: in a terminal or a notebook, after a second, or if
                the logger "sentencode" shows information.

        Returns:
            The history.

        Raises:
            BlockingIOError: Another training writes to the folder of checkpoints; the message names it.
            DivergedError: The loss or a gradient is not finite.
            FormatError: All checkpoints of the folder are damaged, or of another version.
            ValueError: The checkpoint belongs to a different run: other examples, batches, or settings of the
                optimizer, the schedule or the model; the message names the differences. Or the loss is
                invalid, or the model's parameters were replaced after the trainer was made.
            RuntimeError: It is running: a callback or another thread called `run`.
        """
        self._check_parameters()
        bar = progress(show_progress_bar, "train", interactive=True)
        callbacks: list[Callback] = [*self._callbacks]
        with ExitStack() as stack:
            if not self._running.acquire(blocking=False):
                raise RuntimeError(
                    "this Trainer is running; wait until its run() has returned, or make another one"
                )
            stack.callback(self._running.release)
            stack.enter_context(self._core.lock_folder())
            if self.step == 0 and self._folder is not None:
                if not resume and checkpoint_files(self._folder):
                    raise ValueError(
                        f"checkpoints: {self._folder} holds those of an earlier run: with resume=False, "
                        "name another folder, or remove them"
                    )
                self._core.resume()
            if bar.show and self.rank == 0:
                callbacks.append(Progress(self, bar.delay))
            for callback in reversed(callbacks):
                stack.callback(callback.on_end, self)
            stack.enter_context(self._preserved_state())
            stack.enter_context(torch.enable_grad())  # also inside torch.no_grad()
            interrupts = stack.enter_context(Interrupts())
            last_event = time.perf_counter()

            def notify(event: Step | Validation) -> None:
                # Call all callbacks even if one raises: a log has each step that a checkpoint has.
                nonlocal last_event
                errors: list[BaseException] = []
                for callback in callbacks:
                    try:
                        if isinstance(event, Step):
                            callback.on_step(self, event)
                        else:
                            callback.on_validation(self, event)
                    except BaseException as error:
                        errors.append(error)
                last_event = time.perf_counter()
                if errors:
                    raise next((e for e in errors if isinstance(e, KeyboardInterrupt)), errors[0])

            def named(figures: list[float]) -> dict[str, float]:
                # Empty for a validation by a function alone.
                return dict(zip(self._figures, figures, strict=True)) if figures else {}

            def on_step(*values: Any) -> None:
                seconds = time.perf_counter() - last_event
                step = Step(*(*values[:-1], seconds, named(values[-1])))
                self.history.steps.append(step)
                notify(step)

            def on_validation(*values: Any) -> None:
                validation = Validation(*(*values[:-1], named(values[-1])))
                self.history.validations.append(validation)
                notify(validation)

            metric = functools.partial(_score, self._metric, self.model) if callable(self._metric) else None
            self._core.run(on_step, on_validation, metric, interrupts.deferred(lambda action: action()))
        return self.history

    def load_best(self) -> bool:
        """Loads the weights of the best validation so far. All processes have to call it.

        Returns:
            Whether there are any: not before the first validation, nor after `best.safetensors` was removed.
            Without a folder they are kept in memory.

        Raises:
            FormatError: That file is damaged, or is no checkpoint of this model.
            ValueError: It belongs to a different run, with other settings or validations.
        """
        return self._core.load_best()

    @contextmanager
    def _preserved_state(self) -> Iterator[None]:
        """Restores the model's mode and the caller's random generators."""
        training = getattr(self.model, "training", None)
        with isolated_generators():
            try:
                yield
            finally:
                if training is not None:
                    self.model.train(training)

    def _check_parameters(self) -> None:
        """Refuses parameters that the optimizer does not have because they came after it."""
        if not isinstance(self.model, nn.Module):
            return
        parameters = dict(self.model.named_parameters())
        trained = {id(parameter) for parameter in self._trained}
        new = [name for name, p in parameters.items() if p.requires_grad and id(p) not in trained]
        if new or not trained <= {id(p) for p in parameters.values()}:
            which = f"{new[0]!r} was not among them" if new else "some of them are no longer the model's"
            raise ValueError(
                f"model: its parameters to train have changed since the Trainer was made ({which}): replace, "
                "add or unfreeze them first, and make the Trainer then"
            )


def _check_same_ids(train: Examples, valid: Examples) -> None:
    if valid.fields != train.fields:
        raise ValueError(f"valid has the fields {valid.fields}, train {train.fields}")
    for name, ours, theirs in zip(train.fields, train.config["fields"], valid.config["fields"], strict=True):
        if ours["vocabulary"] != theirs["vocabulary"]:
            raise ValueError(
                f"valid: its field {name!r} has another vocabulary than train's; build both with one "
                "vocabulary"
            )
        if train.symbols(name) != valid.symbols(name):
            raise ValueError(
                f"valid: its field {name!r} has the symbols {valid.symbols(name)}, train's "
                f"{train.symbols(name)}; build both with the same ones"
            )


def _check_without_validation(options: TrainingOptions) -> None:
    if options.metric == "accuracy":
        raise ValueError("metric is 'accuracy', but there is no valid to measure it on")
    defaults = TrainingOptions.defaults()
    for name in ("stop_after", "decay", "reload_best"):
        if getattr(options, name) != defaults[name]:
            raise ValueError(f"{name} needs validations: give valid, or a function as metric")


def _check_autocast(autocast: str | None, model: Any) -> None:
    if autocast is None:
        return
    _check_choice("autocast", autocast, ("bfloat16",))
    device = next((parameter.device for parameter in _parameters(model)), torch.device("cpu"))
    if device.type == "cuda":
        supported = torch.cuda.is_bf16_supported()
    else:
        supported = device.type == "cpu" and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    if not supported:
        raise ValueError(f"autocast: {device} has no bfloat16")


def _settings(model: Any, settings: Mapping[str, Any] | None) -> str:
    """Return the JSON of a model's settings for checkpoints."""
    if settings is not None and not isinstance(settings, Mapping):
        raise TypeError(f"settings must be a mapping of names to values, got {type(settings).__name__}")
    cpp = getattr(model, "_cpp", model)
    config = json.loads(cpp.config()) if isinstance(cpp, _nn.SentenceNetwork) else {}
    try:
        return json.dumps({**config, **(settings or {})}, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise type(error)(f"settings: {error}") from None


def _score(metric: Callable[[Any], float], model: Any) -> float:
    score = metric(model)
    try:
        if isinstance(score, str | bytes | bool):
            raise TypeError
        return float(score)
    except (TypeError, ValueError):
        raise TypeError(f"metric must return a number, got {score!r:.40} ({type(score).__name__})") from None


def _parameters(model: Any) -> Iterator[Tensor]:
    return model.parameters() if isinstance(model, nn.Module) else iter(())


def _word_tables(model: Any) -> Iterator[str]:
    """Yields the names of parameters that begin with word vectors: embeddings, or the `table` of networks."""
    for path, module in model.named_modules():
        named = ["weight"] if isinstance(module, nn.Embedding) else getattr(module, "word_tables", ())
        for name in named:
            if name.endswith("table.weight") or isinstance(module, nn.Embedding):
                yield f"{path}.{name}" if path else name


def _checked_callbacks(callbacks: Sequence[Callback]) -> tuple[Callback, ...]:
    if not isinstance(callbacks, Sequence):
        raise TypeError(f"callbacks must be a sequence, got {type(callbacks).__name__}")
    for i, callback in enumerate(callbacks):
        for method in ("on_step", "on_validation", "on_end"):
            if isinstance(callback, type) or not callable(getattr(callback, method, None)):
                shown = callback.__name__ if isinstance(callback, type) else type(callback).__name__
                raise TypeError(f"callbacks[{i}] must be an object with {method}, got {shown}")
    return tuple(callbacks)


def _check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    if checked_str(name, value) not in choices:
        shown = ", ".join(map(repr, choices))
        raise ValueError(f"{name} must be {'one of ' * (len(choices) > 1)}{shown}, got {value!r}")
