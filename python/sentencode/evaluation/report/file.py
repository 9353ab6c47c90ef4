"""The file of a report, which a run resumes and other runs may write at the same time."""

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
# Facts that must be equal to resume a report.
_SAME = ("protocol", "judging", "folds", "fingerprint", "tokens", "confidence", "resamples")


class ReportFile:
    """Reads and updates the file of a report.

    Args:
        out: The file. None: nothing is written.
        report: The new report, with its facts.
        overwrite: Whether the first `write` replaces a file, whatever it holds.

    Attributes:
        before: The file's report; empty without a file.
    """

    def __init__(
        self, out: str | os.PathLike[str] | None, report: Report, *, overwrite: bool = False
    ) -> None:
        self._out = None if out is None else as_path(out)
        self._facts = {name: report.facts[name] for name in _SAME}
        self._seen: tuple[int, ...] | None = None
        self.before = Report(report.encoder)
        if self._out is None:
            return
        _check_writable(self._out)
        if overwrite:
            self._seen = _state(self._out)
            return
        unknown = self._unknown()
        if not self._out.exists():
            if unknown:
                _LOG.warning("%s cannot be resumed: %s", self._out, unknown)
            return
        if unknown:
            raise ValueError(
                f"evaluate: {self._out} exists, and may be the report of another encoder or protocol: "
                f"{unknown}; or remove the file"
            )
        with _locked(self._out):
            self._read()
        versions = self.before.facts.get("versions", report.facts["versions"])
        if versions != report.facts["versions"]:
            _LOG.warning(
                "%s was started with %s, and is resumed with %s",
                self._out,
                versions,
                report.facts["versions"],
            )

    def write(self, report: Report) -> None:
        """Merge a report into the file, to which other runs may have added results.

        Args:
            report: The results so far.
        """
        if self._out is None:
            return
        with _locked(self._out):
            if _state(self._out) not in (None, self._seen):
                self._read()
            before = self.before
            results = before.results | report.results
            for name, old in before.results.items():
                new = results[name]
                # An error, such as too little memory, does not replace a score on the same examples.
                if new.error and not old.error and new.details.get("data") == old.details.get("data"):
                    results[name] = old
            skipped = before.skipped | report.skipped
            skipped = {name: why for name, why in skipped.items() if name not in results}
            facts, curves = before.facts | report.facts, before.curves | report.curves
            Report(report.encoder, results, skipped, facts, curves).to_json(self._out)
            self._seen = _state(self._out)

    def _unknown(self) -> str | None:
        """Why it is unknown whether a file is of the same encoder and protocol; None if it is known."""
        if self._facts["fingerprint"] is None:
            return "the encoder has no fingerprint: give key=... to write reports that can be resumed"
        if self._facts["judging"] is None:
            return "the protocol's similarity or classifier depends on values that cannot be compared"
        return None

    def _read(self) -> None:
        assert self._out is not None
        state = _state(self._out)
        report = Report.load(self._out)
        if any(report.facts.get(name) != value for name, value in self._facts.items()) or self._unknown():
            raise ValueError(
                f"evaluate: {self._out} is the report of another encoder or protocol; "
                "remove it or choose another file"
            )
        self.before, self._seen = report, state


def add_curve(out: str | os.PathLike[str], name: str, curve: Curve) -> None:
    """Add a curve to the file of a report, which other processes may write.

    Args:
        out: The file.
        name: Name of the curve.
        curve: The curve.
    """
    with _locked(as_path(out)):
        report = Report.load(out)
        report.curves[name] = curve
        report.to_json(out)


def _state(path: Path) -> tuple[int, ...] | None:
    """Identifies the contents of a file; None without a file."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


def _check_writable(path: Path) -> None:
    """Check that a file can be written, before any work."""
    try:
        _core.AtomicFile(_core.link_target(path)).discard()
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        number = error.errno or errno.EINVAL
        raise OSError(number, f"the report cannot be written: {why}", str(path)) from None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lock the folder of a report against other processes and threads."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)
