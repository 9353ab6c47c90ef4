"""Old name of `sentencode.evaluation.metrics`."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import warnings

from . import metrics

warnings.warn(
    "sentencode.evaluation.judging is now sentencode.evaluation.metrics", DeprecationWarning, stacklevel=2
)
for _module in pkgutil.iter_modules(metrics.__path__):
    _old = "metrics" if _module.name == "scores" else _module.name
    sys.modules[f"{__name__}.{_old}"] = importlib.import_module(f"{metrics.__name__}.{_module.name}")
sys.modules[__name__] = metrics
