"""Sentencode: train, run and evaluate sentence encoders.

Everything is imported at its first use, so that `import sentencode` stays quick and never loads torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import families

if TYPE_CHECKING:
    from . import distributed, errors, models, mteb, nn, scale, sentence_transformers, senteval, training
    from .cache import cache_dir, set_cache_dir
    from .encoder import Encoder
    from .errors import DivergedError, FormatError, NotFittedError, ZeroRowsWarning
    from .families import *
    from .linear.average import Average
    from .linear.laes import LAES
    from .linear.selection import Selection
    from .linear.sif import SIF
    from .linear.usif import USIF
    from .models.heads import Classifier, CosineRegression, MultipleNegatives, RowRegression, Triplet
    from .saved import load
    from .search import Hits, semantic_search, similarity, similarity_pairwise
    from .text.corpus import Corpus
    from .text.split_sentences import split_sentences
    from .text.tokenizer import Tokenizer
    from .text.vocabulary import Vocabulary
    from .threads import num_threads, set_num_threads
    from .vectors.frequencies import Frequencies
    from .vectors.word_vectors import WordVectors

    __version__: str

# Public name -> the module it lives in, sorted by name. A module that is public itself stands for itself.
_HOMES = {
    "Average": "linear.average",
    "Classifier": "models.heads",
    "Corpus": "text.corpus",
    "CosineRegression": "models.heads",
    "DivergedError": "errors",
    "Encoder": "encoder",
    "FormatError": "errors",
    "Frequencies": "vectors.frequencies",
    "Hits": "search",
    "LAES": "linear.laes",
    "MultipleNegatives": "models.heads",
    "NotFittedError": "errors",
    "RowRegression": "models.heads",
    "SIF": "linear.sif",
    "Selection": "linear.selection",
    "Tokenizer": "text.tokenizer",
    "Triplet": "models.heads",
    "USIF": "linear.usif",
    "Vocabulary": "text.vocabulary",
    "WordVectors": "vectors.word_vectors",
    "ZeroRowsWarning": "errors",
    "cache_dir": "cache",
    "compare": "evaluation",
    "distributed": "distributed",
    "errors": "errors",
    "evaluate": "evaluation",
    "evaluation": "evaluation",
    "load": "saved",
    "models": "models",
    "mteb": "mteb",
    "nn": "nn",
    "num_threads": "threads",
    "scale": "scale",
    "semantic_search": "search",
    "sentence_transformers": "sentence_transformers",
    "senteval": "senteval",
    "set_cache_dir": "cache",
    "set_num_threads": "threads",
    "split_sentences": "text.split_sentences",
    "training": "training",
    "similarity": "search",
    "similarity_pairwise": "search",
    **dict.fromkeys(families.FAMILIES, "models"),
}

__all__ = [
    "LAES",
    "SIF",
    "USIF",
    "Average",
    "Classifier",
    "Corpus",
    "CosineRegression",
    "DivergedError",
    "Encoder",
    "FormatError",
    "Frequencies",
    "Hits",
    "MultipleNegatives",
    "NotFittedError",
    "RowRegression",
    "Selection",
    "Tokenizer",
    "Triplet",
    "Vocabulary",
    "WordVectors",
    "ZeroRowsWarning",
    "__version__",
    "cache_dir",
    "compare",
    "distributed",
    "errors",
    "evaluate",
    "evaluation",
    "load",
    "models",
    "mteb",
    "nn",
    "num_threads",
    "scale",
    "semantic_search",
    "sentence_transformers",
    "senteval",
    "set_cache_dir",
    "set_num_threads",
    "similarity",
    "similarity_pairwise",
    "split_sentences",
    "training",
]
__all__ += families.__all__


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value = importlib.import_module("sentencode._core").__version__
    elif name in _HOMES:
        module = importlib.import_module(f"{__name__}.{_HOMES[name]}")
        value = module if name == _HOMES[name] else getattr(module, name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
