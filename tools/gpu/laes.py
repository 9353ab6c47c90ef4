"""Fitting LAES with 2,400 hidden units on the GPU and on the processor."""

from __future__ import annotations

import time
from typing import Any

from common import TOKENIZER, Facts, options_of_part, word_vectors


def main() -> None:
    import numpy as np

    import sentencode as se

    args = options_of_part()
    facts = Facts(args, resume=False)  # the comparison needs both encoders
    device = "cpu:0" if args.rehearse else "cuda"  # on "cpu:0", torch runs the code for devices
    path = args.kit / "data" / "senteval" / "downstream" / "SICK" / "SICK_train.txt"
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    sentences = [row[1] for row in rows] + [row[2] for row in rows]
    hidden = 2400
    if args.rehearse:
        sentences, hidden = [" ".join(line.split()[:5]) for line in sentences[:500]], 60
    vectors = word_vectors(args)
    facts.put(hidden=hidden, sentences=len(sentences), device=device)
    encoders: dict[str, Any] = {}

    def fit(where: str) -> dict[str, Any]:
        if where != "cpu":  # what the first call loads
            se.LAES(vectors, hidden=8, device=where, **TOKENIZER).fit(sentences[:50])
        encoder = se.LAES(vectors, hidden=hidden, device=where, **TOKENIZER)
        begin = time.perf_counter()
        encoder.fit(sentences)
        seconds = time.perf_counter() - begin
        encoders[where] = encoder.encode(sentences[:300]).astype(np.float64)
        return {"seconds": seconds}

    facts.attempt(device, lambda: fit(device))
    facts.attempt("cpu", lambda: fit("cpu"))

    def compare() -> dict[str, Any]:
        cases = facts.values["cases"]
        a, b = encoders["cpu"], encoders[device]
        # An embedding is what the hidden units leave over; if they reconstruct a sentence, rounding alone.
        # Differences are therefore relative to the usual length, not to that of the embedding itself.
        length = float(np.median(np.linalg.norm(a, axis=1)))
        result = {
            "ratio": cases["cpu"]["seconds"] / cases[device]["seconds"],
            "apart": float(np.linalg.norm(a - b, axis=1).max()) / length,
        }
        if not result["apart"] < 1e-2:
            result["error"] = f"embeddings of both devices differ by {result['apart']:.1e} of their length"
        return result

    if len(encoders) == 2:
        facts.attempt("compared", compare)
    facts.finish()


if __name__ == "__main__":
    main()
