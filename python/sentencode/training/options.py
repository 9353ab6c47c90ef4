"""How a model is trained: one value that estimators, `sentencode train` and `Trainer` share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal

__all__ = ["TrainingOptions"]


@dataclass(frozen=True)
class TrainingOptions:
    """How a model is trained. `Trainer`, and every neural encoder, takes these as keyword arguments.

    Attributes:
        optimizer: `"adam"`, `"adamw"`, `"sgd"`, `"rmsprop"` or `"adagrad"`.
        betas: Of adam and adamw.
        momentum: Of sgd and rmsprop.
        epsilon: What keeps divisors of the optimiser from zero. Encoders call it `optimizer_epsilon`.
        weight_decay: Of squared weights; adamw's is of the weights themselves.
        sparse_rows: Whether gradients of word tables, and of the softmax of sampled words, are of those rows
            alone that a step reads. That makes steps much faster where a table has hundreds of thousands of
            rows. A row that a step does not read stays as it is, and so do adam's moments of it; sgd takes
            the steps that it would. For adam, adamw, sgd and adagrad without `momentum` and `weight_decay`,
            in one process.
        learning_rate: The highest.
        schedule: `"constant"`, `"linear"`, `"cosine"` or `"inverse_sqrt"`.
        warmup: Steps in which the learning rate rises to its highest.
        schedule_steps: Of linear and cosine: the step at which it ends. None: the last step.
        schedule_end: Of linear and cosine: the share of the learning rate that is left there.
        epoch_decay: What each epoch multiplies the learning rate by.
        decay: What it is multiplied by where validation has not got better; 0.5 halves it.
        patience: After so many validations in a row that were not better.
        reload_best: Whether the best weights are taken up again then: from checkpoints, or from memory.
        least_rate: The training ends when the learning rate falls below this. None: it does not.
        max_steps: The last step, at most. None: no bound.
        max_epochs: The like in epochs, in whole steps: the last one of several batches (`accumulate`) may go
            into the next epoch. If both are None: one epoch.
        accumulate: Batches of one step.
        clip_norm: The norm of all gradients together is at most so large. None: any.
        clip_each: That of each tensor's gradient is; before `clip_norm`.
        validate_every: Steps between validations. None: after each epoch.
        save_every: Steps between checkpoints. None: whenever it validates, or would.
        stop_after: Ends after so many validations that are not better than the best. None: never.
        metric: What decides how good a validation is: the `"loss"`, the `"accuracy"`, or a function that
            returns a number, such as a score of `sentencode.evaluate`: of the model, or, where an encoder is
            trained, of the encoder as it is then. It is called in the first process, in evaluation mode.
        higher_is_better: Whether a higher score is better. None: unless it is the loss.
        autocast: `"bfloat16"`: matrix products in bfloat16, where the hardware has it; parameters stay
            float32. None: not.
        bad_steps: So many steps in a row may have a loss or gradient that is not finite: they are left out.
            One more raises `DivergedError`.
        read_every: Steps whose figures are read from the device at once, and callbacks told of: a GPU is not
            waited for in between. What is learnt does not depend on it. None: 1 on a CPU, else 16.
        seed: Chooses all that is left to chance within the model's steps.

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
    learning_rate: float = 1e-3
    schedule: Literal["constant", "linear", "cosine", "inverse_sqrt"] = "constant"
    warmup: int = 0
    schedule_steps: int | None = None
    schedule_end: float = 0.0
    epoch_decay: float = 1.0
    decay: float = 1.0
    patience: int = 1
    reload_best: bool = False
    least_rate: float | None = None
    max_steps: int | None = None
    max_epochs: int | None = None
    accumulate: int = 1
    clip_norm: float | None = None
    clip_each: float | None = None
    validate_every: int | None = None
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
        """All of them as they are by default, by name."""
        return {field.name: field.default for field in fields(cls)}
