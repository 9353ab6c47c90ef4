"""The encoders by the equations of their papers, one sentence at a time, in float64."""

from __future__ import annotations

import numpy as np


def words_of(vectors, weights, sentence):
    """x_1 ... x_l: the weighted vectors of the known words."""
    known = [w for w in sentence.split() if w in vectors]
    rows = np.array([vectors[w].astype(np.float64) for w in known]).reshape(-1, vectors.dim)
    return rows * np.array([weights[w] for w in known]).reshape(-1, 1)


def probabilities(vectors):
    return dict(zip(vectors.words, vectors.counts / vectors.counts.sum(), strict=True))


def sif_weights(vectors, a):
    return {w: 1.0 if a is None else a / (a + p) for w, p in probabilities(vectors).items()}


def usif_weights(vectors, length):
    p = probabilities(vectors)
    threshold = 1 - (1 - 1 / len(p)) ** length
    alpha = sum(q > threshold for q in p.values()) / len(p)
    a = (1 - alpha) / (alpha * len(p) / 2)
    return {w: a / (a / 2 + q) for w, q in p.items()}


def mean(x):
    return x.mean(0) if len(x) else np.zeros(x.shape[1])


def normalised_mean(x, weights_column):
    """As in the public code of uSIF: divide dimensions by their norm in the sentence, then weight words."""
    if not len(x):
        return np.zeros(x.shape[1])
    norms = np.linalg.norm(x, axis=0)
    return (np.divide(x, norms, out=np.zeros_like(x), where=norms > 0) * weights_column).mean(0)


def leading_directions(means, count):
    """Right singular vectors of the embeddings, and singular values."""
    _, s, vt = np.linalg.svd(means, full_matrices=False)
    return vt[:count], s[:count]


def data_matrix(data):
    """Xi: one row for each prefix of each sentence, last word first."""
    n, longest = data[0].shape[1], max(map(len, data))
    rows = []
    for x in data:
        for t in range(1, len(x) + 1):
            rows.append(np.concatenate([x[:t][::-1].ravel(), np.zeros((longest - t) * n)]))
    return np.array(rows)


def autoencoder(data, p):
    """A = U_1^T and B = Q^T with Q = S V^T R^T V S^-1, from the singular value decomposition of Xi, as in the
    paper."""
    v, s, ut = np.linalg.svd(data_matrix(data), full_matrices=False)
    v, s, u = v[:, :p], s[:p], ut[:p].T
    shifted = np.zeros_like(v)
    first = 0
    for x in data:
        shifted[first + 1 : first + len(x)] = v[first : first + len(x) - 1]
        first += len(x)
    return u[: data[0].shape[1]].T, ((s[:, None] * (shifted.T @ v)) / s[None, :]).T, s


def state(x, a, b):
    h = np.zeros(len(a))
    for word in x:
        h = a @ word + b @ h
    return h


def reconstructions(h, a, b, length):
    words = []
    for _ in range(length):
        words.append(a.T @ h)
        h = b.T @ h
    return np.array(words[::-1]).reshape(length, a.shape[1])


def embedding(x, a, b, mode):
    if mode == "hidden":
        return state(x, a, b)
    if not len(x):
        return np.zeros(x.shape[1])
    again = reconstructions(state(x, a, b), a, b, len(x)).mean(0)
    return again if mode == "reconstruction" else x.mean(0) - again
