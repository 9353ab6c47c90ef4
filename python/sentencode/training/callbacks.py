"""Callbacks of a trainer: logs and the progress bar."""

from __future__ import annotations

import math
import os
import secrets
import time
from typing import Any, TextIO, TypeAlias

from ..files import as_name, as_path, refuse_link, whole_file
from ..progress import bar
from .history import COLUMNS, Event, Step, Validation, columns_of, read_log, row_of

__all__ = ["Callback", "CsvLog", "TensorBoardLog"]

Running: TypeAlias = Any  # a `Trainer`, whose module imports this one


class Callback:
    """Receives the steps and validations of a trainer, in each process; `trainer.rank` is the process.

    An exception ends the run and is raised by `Trainer.run`, after the other callbacks were called and a
    checkpoint was written. Any object with these three methods will do.

    Example:
        >>> from sentencode.training import Callback
        >>> class Stop(Callback):
        ...     def on_step(self, trainer, step):
        ...         if step.loss < 0.1:
        ...             raise StopIteration("good enough")
    """

    def on_step(self, trainer: Running, step: Step) -> None:
        """Called after each step, before a validation."""

    def on_validation(self, trainer: Running, validation: Validation) -> None:
        """Called after each validation."""

    def on_end(self, trainer: Running) -> None:
        """Called when a run has ended or failed."""


class CsvLog(Callback):
    """Writes a line for each step and each validation to a file, in the first process.

    Each line is flushed, so that it survives a kill. A resumed run continues its log: lines of steps that it
    repeats are replaced, and a run from the first step begins a new log. A symbolic link is refused.

    Args:
        path: File, which `History.from_csv` and `plot_loss` can read.

    Example:
        >>> from sentencode.training import CsvLog
        >>> log = CsvLog("run.csv")  # Trainer(..., callbacks=[log])
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = as_path(path)
        self._file: TextIO | None = None
        self._columns: list[str] = list(COLUMNS)

    def on_step(self, trainer: Running, step: Step) -> None:
        """Writes a line."""
        self._write(trainer, step)

    def on_validation(self, trainer: Running, validation: Validation) -> None:
        """Writes a line."""
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
            self._file = self._open(event)
        self._file.write(",".join(row_of(event, self._columns)) + "\n")
        self._file.flush()

    def _open(self, first: Event) -> TextIO:
        """Opens the file after all events before this one, and removes later ones."""
        refuse_link(self.path)
        exists = self.path.exists() and self.path.stat().st_size > 0
        earlier = [event for event in read_log(self.path) if _order(event) < _order(first)] if exists else []
        self._columns = columns_of(first)
        rows = [self._columns, *(row_of(event, self._columns) for event in earlier)]
        with whole_file(self.path) as file:
            file.writelines(f"{','.join(row)}\n".encode() for row in rows)
        return open(self.path, "a", encoding="utf-8", opener=_open_no_link)


def _open_no_link(name: str, flags: int) -> int:
    return os.open(name, flags | os.O_NOFOLLOW, 0o666)


def _order(event: Event) -> tuple[int, bool]:
    return event.step, isinstance(event, Validation)


class TensorBoardLog(Callback):
    """Writes scalars for TensorBoard with `torch.utils.tensorboard`, in the first process.

    Args:
        folder: Folder for the event files.

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
        self._writer_class: Any = tensorboard.SummaryWriter  # type: ignore[no-untyped-call, unused-ignore, attr-defined]
        self.folder = as_name(folder)
        self._writer: Any = None

    def on_step(self, trainer: Running, step: Step) -> None:
        """Adds train/loss, train/accuracy, train/learning_rate, train/norm and train/examples_per_second."""
        rate = step.examples / step.seconds if step.seconds > 0 else math.nan
        names = ("loss", "accuracy", "learning_rate", "norm")
        figures = {name: getattr(step, name) for name in names} | step.figures
        self._add(trainer, "train", step.step, {**figures, "examples_per_second": rate})

    def on_validation(self, trainer: Running, validation: Validation) -> None:
        """Adds valid/loss, valid/accuracy and valid/score."""
        names = ("loss", "accuracy", "score")
        figures = {name: getattr(validation, name) for name in names} | validation.figures
        self._add(trainer, "valid", validation.step, figures)

    def on_end(self, trainer: Running) -> None:
        """Closes the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _add(self, trainer: Running, kind: str, step: int, figures: dict[str, float]) -> None:
        if trainer.rank != 0:
            return
        if self._writer is None:  # purges later steps of an earlier run
            # The writer follows symbolic links; nobody can prepare one for a random name.
            unique = f".{secrets.token_hex(8)}"
            self._writer = self._writer_class(log_dir=self.folder, purge_step=step, filename_suffix=unique)
        for name, figure in figures.items():
            if math.isfinite(figure):
                self._writer.add_scalar(f"{kind}/{name}", figure, step)


class Progress(Callback):
    """A progress bar of steps with the loss, sentences and tokens a second, and the remaining time."""

    def __init__(self, trainer: Running, delay: float = 0.0) -> None:
        total = trainer.last_step if trainer.last_step < 2**62 else None
        self.bar = bar(total=total, initial=trainer.step, desc="train", unit="step", delay=delay)
        self._reset()

    def _reset(self) -> None:
        self._examples = self._tokens = 0
        self._since = time.perf_counter()

    def on_step(self, trainer: Running, step: Step) -> None:
        """Moves the bar, and updates its text every half second."""
        self._examples += step.examples
        self._tokens += step.tokens
        seconds = time.perf_counter() - self._since
        if seconds > 0.5 or step.step == trainer.last_step:
            rates = f"{self._examples / seconds:,.0f} sentences/s, {self._tokens / seconds:,.0f} tokens/s"
            figures = "".join(f", {name} {figure:.4g}" for name, figure in step.figures.items())
            self.bar.set_postfix_str(f"loss {step.loss:.4f}{figures}, {rates}", refresh=False)
            self._reset()
        self.bar.update()

    def on_validation(self, trainer: Running, validation: Validation) -> None:
        """Shows the score; the time of the validation does not count."""
        self.bar.set_description_str(f"train (score {validation.score:.4f})", refresh=False)
        self._reset()

    def on_end(self, trainer: Running) -> None:
        """Closes the bar."""
        self.bar.close()
