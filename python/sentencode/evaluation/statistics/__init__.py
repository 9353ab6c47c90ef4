"""What is more than luck: tests of two encoders, means over seeds, and resamples that tasks share."""

from __future__ import annotations

from .significance import (
    Comparison,
    mcnemar_test,
    paired_bootstrap,
    paired_bootstrap_correlation,
    paired_t_test,
    steiger_test,
    williams_test,
)

__all__ = [
    "Comparison",
    "mcnemar_test",
    "paired_bootstrap",
    "paired_bootstrap_correlation",
    "paired_t_test",
    "steiger_test",
    "williams_test",
]
