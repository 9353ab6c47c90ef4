"""Rows and sizes of paper 003: the architectures of compound attention, for German and Czech."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..linear import Average
from .rows import Row, untrained
from .rows import Size as CommonSize

__all__ = ["CORPORA", "CZECH", "GERMAN", "GRID", "ROWS", "SIZES", "SOURCES", "Size"]


@dataclass(frozen=True, kw_only=True)
class Size(CommonSize):
    """Sizes of the networks, and options of the search.

    Attributes:
        hidden: Units of each direction of encoders for German, half the embedding dimension.
        cs_hidden: Units of each direction of encoders for Czech.
        transformer: Width, layers and inner width of Transformers.
        warmup: Warm-up steps of Transformers.
        trf_dropout: Dropout of Transformers. Those of "cpu" do not learn with that of the other rows.
        attn_ctx_warmup: Warm-up steps of ATTN-CTX, which does not learn at the rate of "cpu" without one.
        pieces: Target language -> pieces of the joint BPE; 0: words.
        beam: Beam size.
        length_penalty: Length penalty of `translate`.
    """

    hidden: int
    cs_hidden: int
    transformer: tuple[int, int, int]
    warmup: int = 4000
    trf_dropout: float = 0.1
    attn_ctx_warmup: int = 0
    pieces: Mapping[str, int] = field(default_factory=dict)
    beam: int = 5
    length_penalty: float = 0.6

    @property
    def width(self) -> int:
        """Embedding dimension."""
        return 2 * self.hidden

    @property
    def width_12(self) -> int:
        """Embedding dimension that 3, 6 and 12 heads divide."""
        return self.width // 12 * 12

    @property
    def twice_12(self) -> int:
        """Twice `width_12`."""
        return 2 * self.width_12

    @property
    def fourfold_12(self) -> int:
        """Four times `width_12`."""
        return 4 * self.width_12

    @property
    def cs_width(self) -> int:
        """Embedding dimension of Czech rows."""
        return 2 * self.cs_hidden

    @property
    def cs_fourfold(self) -> int:
        """Four times `cs_width`."""
        return 4 * self.cs_width

    @property
    def trf_features(self) -> int:
        """Width of Transformers."""
        return self.transformer[0]

    @property
    def trf_layers(self) -> int:
        """Layers of Transformers, on each side."""
        return self.transformer[1]

    @property
    def trf_inner(self) -> int:
        """Inner width of Transformers."""
        return self.transformer[2]


SIZES = {
    "cpu": Size(
        hidden=128,
        cs_hidden=128,
        transformer=(128, 3, 512),
        warmup=400,
        attn_ctx_warmup=400,
        pieces={"de": 4000, "cs": 4000},
        training={
            "features": 128,
            "decoder_hidden": 256,
            "attention": 128,
            "dropout": 0.3,
            "label_smoothing": 0.1,
            "learning_rate": 2e-3,
            "schedule": "linear",
            "clip_norm": 1.0,
            "batch_size": 64,
            "max_length": 60,
            "max_epochs": 30,
            "max_steps": None,
            "validate_every": None,
        },
    ),
    "paper": Size(
        hidden=300,
        cs_hidden=500,
        transformer=(512, 6, 2048),
        pieces={"cs": 30_000},
        training={
            "batch_size": 32,
            "max_epochs": 20,
            "max_steps": None,
            "validate_every": None,
            "vocabulary_size": 30_000,
        },
        corpus_training={"cs": {"batch_size": 128, "max_epochs": 1}},
    ),
}

_WIDE = {"": "width_12", ", twice as wide": "twice_12", ", four times as wide": "fourfold_12"}
CORPORA = {"de": "German", "cs": "Czech"}


def _row(architecture: str, corpus: str, *, heads: int = 0, width: str = "width", printed: str = "") -> Row:
    transformer = architecture.startswith("trf")
    sized = (
        {"features": "trf_features", "layers": "trf_layers", "inner": "trf_inner", "warmup": "warmup"}
        | {"dropout": "trf_dropout"}
        if transformer
        else {"hidden": "hidden" if corpus == "de" else "cs_hidden"}
    )
    if architecture == "attn_ctx":
        sized["warmup"] = "attn_ctx_warmup"
    more: dict[str, Any] = {}
    if heads:
        more["heads"], sized["size"] = heads, width
    return Row(
        "CompoundNMT",
        {"architecture": architecture, **more},
        sized,
        corpus=corpus,
        printed=printed,
        further=True,
        tasks=() if architecture in ("attn", "trf") else None,
        texts=True,
        vectors=False,
    )


def _inner(corpus: str, architecture: str, heads: int, wide: str = "", size: int = 0) -> dict[str, Row]:
    """A row with inner attention; `size` is the embedding dimension of the paper's row, 0 for none."""
    kind = f"{corpus}-{architecture.upper().replace('_', '-')}"
    name = f"{kind}, {heads} head{'s' * (heads > 1)}{wide}"
    if corpus == "cs":
        width = "cs_fourfold" if wide else "cs_width"
    else:
        width = "width" if heads in (1, 4, 8) else _WIDE[wide]
    several = (corpus, architecture) != ("cs", "attn_ctx")  # of which the paper has one row
    printed = f"{kind}, {size}, {heads} heads" if several else kind
    return {name: _row(architecture, corpus, heads=heads, width=width, printed=printed if size else "")}


