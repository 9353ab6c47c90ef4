"""Paper 004 in plain NumPy, as it is written: dense data matrix, dense SVD, one sentence after the other, in
double precision. Slow, and the oracle of the fast one."""

from __future__ import annotations

import numpy as np


def data_matrix(sentences):
    """Section IV.A: a row for every prefix of every sentence [l, n], its last word first."""
    n, longest = sentences[0].shape[1], max(map(len, sentences))
    rows = np.zeros((sum(map(len, sentences)), longest * n))
    i = 0
    for words in sentences:
        for t in range(1, len(words) + 1):
            rows[i, : t * n] = words[:t][::-1].ravel()
            i += 1
    return rows


def shifted(rows, sentences):
    """R times rows, eq. 4: every row becomes the one before it in its sentence, the first becomes zero."""
    result = np.zeros_like(rows)
    i = 0
    for words in sentences:
        result[i + 1 : i + len(words)] = rows[i : i + len(words) - 1]
        i += len(words)
    return result


class Autoencoder:
    """A and B of equations 1 and 3, from the SVD truncated at p or at the rank."""

    def __init__(self, sentences, p):
        sentences = [words for words in sentences if len(words)]
        n = sentences[0].shape[1]
        v, s, ut = np.linalg.svd(data_matrix(sentences), full_matrices=False)
        p = min(p, int((s > 1e-10 * s[0]).sum()))
        v, s = v[:, :p], s[:p]
        q = s[:, None] * (shifted(v, sentences).T @ v) / s
        self.A, self.B = ut[:p, :n], q.T

    def hidden(self, words):
        h = np.zeros(len(self.A))
        for x in words:
            h = self.A @ x + self.B @ h
        return h

    def reconstruction(self, words):
        """The mean of the decoded words, section V.B."""
        h = self.hidden(words)
        total = np.zeros(self.A.shape[1])
        for _ in words:
            total += self.A.T @ h
            h = self.B.T @ h
        return total / max(len(words), 1)

    def residual(self, words):
        return mean(words) - self.reconstruction(words)


def mean(words):
    return words.mean(axis=0) if len(words) else np.zeros(words.shape[1])


def directions(sentences):
    """All principal directions of the means, algorithm 1: not centred."""
    return np.linalg.svd(np.array([mean(words) for words in sentences]), full_matrices=False)[2]


def usif(words, unweighted, weights, axes, singular_values):
    """uSIF as its public code computes it, axes and singular values of the chosen components."""
    e = usif_mean(unweighted, weights)
    shares = singular_values**2 / (singular_values**2).sum()
    return e - sum(share * (axis @ e) * axis for share, axis in zip(shares, axes, strict=True))


def usif_mean(unweighted, weights):
    norms = np.linalg.norm(unweighted, axis=0)
    scaled = unweighted / np.where(norms > 0, norms, 1)
    return (scaled * weights[:, None]).mean(axis=0)


def cosine(a, b):
    lengths = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / lengths) if lengths > 1e-12 else 0.0


def agreement(encode, pairs, gold):
    """Pearson's correlation between the cosines of pairs and their gold scores."""
    cosines = [cosine(encode(a), encode(b)) for a, b in pairs]
    return float(np.corrcoef(cosines, gold)[0, 1])
