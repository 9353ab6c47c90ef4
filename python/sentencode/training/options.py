"""The options of a training, shared by estimators, `sentencode train` and `Trainer`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal

from ..checks import checked_bool, checked_float, checked_int, checked_str

__all__ = ["TrainingOptions"]


@dataclass(frozen=True)
class TrainingOptions:
    """The options of a training. `Trainer` and every neural encoder take them as keyword arguments.

    Attributes:
        optimizer: `"adam"`, `"adamw"`, `"sgd"`, `"rmsprop"` or `"adagrad"`.
        betas: Decay rates of adam's and adamw's moments.
        momentum: Momentum of sgd and rmsprop.
        epsilon: Term added to denominators of the optimizer. Encoders call it `optimizer_epsilon`.
        weight_decay: L2 penalty; decoupled for adamw.
        sparse_rows: Whether gradients of word tables, and of a softmax over sampled words, are sparse. Steps
            are much faster where a table has hundreds of thousands of rows. Rows that a step does not read
            keep their values and adam's moments; sgd takes the same steps. For adam, adamw, sgd and adagrad
            without `momentum` and `weight_decay`, in one process.
        anchor: Pull of trained word tables to the vectors that they begin with: each step moves them by
            `learning_rate * anchor` of the way (L2-SP, Li et al. 2018).
        learning_rate: Peak learning rate.
        schedule: `"constant"`, `"linear"`, `"cosine"` or `"inverse_sqrt"`.
        warmup: Steps of linear warm-up; below 1, a fraction of `schedule_steps`. With `max_minutes`, a
            fraction also ends after that fraction of the time.
        schedule_steps: Step at which a linear or cosine schedule ends. None: the last step. With
            `max_minutes`, the schedule also ends with the time.
        schedule_end: Fraction of the learning rate at the end of a linear or cosine schedule.
        epoch_decay: Factor of the learning rate after each epoch.
        decay: Factor of the learning rate where validations do not improve; 0.5 halves it.
        patience: Consecutive validations without improvement before each decay.
        reload_best: Whether a decay also loads the best weights, from checkpoints or from memory.
        least_rate: Learning rate below which the training ends. None or 0: no limit.
        max_steps: Maximum number of steps. None: no limit.
        max_epochs: Maximum number of epochs, in whole steps: with `accumulate`, the last step may go into the
            next epoch. If there is no limit of steps, epochs or minutes: one epoch.
        max_minutes: Maximum minutes of all runs together, with validations; the step in which they are over
            is the last one. None: no limit.
        accumulate: Batches in a step (gradient accumulation).
        clip_norm: Maximum norm of all gradients together. None or 0: no clipping.
        clip_each: Maximum norm of each tensor's gradient, applied before `clip_norm`. None or 0: no
            clipping.
        validate_every: Steps between validations. None: after each epoch.
        validate_first: Whether it also validates before the first step. The best weights may be the initial
            ones then.
        save_every: Steps between checkpoints. None: whenever it validates, or would.
        stop_after: Validations without improvement after which the training stops early. None or 0:
            never.
        metric: Score of a validation: the `"loss"`, the `"accuracy"` (if equal, the lower loss is better
            unless `decay` is below 1), or a function that returns a number, such as a score of
            `sentencode.evaluate`. Its argument is the model, or the encoder where one is trained. It is
            called in the first process, in evaluation mode.
        higher_is_better: Whether a higher score is better. None: unless it is the loss.
        autocast: `"bfloat16"` for matrix products in bfloat16, where the hardware supports it; parameters
            stay float32. None: float32.
        bad_steps: Consecutive steps with a loss or gradient that is not finite that are skipped. One more
            raises `DivergedError`.
        read_every: Steps between reads of losses from the device and calls of callbacks; a GPU does not wait
            in between. It has no effect on the weights. None: 1 on a CPU, else 16.
        seed: Seed of all random numbers in steps.

    Example:
        >>> from sentencode.training import TrainingOptions
        >>> TrainingOptions(learning_rate=0.1).schedule
        'constant'
    """

    optimizer: Literal["adam", "adamw", "sgd", "rmsprop", "adagrad"] = "adam"
    betas: tuple[float, float] = (0.9, 0.999)
    momentum: float = 0.0
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    sparse_rows: bool = False
    anchor: float = 0.0
    learning_rate: float = 1e-3
    schedule: Literal["constant", "linear", "cosine", "inverse_sqrt"] = "constant"
    warmup: float = 0
    schedule_steps: int | None = None
    schedule_end: float = 0.0
    epoch_decay: float = 1.0
    decay: float = 1.0
    patience: int = 1
    reload_best: bool = False
    least_rate: float | None = None
    max_steps: int | None = None
    max_epochs: int | None = None
    max_minutes: float | None = None
    accumulate: int = 1
    clip_norm: float | None = None
    clip_each: float | None = None
    validate_every: int | None = None
    validate_first: bool = False
    save_every: int | None = None
    stop_after: int | None = None
    metric: Literal["loss", "accuracy"] | Callable[[Any], float] = "loss"
    higher_is_better: bool | None = None
    autocast: Literal["bfloat16"] | None = None
    bad_steps: int = 0
    read_every: int | None = None
    seed: int = 0

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Return the default of each option by name."""
        return {field.name: field.default for field in fields(cls)}

    def to_core(self) -> dict[str, Any]:
        """Return the options that the trainer in C++ takes, except for `metric`, without those that are None.

        Types are checked here by the annotations, ranges of floats in C++.
        """
        values: dict[str, Any] = {}
        for field in fields(self):
            name, value = field.name, getattr(self, field.name)
            kind, _, optional = str(field.type).partition(" | ")
            if value is None and optional:
                continue
            if kind == "bool":
                values[name] = checked_bool(name, value)
            elif kind == "int":
                low = 0 if name in {"bad_steps", "seed", "stop_after"} else 1
                values[name] = checked_int(name, value, low, 2 ** (64 if name == "seed" else 63) - 1)
            elif name == "warmup":
                fraction = isinstance(value, float) and 0 <= value < 1
                values[name] = value if fraction else checked_int(name, value, 0, 2**63 - 1)
            elif kind == "float":
                off = name in {"least_rate", "clip_norm", "clip_each"}  # at 0
                values[name] = checked_float(name, value, 0, above=bool(optional) and not off)
            elif kind.startswith("Literal") and name != "metric":
                values[name] = checked_str(name, value)
        if values["patience"] != 1 and values["decay"] == 1:
            raise ValueError(
                f"patience={self.patience} needs decay below 1; stop_after ends a training early"
            )
        if not isinstance(self.betas, tuple) or len(self.betas) != 2:
            raise TypeError(f"betas must be a tuple of two numbers, got {self.betas!r:.40}")
        for i, beta in enumerate(self.betas):
            values[f"beta{i + 1}"] = checked_float(f"betas[{i}]", beta, 0, 1, below=True)
        return values
