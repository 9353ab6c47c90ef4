"""What a new user does with the installed wheels: encode, fit, save, load, SentEval; with torch, train."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

start = time.perf_counter()
import sentencode as se  # noqa: E402  # timed

print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}: import {time.perf_counter() - start:.4f} s")
from sentencode import _core  # noqa: E402

print(_core.build_info())

SENTENCES = ["A ship was lost in the storm.", "By the hearth, he told tales.", "The vessel sank.", ""]
vectors = se.WordVectors.default()
file = Path(tempfile.mkdtemp()) / "encoder.sentencode"


def saved_and_loaded(encoder: se.Encoder) -> None:
    encoder.save(file)
    np.testing.assert_array_equal(se.load(file).encode(SENTENCES), encoder.encode(SENTENCES))


for encoder in (se.Average(vectors), se.SIF(vectors).fit(SENTENCES), se.USIF(vectors).fit(SENTENCES)):
    saved_and_loaded(encoder)

prepare, batcher = se.senteval.plugin(se.Average(vectors))
batch = [["A", "ship", "sank", "."], ["Tales"]]
prepare({}, batch)
assert np.asarray(batcher({}, batch)).shape == (2, 148)

if importlib.util.find_spec("sentencode_nn"):
    import torch

    text = [f"the {a} {b}" for a in ("ship", "storm", "vessel") for b in ("sank", "was lost", "came")] * 8
    saved_and_loaded(
        se.MeanMaxAAE(vectors, hidden=8, heads=2, min_length=2, max_steps=3, device="cpu").fit(text)
    )
    print(f"torch {torch.__version__}: an encoder was trained, saved and loaded")
else:
    try:
        se.MeanMaxAAE(vectors)
    except ImportError as error:
        print(f"without the neural half: {error}")
    else:
        raise SystemExit("MeanMaxAAE was constructed without torch")