def _plain(corpus: str, *architectures: str) -> dict[str, Row]:
    """Rows without inner attention."""
    return {f"{corpus}-{name.upper().replace('_', '-')}": _row(name, corpus) for name in architectures}


_TWICE, _FOURFOLD = ", twice as wide", ", four times as wide"
GERMAN = {
    **_plain("de", "attn", "trf"),
    **_inner("de", "attn_attn", 12, _FOURFOLD, 2400),
    **_inner("de", "attn_attn", 12, _TWICE, 1200),
    **_inner("de", "attn_attn", 8, size=600),
    **_inner("de", "attn_attn", 12, size=600),
    **_inner("de", "attn_attn", 6, _TWICE, 1200),
    **_inner("de", "attn_attn", 6, size=600),
    **_inner("de", "attn_attn", 4),
    **_inner("de", "trf_attn_attn", 3, size=600),
    **_inner("de", "attn_attn", 3, size=600),
    **_inner("de", "attn_ctx", 12, _TWICE, 1200),
    **_inner("de", "attn_ctx", 12, size=600),
    **_inner("de", "attn_ctx", 8, size=600),
    **_inner("de", "attn_ctx", 6, size=600),
    **_inner("de", "trf_attn_attn", 12, _FOURFOLD, 2400),
    **_plain("de", "maxpool_ctx", "final_ctx"),
    **_inner("de", "attn_ctx", 4),
    **_inner("de", "attn_ctx", 3, size=600),
    **_plain("de", "avgpool_ctx"),
    **_inner("de", "attn_attn", 1, size=600),
    **_inner("de", "trf_attn_attn", 6, size=600),
    **_inner("de", "trf_attn_attn", 12, _TWICE, 1200),
    **_plain("de", "final", "avgpool", "maxpool"),
}
CZECH = {
    **_plain("cs", "attn"),
    **_inner("cs", "attn_attn", 8, size=1000),
    **_inner("cs", "attn_attn", 4, _FOURFOLD, 4000),
    **_inner("cs", "attn_attn", 4, size=1000),
    **_inner("cs", "attn_ctx", 4, size=1000),
    **_plain("cs", "final_ctx"),
    **_inner("cs", "attn_attn", 1, size=1000),
    **_plain("cs", "final", "avgpool", "maxpool"),
}
_CONTROLS = {
    "average of words": Row(trained=False, make=Average, further=True),
    **{
        f"untrained {name}": untrained(row)
        for corpus in CORPORA
        for name, row in {
            **_plain(corpus, "maxpool"),
            **_inner(corpus, "attn_attn", 8),
            **_inner(corpus, "attn_attn", 1),
        }.items()
    },
}
# Not encoders: the distance between the training text and the tasks.
SOURCES = {
    f"English side of the {corpus} data": Row(
        trained=False, make=lambda _: None, corpus=corpus, tasks=(), further=True
    )
    for corpus in CORPORA
}
ROWS = {**GERMAN, **CZECH, **_CONTROLS, **SOURCES}

# Rows that two cores train in some hours: for German every architecture, and one to eight heads; for Czech
# the paper's rows; and controls.
_GRID_GERMAN = (
    *("de-ATTN", "de-TRF", "de-ATTN-ATTN, 8 heads", "de-ATTN-ATTN, 4 heads", "de-ATTN-ATTN, 1 head"),
    *("de-TRF-ATTN-ATTN, 3 heads", "de-ATTN-CTX, 4 heads", "de-MAXPOOL-CTX", "de-FINAL-CTX"),
    *("de-AVGPOOL-CTX", "de-FINAL", "de-AVGPOOL", "de-MAXPOOL"),
)
GRID = {
    corpus: (
        *rows,
        "average of words",
        *(name for name, row in _CONTROLS.items() if row.corpus == corpus),
        f"English side of the {corpus} data",
    )
    for corpus, rows in {"de": _GRID_GERMAN, "cs": tuple(CZECH)}.items()
}
