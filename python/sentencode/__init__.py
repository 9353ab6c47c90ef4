"""Sentencode: train, run and evaluate sentence encoders.

Names are imported at their first use, so that `import sentencode` is fast and does not load torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import families

if TYPE_CHECKING:
    from . import (
        distributed,
        errors,
        models,
        mteb,
        nn,
        scale,
        sentence_transformers,
        senteval,
        serve,
        training,
    )
    from .cache import cache_dir, set_cache_dir
    from .concatenation import Concatenation
    from .encoder import Encoder
    from .errors import DivergedError, FormatError, NotFittedError, ZeroRowsWarning
    from .families import *
    from .linear.average import Average
    from .linear.dict_rep import DictRep
    from .linear.laes import LAES
    from .linear.selection import Selection
    from .linear.sif import SIF
    from .linear.trained_average import TrainedAverage
    from .linear.usif import USIF
    from .models.heads import Classifier, CosineRegression, MultipleNegatives, RowRegression, Triplet
    from .paragraph_vec import ParagraphVec
    from .quantization import quantize_embeddings
    from .saved import load
    from .search import Hits, semantic_search, similarity, similarity_pairwise
    from .text.corpus import Corpus
    from .text.definitions import definitions
    from .text.split_sentences import split_sentences
    from .text.tokenizer import Tokenizer
    from .text.vocabulary import Vocabulary
    from .threads import num_threads, set_num_threads
    from .vectors.frequencies import Frequencies
    from .vectors.word_vectors import WordVectors
    from .whitening import Whitening

    __version__: str

# Module -> public names in it. All other names of `__all__` are modules.
_NAMES = {
    "cache": ("cache_dir", "set_cache_dir"),
    "concatenation": ("Concatenation",),
    "encoder": ("Encoder",),
    "errors": ("DivergedError", "FormatError", "NotFittedError", "ZeroRowsWarning"),
    "evaluation": ("compare", "evaluate", "rank"),
    "linear": ("LAES", "SIF", "USIF", "Average", "DictRep", "Selection", "TrainedAverage"),
    "models": tuple(families.FAMILIES),
    "models.heads": ("Classifier", "CosineRegression", "MultipleNegatives", "RowRegression", "Triplet"),
    "paragraph_vec": ("ParagraphVec",),
    "quantization": ("quantize_embeddings",),
    "saved": ("load",),
    "search": ("Hits", "semantic_search", "similarity", "similarity_pairwise"),
    "text.corpus": ("Corpus",),
    "text.definitions": ("definitions",),
    "text.split_sentences": ("split_sentences",),
    "text.tokenizer": ("Tokenizer",),
    "text.vocabulary": ("Vocabulary",),
    "threads": ("num_threads", "set_num_threads"),
    "vectors": ("Frequencies", "WordVectors"),
    "whitening": ("Whitening",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "LAES",
    "SIF",
    "USIF",
    "Average",
    "Classifier",
    "Concatenation",
    "Corpus",
    "CosineRegression",
    "DictRep",
    "DivergedError",
    "Encoder",
    "FormatError",
    "Frequencies",
    "Hits",
    "MultipleNegatives",
    "NotFittedError",
    "ParagraphVec",
    "RowRegression",
    "Selection",
    "Tokenizer",
    "TrainedAverage",
    "Triplet",
    "Vocabulary",
    "Whitening",
    "WordVectors",
    "ZeroRowsWarning",
    "__version__",
    "cache_dir",
    "compare",
    "definitions",
    "distributed",
    "errors",
    "evaluate",
    "evaluation",
    "load",
    "models",
    "mteb",
    "nn",
    "num_threads",
    "quantize_embeddings",
    "rank",
    "scale",
    "semantic_search",
    "sentence_transformers",
    "senteval",
    "serve",
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
    elif name in _MODULES:
        value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    elif name in __all__:
        value = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
