from __future__ import annotations

import numpy as np

from .tools.ranking import Ranking

CAPTIONS = ["a dog sat", "the cat", "a cat sat", "the dog sat down", "a cat"]


class Retrieval:
    def do_prepare(self, params, prepare):
        self.captions = [f"{c} .".encode().split() for c in CAPTIONS]  # bytes, here alone
        prepare(params, self.captions)

    def run(self, params, batcher):
        captions = np.array(self.captions)
        in_order, order = np.sort(captions), np.argsort(captions)
        rows = [
            batcher(params, in_order[start : start + params.batch_size])
            for start in range(0, len(captions), params.batch_size)
        ]
        rows = np.vstack(rows)[np.argsort(order)]
        return {"devacc": np.float64(1), "acc": [Ranking(rows).run(), (0.0,)], "ndev": len(rows)}
