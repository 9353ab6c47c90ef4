"""What a student gains by seeing more of a sentence than the mean of its words.

A student is distilled in closed form. Then ridge regression adds features of the words' vectors, in their
order, to its embedding, so that the sum is nearer to the teacher's. The penalty is chosen by the cosine with
the teacher of held-out sentences. [mean; max] is no sum: both are given to the classifier. Convolutions are
trained, too, and so is the student's table: by gradients of the cosine, or of the difference from the
teacher's similarity of a sentence and one of its nearest neighbours.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from common import data_argument, machine, say, write_json

import sentencode as se
from sentencode.distill import teacher_named
from sentencode.evaluation import Decontaminator
from sentencode.reproduce.evaluator import Evaluator, headlines, tasks_there
from sentencode.text.tokenizer import Tokenizer
from sentencode.vectors.distillation import _sample, teacher_rows

TASKS = (
    "STSBenchmarkCosine",
    "SICKCosine",
    "STS12",
    "STS13",
    "STS14",
    "STS15",
    "MR",
    "TREC",
    "SICKEntailment",
)
YEARS = ("STS12", "STS13", "STS14", "STS15")
QUESTION = ("what", "who", "whose", "whom", "when", "where", "why", "which", "how", "name")
PAIRS = 1500  # the most frequent pairs of a question word and the word after it
CONVOLUTIONS = 1024
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
BATCH = 2048
EPOCHS = 4
NEIGHBOURS = 8


class Words:
    """The words of sentences: vectors [n, d], and where each sentence begins."""

    def __init__(self, vectors: se.WordVectors, table: np.ndarray, texts: list[str]) -> None:
        split = Tokenizer("punctuation", lowercase=True)(texts)
        known = [[word for word in words if word in vectors] or ["."] for words in split]
        self.words = known
        self.lengths = np.array([len(words) for words in known])
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)[:-1]])
        self.ends = self.starts + self.lengths - 1
        index = vectors.words.index
        ids = {word: index(word) for words in known for word in words}
        self.ids = [ids[word] for words in known for word in words]
        self.vectors = table[self.ids]

    def mean(self, values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values, self.starts) / self.lengths[:, None]

    def next(self) -> np.ndarray:
        """The vector of the next word, zero after the last one."""
        following = np.roll(self.vectors, -1, axis=0)
        following[self.ends] = 0
        return following


Features = Callable[[Words], np.ndarray]


def first_and_last(w: Words) -> np.ndarray:
    return np.hstack([w.vectors[w.starts], w.vectors[w.ends]])


def max_and_min(w: Words) -> np.ndarray:
    return np.hstack([np.maximum.reduceat(w.vectors, w.starts), np.minimum.reduceat(w.vectors, w.starts)])


def neighbours(w: Words) -> np.ndarray:
    return w.mean(w.vectors * w.next())


def products(dim: int) -> Features:
    """Products of two random maps of the mean."""
    maps = np.random.default_rng(0).standard_normal((2, dim, CONVOLUTIONS), dtype=np.float32)

    def features(w: Words) -> np.ndarray:
        mean = w.mean(w.vectors)
        mean /= np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-9)
        return (mean @ maps[0]) * (mean @ maps[1])

    return features


def convolutions(dim: int) -> Features:
    """The mean of tanh of a random map of three words in a row."""
    random = np.random.default_rng(0)
    maps = random.standard_normal((3, dim, CONVOLUTIONS), dtype=np.float32) / np.sqrt(3 * dim).astype(
        np.float32
    )

    def features(w: Words) -> np.ndarray:
        scale = 1 / np.sqrt(np.mean(w.vectors**2))
        before = np.roll(w.vectors, 1, axis=0)
        before[w.starts] = 0
        parts = zip((before, w.vectors, w.next()), maps, strict=True)
        return w.mean(np.tanh(scale * sum(part @ one for part, one in parts)))

    return features


def question_words(texts: list[str]) -> Features:
    """A column for each question word, and for each of its frequent pairs with the next word."""

    def keys(words: list[str]) -> list[str]:
        found = []
        for i, word in enumerate(words):
            if word in QUESTION:
                found += [word, " ".join(words[i : i + 2])]
                break
        return found

    split = Tokenizer("punctuation", lowercase=True)(texts)
    counts = Counter(key for words in split for key in keys(words))
    columns = {key: i for i, (key, _) in enumerate(counts.most_common(PAIRS))}

    def features(w: Words) -> np.ndarray:
        out = np.zeros((len(w.words), len(columns)), np.float32)
        for i, words in enumerate(w.words):
            for key in keys(words):
                if key in columns:
                    out[i, columns[key]] = 1
        return out

    return features


def ridge(
    features: np.ndarray, residual: np.ndarray, target: np.ndarray, base: np.ndarray
) -> tuple[np.ndarray, float]:
    """The map of the features, and the mean cosine of held-out sentences."""
    held_out = np.arange(len(features)) % 20 == 0
    x, y = features[~held_out], residual[~held_out]
    gram, right = x.T @ x, x.T @ y
    scale = np.trace(gram) / len(gram)
    best: tuple[float, np.ndarray] = (-1.0, np.zeros(0))
    for penalty in PENALTIES:
        solution = np.linalg.solve(gram + penalty * scale * np.eye(len(gram), dtype=np.float32), right)
        score = cosine(base[held_out] + features[held_out] @ solution, target[held_out])
        best = max(best, (score, solution), key=lambda one: one[0])
    return best[1], best[0]


class Trained(torch.nn.Module):
    """The mean of a sentence's words, whose table is trained; or the mean, and trained convolutions.

    Args:
        table: Word vectors [V, d].
        layers: Layers of convolutions of three words that are trained; 0: the table is trained.
    """

    def __init__(self, table: np.ndarray, layers: int) -> None:
        super().__init__()
        self.pad, dim, width = len(table), table.shape[1], CONVOLUTIONS // 2
        scale = 1 / np.sqrt(np.mean(table**2))  # elements of about 1, as tanh and the rate expect
        padded = torch.tensor(np.vstack([scale * table, np.zeros_like(table[:1])]))
        self.words = torch.nn.Embedding.from_pretrained(padded, freeze=layers > 0, padding_idx=self.pad)
        self.convolutions = torch.nn.ModuleList(
            torch.nn.Conv1d(width if i else dim, width, 3, padding=1) for i in range(layers)
        )
        self.out = torch.nn.Linear(width, dim)
        torch.nn.init.zeros_(self.out.weight)

    def forward(self, w: Words) -> torch.Tensor:
        ids = torch.full((len(w.words), int(w.lengths.max())), self.pad)
        mask = torch.arange(ids.shape[1]) < torch.tensor(w.lengths)[:, None]
        ids[mask] = torch.tensor(w.ids)
        lengths = torch.tensor(w.lengths, dtype=torch.float32)[:, None]
        x = self.words(ids)  # [B, L, d]
        mean = x.sum(1) / lengths
        if not self.convolutions:
            return mean
        states = x
        for convolution in self.convolutions:
            states = torch.tanh(convolution(states.mT)).mT * mask[..., None]  # [B, L, C]
        return mean + self.out(states.sum(1) / lengths)

    def fit(
        self,
        words_of: Callable[[list[str]], Words],
        texts: list[str],
        target: np.ndarray,
        neighbours: bool,
    ) -> float:
        """Train on 19 of 20 sentences, by the cosine or by neighbours. Returns the others' mean cosine."""
        held_out = np.arange(len(texts)) % 20 == 0
        train = np.flatnonzero(~held_out)
        near = nearest(target, train) if neighbours else None
        train = train[np.argsort([len(texts[i]) for i in train], kind="stable")]
        batches = np.array_split(train, len(train) // 128)
        optimizer = torch.optim.Adam([p for p in self.parameters() if p.requires_grad], 1e-3)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total_steps=EPOCHS * len(batches))
        order = np.random.default_rng(0)
        for _ in range(EPOCHS):
            for i in order.permutation(len(batches)):
                rows = self(words_of([texts[k] for k in batches[i]]))
                aim = torch.tensor(target[batches[i]])
                if near is None:
                    loss = 1 - torch.nn.functional.cosine_similarity(rows, aim).mean()
                else:
                    other = near[batches[i], order.integers(NEIGHBOURS, size=len(aim))]
                    theirs = self(words_of([texts[k] for k in other]))
                    aim = (aim * torch.tensor(target[other])).sum(1)
                    loss = (torch.nn.functional.cosine_similarity(rows, theirs) - aim).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
        others = [texts[k] for k in np.flatnonzero(held_out)]
        return cosine(Encoder(words_of, self.embed).encode(others), target[held_out])

    @torch.no_grad()
    def embed(self, w: Words) -> np.ndarray:
        return self(w).numpy()


