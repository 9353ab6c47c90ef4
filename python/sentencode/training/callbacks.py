"""What may be told of each step and validation: logs, progress, or a function of one's own."""

from __future__ import annotations

import math
import os
import secrets
import time
from typing import Any, TextIO, TypeAlias

from ..files import as_name, as_path, refuse_link, whole_file
from .history import COLUMNS, Event, Step, Validation, columns_of, read_log, row_of

__all__ = ["Callback", "CsvLog", "TensorBoardLog"]

# A `Trainer`, whose module imports this one. A callback of one's own may say `trainer: Trainer`.
Running: TypeAlias = Any


class Callback:
    """What a trainer tells of its run. Each process calls its own; `trainer.rank` says which one it is.

    What it raises ends the run, and comes out of `Trainer.run` as it is; the checkpoint is written before,
    and the other callbacks are told of the step all the same.
    Any object with these three methods will do.

    Example:
        >>> from sentencode.training import Callback
        >>> class Stop(Callback):
        ...     def on_step(self, trainer, step):
        ...         if step.loss < 0.1:
        ...             raise StopIteration("good enough")
    """

    def on_step(self, trainer: Running, step: Step) -> None:
        """After each step, before the validation that may follow."""

    def on_validation(self, trainer: Running, validation: Validation) -> None:
        """After each validation."""

    def on_end(self, trainer: Running) -> None:
        """When a run has ended, in whatever way."""


class CsvLog(Callback):
    """A line for each step and each validation, in the first process's file.

    A line is there when the step is done, even if the process is killed then. A run that goes on from a
    checkpoint goes on with its log, too: lines of steps that it takes again are replaced. So a training that
    begins with its first step begins the log anew. A symbolic link is refused.

    Args:
        path: The file. `History.from_csv` and `plot_loss` read it.

    Example:
        >>> from sentencode.training import CsvLog
        >>> log = CsvLog("run.csv")  # Trainer(..., callbacks=[log])
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = as_path(path)
        self._file: TextIO | None = None
        self._columns: list[str] = list(COLUMNS)

    def on_step(self, trainer: Running, step: Step) -> None:
        """Writes it."""
        self._write(trainer, step)

    def on_validation(self, trainer: Running, validation: Validation) -> None:
        """Writes it."""
        self._write(trainer, validation)

    def on_end(self, trainer: Running) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, trainer: Running, event: Event) -> None:
        if trainer.rank != 0:
            return
        if self._file is None:
            self._file = self._opened(event)
        self._file.write(",".join(row_of(event, self._columns)) + "\n")
        self._file.flush()

    def _opened(self, first: Event) -> TextIO:
        """The file with all that was before this event, and nothing else."""
        refuse_link(self.path)
        there = self.path.exists() and self.path.stat().st_size > 0
        kept = [event for event in read_log(self.path) if _place(event) < _place(first)] if there else []
        self._columns = columns_of(first)
        rows = [self._columns, *(row_of(event, self._columns) for event in kept)]
        with whole_file(self.path) as file:
            file.writelines(f"{','.join(row)}\n".encode() for row in rows)
        return open(self.path, "a", encoding="utf-8", opener=_appending)


def _appending(name: str, flags: int) -> int:
    return os.open(name, flags | os.O_NOFOLLOW, 0o666)


def _place(event: Event) -> tuple[int, bool]:
    return event.step, isinstance(event, Validation)


class TensorBoardLog(Callback):
    """The same figures as scalars for TensorBoard, by `torch.utils.tensorboard`, in the first process.

    Args:
        folder: Where the event files are to be.

    Raises:
        ImportError: The package tensorboard is not installed.

    Example:
        >>> from sentencode.training import TensorBoardLog
        >>> log = TensorBoardLog("runs/first")  # doctest: +SKIP
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        try:
            from torch.utils import tensorboard
        except ImportError as error:
            raise ImportError(f"TensorBoardLog: {error}; this needs: pip install tensorboard") from error
        self._make: Any = tensorboard.SummaryWriter  # type: ignore[no-untyped-call, unused-ignore, attr-defined]
        self.folder = as_name(folder)
        self._writer: Any = None

    def on_step(self, trainer: Running, step: Step) -> None:
        """Adds train/loss, train/accuracy, train/learning_rate, train/norm and train/examples_per_second."""
        rate = step.examples / step.seconds if step.seconds > 0 else math.nan
        names = ("loss", "accuracy", "learning_rate", "norm")
        figures = {f"train/{name}": getattr(step, name) for name in names}
        figures |= {f"train/{name}": figure for name, figure in step.figures.items()}
        self._add(trainer, step.step, {**figures, "train/examples_per_second": rate})

    def on_validation(self, trainer: Running, validation: Validation) -> None:
        """Adds valid/loss, valid/accuracy and valid/score."""
        names = ("loss", "accuracy", "score")
        figures = {f"valid/{name}": getattr(validation, name) for name in names}
        figures |= {f"valid/{name}": figure for name, figure in validation.figures.items()}
        self._add(trainer, validation.step, figures)

    def on_end(self, trainer: Running) -> None:
        """Closes the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _add(self, trainer: Running, step: int, figures: dict[str, float]) -> None:
        if trainer.rank != 0:
            return
        if self._writer is None:  # what an earlier run told of later steps is no longer so
            # The writer would follow a symbolic link; nobody can make one of a name that is random.
            unique = f".{secrets.token_hex(8)}"
            self._writer = self._make(log_dir=self.folder, purge_step=step, filename_suffix=unique)
        for name, figure in figures.items():
            if math.isfinite(figure):
                self._writer.add_scalar(name, figure, step)


class Progress(Callback):
    """A bar of steps with sentences and tokens a second, the loss, and the time that is left."""

    def __init__(self, trainer: Running) -> None:
        from tqdm.auto import tqdm

        self.bar = tqdm(total=trainer.last_step, initial=trainer.step, desc="train", unit="step")
        self._examples = self._tokens = 0
        self._since = time.perf_counter()

    def on_step(self, trainer: Running, step: Step) -> None:
        """Moves the bar; what it says changes now and then."""
        self._examples += step.examples
        self._tokens += step.tokens
        seconds = time.perf_counter() - self._since
        if seconds > 0.5 or step.step == trainer.last_step:
            rates = f"{self._examples / seconds:,.0f} sentences/s, {self._tokens / seconds:,.0f} tokens/s"
            own = "".join(f", {name} {figure:.4g}" for name, figure in step.figures.items())
            self.bar.set_postfix_str(f"loss {step.loss:.4f}{own}, {rates}", refresh=False)
            self._examples = self._tokens = 0
            self._since = time.perf_counter()
        self.bar.update()

    def on_validation(self, trainer: Running, validation: Validation) -> None:
        """Says the score in the bar's name; validating is not counted as training."""
        self.bar.set_description_str(f"train (score {validation.score:.4f})", refresh=False)
        self._examples = self._tokens = 0
        self._since = time.perf_counter()

    def on_end(self, trainer: Running) -> None:
        """Leaves the bar as it is."""
        self.bar.close()
