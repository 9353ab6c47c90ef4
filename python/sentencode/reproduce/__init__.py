"""The papers' tables and figures, computed again.

A module for each family defines rows, encoders and tables. The others are shared: resumable trainings
(`family`, `bench`), controls (`controls`), results on disk (`results_folder`), evaluation (`evaluator`),
claims (`claims`), published figures (`papers`), tables (`report`, `score_tables`, `tables`), pages (`page`).
"""

from __future__ import annotations

from .papers import published

__all__ = ["published"]


def __dir__() -> list[str]:
    return sorted(__all__)
