"""The papers' tables and figures, computed again.

A module for each family says which rows there are, how each encoder is made, and which columns are shown.
What they share lies beside them: trainings that go on where they were stopped (`family`, `bench`), controls
(`controls`), results kept in a folder (`results_folder`), judging (`judging`), the figures of the papers
(`papers`), and tables of both (`report`, `score_tables`, `tables`).
"""

from __future__ import annotations

from .papers import published

__all__ = ["published"]


def __dir__() -> list[str]:
    return sorted(__all__)
