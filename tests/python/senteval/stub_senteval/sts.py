from __future__ import annotations

import numpy as np
from scipy.stats import pearsonr, spearmanr

PAIRS = [
    ("a cat sat", "the cat sat down", "4.5"),
    ("a dog", "the cat sat", "1"),
    ("nobody scored this", "at all", ""),
    ("zebras", "unknown words", "0.5"),
    ("the dog sat", "the dog sat", "5"),
]


class Similarity:
    def do_prepare(self, params, prepare):
        scores = np.array([score for _, _, score in PAIRS])
        scored = scores != ""
        left = np.array([a.split() for a, _, _ in PAIRS])[scored]
        right = np.array([b.split() for _, b, _ in PAIRS])[scored]
        rows = sorted(
            zip(left, right, map(float, scores[scored]), strict=True), key=lambda row: (len(row[0]), row[2])
        )
        self.left, self.right, self.scores = map(list, zip(*rows, strict=True))
        prepare(params, self.left + self.right)

    def run(self, params, batcher):
        predictions = []
        for start in range(0, len(self.scores), params.batch_size):
            left = batcher(params, self.left[start : start + params.batch_size])
            right = batcher(params, self.right[start : start + params.batch_size])
            for k in range(right.shape[0]):
                with np.errstate(invalid="ignore"):
                    cosine = left[k] @ right[k] / (np.linalg.norm(left[k]) * np.linalg.norm(right[k]))
                predictions.append(np.nan_to_num(cosine))
        return {
            "pairs": {
                "pearson": pearsonr(predictions, self.scores),
                "spearman": spearmanr(predictions, self.scores),
                "nsamples": len(predictions),
            },
            "all": {"pearson": {"mean": np.average([pearsonr(predictions, self.scores)[0]])}},
        }
