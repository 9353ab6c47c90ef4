"""Image-caption retrieval in a joint space: projections, ranks and recalls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._extras import require
from ...checks import checked_bool, checked_float, checked_int
from ..data import Split
from .classifiers import check_device
from .early_stopping import train_with_early_stopping
from .intervals import SEED, Interval, percentile_interval, resampled_means
from .validation import check_splits

__all__ = ["Ranking", "Recalls", "Retrieval", "ranks_of", "recalls", "resampled_recalls", "retrieve"]

Embeddings = NDArray[np.float32]
Ranks = NDArray[np.int64]
Progress = Callable[[int, int], None]

_DIRECTIONS = ("i2t", "t2i")
_RECALL_AT = (1, 5, 10)
_FOLD = 1000  # images that are ranked against each other
_BLOCK = 1 << 21  # resampled ranks in a block


@dataclass(frozen=True)
class Ranking:
    """SentEval's ranking: linear projections of images and captions, trained by Adam with a ranking loss.

    The cosine of a caption and its image should exceed the cosines of the image with other captions, and of
    the caption with other images, by `margin`.

    Attributes:
        projdim: Dimensions of the joint space.
        margin: Margin of the cosine.
        ncontrast: Number of negative captions, and of negative images, for each pair of a batch.
        shared: Whether all pairs of a batch share the negatives, which SentEval does not do, but which is
            much faster.
        batch_size: Pairs per step.
        tenacity: How many times the recalls on dev may fail to improve.
        max_epoch: Maximum number of epochs minus 1, as in SentEval.
        seed: Seed of initialisation, batches and negatives.
        device: Device of torch.
    """

    projdim: int = 1000
    margin: float = 0.2
    ncontrast: int = 30
    shared: bool = False
    batch_size: int = 128
    tenacity: int = 3
    max_epoch: int = 20
    seed: int = 1111
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name in ("projdim", "ncontrast", "batch_size"):
            checked_int(name, getattr(self, name), 1)
        for name in ("tenacity", "max_epoch"):
            checked_int(name, getattr(self, name), 0)
        checked_int("seed", self.seed, 0, 2**32 - 1)
        checked_float("margin", self.margin, 0)
        checked_bool("shared", self.shared)
        check_device(self.device)


class Recalls(NamedTuple):
    """Recalls at 1, 5 and 10 of one direction, percent, and the median rank, counted from 1."""

    r1: float
    r5: float
    r10: float
    medr: float


@dataclass(frozen=True, eq=False)
class Retrieval:
    """Retrieval scores by direction: `"i2t"` finds the captions of an image, `"t2i"` the image of a caption.

    Attributes:
        dev_recalls: Best sum of all recalls on dev.
        recalls: Test recalls, means over folds.
        intervals: Confidence intervals by direction and score; images are resampled with their captions.
        ranks: Number of candidates ranked before the first correct one, for each image and each caption.
        nearest: Nearest image of each test caption; among ties not its own.
        epochs: Number of training epochs.
    """

    dev_recalls: float
    recalls: dict[str, Recalls]
    intervals: dict[str, Interval]
    ranks: dict[str, Ranks]
    nearest: NDArray[np.int64]
    epochs: int


def retrieve(
    ranking: Ranking,
    embeddings: Embeddings,
    captions: dict[str, NDArray[np.int64]],
    splits: Mapping[str, Split],
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    on_progress: Progress | None = None,
) -> Retrieval:
    """Train the projections on `"train"` with early stopping on `"dev"`, and rank `"test"`.

    Args:
        ranking: Settings of the projections.
        embeddings: Embeddings of the distinct sentences.
        captions: Indices of each split's captions in `embeddings`.
        splits: Images and features; captions are in the order of their images, equally many per image.
        confidence: Confidence level of the intervals.
        resamples: Number of bootstrap resamples.
        on_progress: Called with the number of finished epochs, and of all.
    """
    check_splits(splits, "dev")
    for name in ("dev", "test"):
        _check_order(name, splits[name])
    widths = {name: _images(split).shape[1] for name, split in splits.items()}
    if len(set(widths.values())) > 1:
        listed = ", ".join(f"{width} in {name}" for name, width in widths.items())
        raise ValueError(f"features of images must have the same dimensions in all splits, got {listed}")
    space = _JointSpace(ranking, widths["train"], embeddings.shape[1])
    labels, images = splits["train"].labels, _images(splits["train"])

    def ranked(split: str) -> tuple[dict[str, Ranks], NDArray[np.int64]]:
        projected = space.images(_images(splits[split])), space.captions(embeddings[captions[split]])
        return ranks_of(*projected)

    epochs = count(1)

    def epoch() -> None:
        space.train(embeddings, captions["train"], images, labels)
        if on_progress:
            on_progress(next(epochs), ranking.max_epoch + 1)

    def score() -> float:
        return sum(sum(direction[:3]) for direction in recalls(ranked("dev")[0]).values())

    bounds = {"epochs": 1, "tenacity": ranking.tenacity, "max_epochs": ranking.max_epoch}
    trained = train_with_early_stopping(epoch, score, space.state, **bounds)
    space.restore(trained.best)
    ranks, nearest = ranked("test")
    intervals = {
        key: percentile_interval(scores[:, 0], confidence)
        for key, scores in resampled_recalls([ranks], resamples).items()
    }
    return Retrieval(trained.score, recalls(ranks), intervals, ranks, nearest, trained.epochs)


def _images(split: Split) -> Embeddings:
    if split.images is None:
        raise ValueError("retrieval requires the features of images: the attribute images of each split")
    return split.images


def _check_order(name: str, split: Split) -> None:
    count = len(_images(split))
    per_image, remainder = divmod(len(split), count)
    if remainder or not per_image or (split.labels != np.repeat(np.arange(count), per_image)).any():
        raise ValueError(
            f"captions of {name} must be in the order of their images, equally many per image; there are "
            f"{len(split)} captions of {count} images"
        )


class _JointSpace:
    """Projections of images and captions, with SentEval's random numbers for the same seed."""

    def __init__(self, ranking: Ranking, image_dim: int, caption_dim: int) -> None:
        self._torch = torch = require("torch", "eval")
        self._ranking = ranking
        self._random = np.random.RandomState(ranking.seed)
        generator = torch.Generator().manual_seed(ranking.seed)
        self._weights = []  # matrix and bias for images, matrix and bias for captions
        for dim in (image_dim, caption_dim):
            for shape in ((ranking.projdim, dim), (ranking.projdim,)):
                weight = torch.empty(shape, dtype=torch.float32)
                weight.uniform_(-(dim**-0.5), dim**-0.5, generator=generator)
                self._weights.append(weight.to(ranking.device).requires_grad_())
        self._optimiser = torch.optim.Adam(self._weights)

    def train(
        self, embeddings: Embeddings, captions: NDArray[np.int64], images: Embeddings, labels: NDArray[Any]
    ) -> None:
        """Train one epoch over all captions."""
        ranking, random = self._ranking, self._random
        order = random.permutation(len(captions))
        size = min(ranking.batch_size, max(1, len(order) // 2))  # leaves negatives outside the batch
        for start in range(0, len(order), size):
            batch = order[start : start + size]
            count = ranking.ncontrast * (1 if ranking.shared else len(batch))
            # Negatives are pairs outside the batch: positions from `start` on skip it.
            positions = [random.randint(0, len(order) - len(batch), count) for _ in range(2)]
            negatives = [order[np.where(p < start, p, p + len(batch))] for p in positions]
            loss = self._loss(
                self._projected(images[labels[batch]], 0),
                self._projected(embeddings[captions[batch]], 2),
                self._projected(images[labels[negatives[0]]], 0),
                self._projected(embeddings[captions[negatives[1]]], 2),
            )
            self._optimiser.zero_grad()
            loss.backward()
            self._optimiser.step()

    def _loss(self, image: Any, caption: Any, images: Any, captions: Any) -> Any:
        """Ranking loss of pairs [B, p] and negatives, [k, p] if shared, else [B k, p]."""
        positive = (image * caption).sum(1, keepdim=True)  # [B, 1]
        cost = 0.0
        for query, negatives in ((image, captions), (caption, images)):
            if self._ranking.shared:
                negative = query @ negatives.T  # [B, k]
            else:
                negative = (negatives.view(len(query), -1, negatives.shape[1]) @ query[:, :, None]).squeeze(2)
            cost = cost + (self._ranking.margin - positive + negative).clamp(min=0).sum()
        return cost

    def _projected(self, rows: Any, side: int) -> Any:
        # A copy: the last digits depend on the alignment, and rows may be a view or a memory map.
        x = self._torch.tensor(np.asarray(rows, dtype=np.float32), device=self._ranking.device)
        projected = self._torch.nn.functional.linear(x, *self._weights[side : side + 2])
        return projected / projected.square().sum(1, keepdim=True).sqrt()

    def images(self, rows: Embeddings) -> Embeddings:
        """Images in the joint space."""
        return self._applied(rows, 0)

    def captions(self, rows: Embeddings) -> Embeddings:
        """Captions in the joint space."""
        return self._applied(rows, 2)

    def _applied(self, rows: Embeddings, side: int) -> Embeddings:
        with self._torch.no_grad():
            blocks = [
                self._projected(rows[i : i + _FOLD], side).cpu().numpy() for i in range(0, len(rows), _FOLD)
            ]
        return np.concatenate(blocks)

    def state(self) -> list[Any]:
        """A copy of the weights."""
        return [weight.detach().clone() for weight in self._weights]

    def restore(self, state: list[Any]) -> None:
        """Restore such a copy."""
        self._weights = state


def ranks_of(images: Embeddings, captions: Embeddings) -> tuple[dict[str, Ranks], NDArray[np.int64]]:
    """Ranks of the correct candidates by inner product with each query.

    Among ties, correct candidates are ranked last, so that a constant embedding gains nothing.

    Args:
        images: Images `(n, p)`, which are ranked in folds of about a thousand.
        captions: Captions `(k n, p)` in the order of their images.

    Returns:
        By direction, the number of candidates before the first correct one; and the nearest image of each
        caption, which is its own if the rank is 0.
    """
    per_image = len(captions) // len(images)
    by_fold: dict[str, list[Ranks]] = {direction: [] for direction in _DIRECTIONS}
    nearest = []
    for fold in _folds(len(images)):
        scores = captions[fold.start * per_image : fold.stop * per_image] @ images[fold].T  # [k m, m]
        correct = np.arange(len(scores)) // per_image
        positive = scores[np.arange(len(scores)), correct]  # [k m]
        ranks = _not_below(scores, positive[:, None]).sum(1) - 1
        by_fold["t2i"].append(ranks)
        best = positive.reshape(-1, per_image).max(1)  # [m]
        above = _not_below(scores, best).sum(0)
        by_fold["i2t"].append(above - _not_below(positive.reshape(-1, per_image), best[:, None]).sum(1))
        scores[np.arange(len(scores)), correct] = -np.inf
        nearest.append(fold.start + np.where(ranks == 0, correct, scores.argmax(1)))
    return {key: np.concatenate(ranks) for key, ranks in by_fold.items()}, np.concatenate(nearest)


def _not_below(scores: Embeddings, bound: Embeddings) -> NDArray[np.bool_]:
    """Scores at or above a bound; NaN counts as above, so that it gains nothing."""
    return ~(scores < bound)


def _folds(images: int) -> list[slice]:
    """Equal parts of about a thousand images, as SentEval's five of 5,000 are."""
    ends = np.linspace(0, images, max(1, images // _FOLD) + 1).astype(int)
    return [slice(*pair) for pair in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]


def recalls(ranks: dict[str, Ranks]) -> dict[str, Recalls]:
    """Mean recalls at 1, 5 and 10 and mean median rank over folds, by direction.

    Args:
        ranks: Ranks of `ranks_of`.
    """
    images = len(ranks["i2t"])
    by_direction = {}
    for direction, all_ranks in ranks.items():
        per_image = len(all_ranks) // images
        folds = [all_ranks[fold.start * per_image : fold.stop * per_image] for fold in _folds(images)]
        means = [np.mean([100 * np.mean(fold < k) for fold in folds]) for k in _RECALL_AT]
        median = np.mean([np.floor(np.median(fold)) + 1 for fold in folds])
        by_direction[direction] = Recalls(*map(float, (*means, median)))
    return by_direction


def resampled_recalls(ranks: Sequence[dict[str, Ranks]], resamples: int) -> dict[str, NDArray[np.float64]]:
    """Recalls and median ranks of several systems on the same resamples of the images.

    Images are resampled with their captions, which are not independent of each other.

    Args:
        ranks: Ranks of each system, as `ranks_of` returns them.
        resamples: Number of resamples.

    Returns:
        Scores `(resamples, systems)` by direction and score.
    """
    images = len(ranks[0]["i2t"])
    scores = {}
    for direction in ranks[0]:
        by_image = np.stack(
            [system[direction].reshape(images, -1) for system in ranks], axis=1
        )  # [m, systems, k]
        for k in _RECALL_AT:
            recalled = (by_image < k).mean(2)
            scores[f"{direction}.r{k}"] = 100 * resampled_means(list(recalled.T), resamples, SEED)
        random = np.random.default_rng(SEED)
        medians = np.zeros((resamples, len(ranks)))
        folds = _folds(images)
        for fold in folds:
            table = by_image[fold]
            block = max(1, _BLOCK // table.size)
            for begin in range(0, resamples, block):
                indices = random.integers(0, len(table), size=(min(block, resamples - begin), len(table)))
                middle = np.median(table[indices], axis=(1, 3))  # [block, systems]
                medians[begin : begin + block] += (np.floor(middle) + 1) / len(folds)
        scores[f"{direction}.medr"] = medians
    return scores