def nearest(target: np.ndarray, train: np.ndarray) -> np.ndarray:
    """The neighbours [n, NEIGHBOURS] of the training sentences among themselves, by the teacher's cosine."""
    found = np.zeros((len(target), NEIGHBOURS), np.int64)
    of, top = torch.tensor(target[train]), NEIGHBOURS + 1  # itself is one
    for rows in np.array_split(np.arange(len(train)), -(-len(train) // BATCH)):
        found[train[rows]] = train[(of[rows] @ of.T).topk(top).indices[:, 1:].numpy()]
    return found


def cosine(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(np.sum(x * y, 1) / (np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1) + 1e-9)))


class Encoder:
    """The student's mean, with features."""

    def __init__(self, words_of: Callable[[list[str]], Words], embed: Callable[[Words], np.ndarray]) -> None:
        self.words_of, self.embed = words_of, embed

    def encode(self, sentences, **_) -> np.ndarray:
        return np.vstack(
            [
                self.embed(self.words_of(list(sentences[i : i + BATCH])))
                for i in range(0, len(sentences), BATCH)
            ]
        ).astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data_argument(parser)
    parser.add_argument("--teacher", required=True, help="a model of sentence-transformers")
    parser.add_argument("--text", required=True, help="a file of sentences")
    parser.add_argument("--sentences", type=int, default=28 * BATCH)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    say(machine())
    evaluator = Evaluator(tasks=tasks_there(TASKS, args.data / "senteval"))
    texts = list(Decontaminator(evaluator.tasks)(dict.fromkeys(se.Corpus(args.text))))
    texts = _sample(texts, args.sentences)
    teacher = teacher_named(args.teacher, bfloat16=True)
    target = teacher_rows(teacher, texts)
    target = target / np.linalg.norm(target, axis=1, keepdims=True)
    vectors = se.WordVectors.distill(teacher, texts, tokenizer="punctuation")
    table = vectors.matrix(vectors.words)

    def words_of(some: list[str]) -> Words:
        return Words(vectors, table, some)

    every = words_of(texts)
    base = every.mean(every.vectors)
    scale = np.sum(base * target) / np.sum(base * base)  # the nearest multiple
    rows = {"student": (lambda w: w.mean(w.vectors), cosine(base[::20], target[::20]))}
    for name, features in {
        "first and last word": first_and_last,
        "maximum and minimum": max_and_min,
        "products of neighbours": neighbours,
        "products of the mean": products(table.shape[1]),
        "random convolutions of three words": convolutions(table.shape[1]),
        "question words and their neighbours": question_words(texts),
    }.items():
        values = features(every)
        solution, score = ridge(values, target - scale * base, target, scale * base)
        rows[name] = (
            lambda w, f=features, s=solution: scale * w.mean(w.vectors) + f(w) @ s,
            score,
        )
    for name, layers, by_neighbours in (
        ("trained convolutions of three words", 1, False),
        ("two layers of trained convolutions", 2, False),
        ("a table trained by cosine", 0, False),
        ("a table trained by similarities of neighbours", 0, True),
    ):
        torch.manual_seed(0)
        model = Trained(table, layers)
        rows[name] = (model.embed, model.fit(words_of, texts, target, by_neighbours))
    rows["[mean; max]"] = (
        lambda w: np.hstack([w.mean(w.vectors), np.maximum.reduceat(w.vectors, w.starts)]),
        None,
    )
    results = []
    folder = Path(tempfile.mkdtemp())
    for name, (embed, held_out) in rows.items():
        encoder = Encoder(words_of, embed)
        report = evaluator(encoder, name, evaluator.tasks, folder / f"{name}.json", tokens=False)
        scores = {task: score["value"] for task, score in headlines(report).items()}
        scores["years"] = float(np.mean([scores.pop(year) for year in YEARS]))
        results.append({"row": name, "cosine": held_out, **scores})
        say(f"{name}: held-out cosine {held_out}, " + ", ".join(f"{k} {v:.1f}" for k, v in scores.items()))
    write_json(args.json, results=results)


if __name__ == "__main__":
    main()
