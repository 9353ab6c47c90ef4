"""The file of a report that a run goes on from, which other runs may write at the same time."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ... import _core
from ...files import as_path
from ..metrics.results import Curve
from .report import Report

__all__ = ["ReportFile", "add_curve"]

_LOG = logging.getLogger("sentencode")
_SAME = ("protocol", "judging", "folds", "fingerprint", "tokens", "confidence", "resamples")  # of facts


class ReportFile:
    """A report's file: what it held, and what is added to it.

    Args:
        out: The file. None: nothing is kept.
        report: The new report, with its facts.

    Attributes:
        before: What is known of before; empty where there is no file.

    Raises:
        ValueError: The file is the report of something else, or may be.
        OSError: The file cannot be written.
    """

    def __init__(self, out: str | os.PathLike[str] | None, report: Report) -> None:
        self._out = None if out is None else as_path(out)
        self._facts = {name: report.facts[name] for name in _SAME}
        self._seen: tuple[int, ...] | None = None
        self.before = Report(report.encoder)
        if self._out is None:
            return
        _check_writable(self._out)
        unknown = self._unknown()
        if not self._out.exists():
            if unknown:
                _LOG.warning("%s cannot be resumed: %s", self._out, unknown)
            return
        if unknown:
            raise ValueError(
                f"evaluate: {self._out} is there already, and nothing tells whether it is the report of the "
                f"same: {unknown}; or remove the file"
            )
        with _locked(self._out):
            self._read()
        versions = self.before.facts.get("versions", report.facts["versions"])
        if versions != report.facts["versions"]:
            _LOG.warning(
                "%s was begun with %s, and is resumed with %s",
                self._out,
                versions,
                report.facts["versions"],
            )

    def write(self, report: Report) -> None:
        """Writes what is new beside what the file holds by now, which another run may have added to.

        Args:
            report: What was found so far.

        Raises:
            ValueError: The file has become the report of something else.
        """
        if self._out is None:
            return
        with _locked(self._out):
            if _state(self._out) not in (None, self._seen):
                self._read()
            before = self.before
            results = before.results | report.results
            for name, other in before.results.items():
                mine = results[name]
                # An error, as of too little memory, takes no figure of the same examples away.
                if mine.error and not other.error and mine.details.get("data") == other.details.get("data"):
                    results[name] = other
            skipped = before.skipped | report.skipped
            skipped = {name: why for name, why in skipped.items() if name not in results}
            facts, curves = before.facts | report.facts, before.curves | report.curves
            Report(report.encoder, results, skipped, facts, curves).to_json(self._out)
            self._seen = _state(self._out)

    def _unknown(self) -> str | None:
        """Why a file cannot be told from one of something else."""
        if self._facts["fingerprint"] is None:
            return "the encoder has no fingerprint: give key=... to write reports that can be resumed"
        if self._facts["judging"] is None:
            return "the protocol's similarity or classifier depends on what cannot be compared"
        return None

    def _read(self) -> None:
        assert self._out is not None
        state = _state(self._out)
        found = Report.load(self._out)
        if any(found.facts.get(name) != value for name, value in self._facts.items()) or self._unknown():
            raise ValueError(
                f"evaluate: {self._out} is the report of another encoder or protocol; "
                "remove it or choose another file"
            )
        self.before, self._seen = found, state


def add_curve(out: str | os.PathLike[str], name: str, curve: Curve) -> None:
    """Puts a curve into a report's file, whatever else was added to it by others.

    Args:
        out: The file.
        name: What the curve is called.
        curve: The curve.
    """
    with _locked(as_path(out)):
        report = Report.load(out)
        report.curves[name] = curve
        report.to_json(out)


def _state(path: Path) -> tuple[int, ...] | None:
    """Tells a file from what it was before; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _check_writable(path: Path) -> None:
    """Whether a file can be written, before any work."""
    try:
        _core.AtomicFile(_core.link_target(path)).discard()
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        number = error.errno or errno.EINVAL
        raise OSError(number, f"the report cannot be written: {why}", str(path)) from None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Waits until no other process, or thread, reads or writes a report in the folder."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)
