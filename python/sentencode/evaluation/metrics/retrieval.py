"""Images of captions and captions of images, found in a space that both are projected into."""

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
from .classifiers import check_device, check_splits
from .early_stopping import train_until_no_better
from .intervals import SEED, Interval, percentile_interval, resampled_means

__all__ = ["Found", "Ranking", "Recalls", "ranks_of", "recalls", "resampled_recalls", "retrieve"]

Rows = NDArray[np.float32]
Ranks = NDArray[np.int64]
Progress = Callable[[int, int], None]

_DIRECTIONS = ("i2t", "t2i")
_AT = (1, 5, 10)
_FOLD = 1000  # images that are ranked against each other
_DRAWS_AT_ONCE = 1 << 21  # ranks of resamples


@dataclass(frozen=True)
class Ranking:
    """SentEval's ranking: linear projections of images and captions, trained by Adam on a ranking loss.

    A caption shall be nearer to its image, by `margin` of the cosine, than other captions are to the image
    and other images to the caption.

    Attributes:
        projdim: The width of the common space.
        margin: By how much.
        ncontrast: Other captions, and other images, for each pair of a batch.
        shared: Whether all pairs of a batch have the same ones: not what the original does, but much less to
            compute.
        batch_size: Pairs a step.
        tenacity: How many times the recalls on dev may fail to rise.
        max_epoch: One epoch more than this is the most, as in the original.
        seed: Of everything random.
        device: Where torch computes.
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
    """How well one direction is ranked, percent, and the median rank, counted from 1."""

    r1: float
    r5: float
    r10: float
    medr: float


@dataclass(frozen=True, eq=False)
class Found:
    """What was found, by direction: `"i2t"`, captions of an image, and `"t2i"`, the image of a caption.

    Attributes:
        dev: The sum of all recalls on dev, at its best.
        recalls: On test, means over its folds.
        intervals: For other images of the same kind, each with its captions; by direction and figure.
        ranks: How many candidates stand before the first right one: of each image, of each caption.
        first: The image that each caption of test is nearest to.
        epochs: How long was trained.
    """

    dev: float
    recalls: dict[str, Recalls]
    intervals: dict[str, Interval]
    ranks: dict[str, Ranks]
    first: NDArray[np.int64]
    epochs: int


def retrieve(
    ranking: Ranking,
    rows: Rows,
    places: dict[str, NDArray[np.int64]],
    splits: Mapping[str, Split],
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    on_progress: Progress | None = None,
) -> Found:
    """Learns the projections from `"train"`, stops by `"dev"`, and ranks `"test"`.

    Args:
        ranking: How.
        rows: Of the distinct sentences.
        places: Of each split, the row of each caption.
        splits: The captions' images, and the features of these; captions stand in the order of their images,
            equally many an image.
        confidence: Of the intervals.
        resamples: Of the bootstrap.
        on_progress: Called with the number of epochs that are over, and of all.

    Returns:
        What was found.

    Raises:
        ValueError: A split is missing, its captions are in another order, or its images have features of
            another width.
    """
    check_splits(splits, "dev")
    for name in ("dev", "test"):
        _check_order(name, splits[name])
    widths = {name: _images(split).shape[1] for name, split in splits.items()}
    if len(set(widths.values())) > 1:
        listed = ", ".join(f"{width} in {name}" for name, width in widths.items())
        raise ValueError(f"features of images must be equally wide, there are {listed}")
    space = _Space(ranking, widths["train"], rows.shape[1])
    labels, images = splits["train"].labels, _images(splits["train"])

    def ranked(split: str) -> tuple[dict[str, Ranks], NDArray[np.int64]]:
        return ranks_of(space.of_images(_images(splits[split])), space.of_captions(rows[places[split]]))

    begun = count(1)

    def epoch() -> None:
        space.train(rows, places["train"], images, labels)
        if on_progress:
            on_progress(next(begun), ranking.max_epoch + 1)

    def score() -> float:
        return sum(sum(one[:3]) for one in recalls(ranked("dev")[0]).values())

    bounds = {"epochs": 1, "tenacity": ranking.tenacity, "most": ranking.max_epoch}
    found = train_until_no_better(epoch, score, space.state, **bounds)
    space.restore(found.best)
    ranks, first = ranked("test")
    intervals = {
        key: Interval(*percentile_interval(drawn[:, 0], confidence))
        for key, drawn in resampled_recalls([ranks], resamples).items()
    }
    return Found(found.score, recalls(ranks), intervals, ranks, first, found.epochs)


def _images(split: Split) -> Rows:
    if split.images is None:
        raise ValueError("tasks of retrieval need features of images: the attribute images of each split")
    return split.images


def _check_order(name: str, split: Split) -> None:
    count = len(_images(split))
    each, rest = divmod(len(split), count)
    if rest or not each or (split.labels != np.repeat(np.arange(count), each)).any():
        raise ValueError(
            f"captions of {name} must stand in the order of their images, equally many of each; there are "
            f"{len(split)} of {count} images"
        )


class _Space:
    """The two projections.

    They begin, and draw, as the original's do with the same seed.
    """

    def __init__(self, ranking: Ranking, image_dim: int, caption_dim: int) -> None:
        self._torch = torch = require("torch", "eval")
        self._ranking = ranking
        self._random = np.random.RandomState(ranking.seed)
        begin = torch.Generator().manual_seed(ranking.seed)
        self._weights = []  # of images: matrix and bias; of captions: the same
        for dim in (image_dim, caption_dim):
            for shape in ((ranking.projdim, dim), (ranking.projdim,)):
                drawn = torch.empty(shape, dtype=torch.float32)
                drawn.uniform_(-(dim**-0.5), dim**-0.5, generator=begin)
                self._weights.append(drawn.to(ranking.device).requires_grad_())
        self._optimiser = torch.optim.Adam(self._weights)

    def train(self, rows: Rows, places: NDArray[np.int64], images: Rows, labels: NDArray[Any]) -> None:
        """One epoch over all captions."""
        ranking, random = self._ranking, self._random
        order = random.permutation(len(places))
        size = min(ranking.batch_size, max(1, len(order) // 2))  # there must be others
        for start in range(0, len(order), size):
            batch = order[start : start + size]
            count = ranking.ncontrast * (1 if ranking.shared else len(batch))
            # Any pairs but those of the batch: the numbers from `start` on stand for those behind it.
            drawn = [random.randint(0, len(order) - len(batch), count) for _ in range(2)]
            other = [order[np.where(one < start, one, one + len(batch))] for one in drawn]
            loss = self._loss(
                self._projected(images[labels[batch]], 0),
                self._projected(rows[places[batch]], 2),
                self._projected(images[labels[other[0]]], 0),
                self._projected(rows[places[other[1]]], 2),
            )
            self._optimiser.zero_grad()
            loss.backward()
            self._optimiser.step()

    def _loss(self, image: Any, caption: Any, images: Any, captions: Any) -> Any:
        """The ranking loss of pairs [B, p] and others, [k, p] for all of them or [B k, p]."""
        near = (image * caption).sum(1, keepdim=True)  # [B, 1]
        cost = 0.0
        for query, others in ((image, captions), (caption, images)):
            if self._ranking.shared:
                far = query @ others.T  # [B, k]
            else:
                far = (others.view(len(query), -1, others.shape[1]) @ query[:, :, None]).squeeze(2)
            cost = cost + (self._ranking.margin - near + far).clamp(min=0).sum()
        return cost

    def _projected(self, rows: Any, side: int) -> Any:
        # Copied: the last digits depend on where memory begins, and rows may be a part of others, or mapped.
        x = self._torch.tensor(np.asarray(rows, dtype=np.float32), device=self._ranking.device)
        projected = self._torch.nn.functional.linear(x, *self._weights[side : side + 2])
        return projected / projected.square().sum(1, keepdim=True).sqrt()

    def of_images(self, rows: Rows) -> Rows:
        """Images in the common space."""
        return self._applied(rows, 0)

    def of_captions(self, rows: Rows) -> Rows:
        """Captions in the common space."""
        return self._applied(rows, 2)

    def _applied(self, rows: Rows, side: int) -> Rows:
        with self._torch.no_grad():
            blocks = [
                self._projected(rows[i : i + _FOLD], side).cpu().numpy() for i in range(0, len(rows), _FOLD)
            ]
        return np.concatenate(blocks)

    def state(self) -> list[Any]:
        """A copy of the weights."""
        return [weight.detach().clone() for weight in self._weights]

    def restore(self, state: list[Any]) -> None:
        """Takes such a copy back."""
        self._weights = state


def ranks_of(images: Rows, captions: Rows) -> tuple[dict[str, Ranks], NDArray[np.int64]]:
    """Where the right ones stand when candidates are sorted by their inner product with a query.

    Of equal candidates the right ones come last: an encoder that tells nothing apart gains nothing.

    Args:
        images: `(n, p)`. They are ranked in folds of about a thousand, as many folds as there are thousands.
        captions: `(k n, p)`, those of an image together, in the order of the images.

    Returns:
        By direction, how many candidates stand before the first right one; and the image that each caption is
        nearest to.

    Example:
        >>> import numpy as np
        >>> images = np.eye(2, dtype=np.float32)
        >>> captions = np.array([[2, 1], [1, 3], [0, 2], [0, 0]], dtype=np.float32)
        >>> ranks, first = ranks_of(images, captions)
        >>> ranks["i2t"], ranks["t2i"], first
        (array([0, 1]), array([0, 1, 0, 1]), array([0, 1, 1, 0]))
    """
    each = len(captions) // len(images)
    found: dict[str, list[Ranks]] = {direction: [] for direction in _DIRECTIONS}
    first = []
    for fold in _folds(len(images)):
        scores = captions[fold.start * each : fold.stop * each] @ images[fold].T  # [k m, m]
        right = np.arange(len(scores)) // each
        own = scores[np.arange(len(scores)), right]  # [k m]
        found["t2i"].append(_not_below(scores, own[:, None]).sum(1) - 1)
        best = own.reshape(-1, each).max(1)  # [m]
        above = _not_below(scores, best).sum(0)
        found["i2t"].append(above - _not_below(own.reshape(-1, each), best[:, None]).sum(1))
        first.append(fold.start + scores.argmax(1))
    return {direction: np.concatenate(ranks) for direction, ranks in found.items()}, np.concatenate(first)


def _not_below(scores: Rows, bound: Rows) -> NDArray[np.bool_]:
    """What is not a number is not below either, so that nothing is gained by it."""
    return ~(scores < bound)


def _folds(images: int) -> list[slice]:
    """Equal parts of about a thousand images, as SentEval's five of 5,000 are."""
    ends = np.linspace(0, images, max(1, images // _FOLD) + 1).astype(int)
    return [slice(*pair) for pair in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]


def recalls(ranks: dict[str, Ranks]) -> dict[str, Recalls]:
    """The means over folds of the recalls at 1, 5 and 10 and of the median rank.

    Args:
        ranks: By direction, as `ranks_of` gives them.

    Returns:
        By direction.

    Example:
        >>> import numpy as np
        >>> recalls({"i2t": np.array([0, 3, 7, 40])})["i2t"]
        Recalls(r1=25.0, r5=50.0, r10=75.0, medr=6.0)
    """
    images = len(ranks["i2t"])
    found = {}
    for direction, all_ranks in ranks.items():
        each = len(all_ranks) // images
        folds = [all_ranks[fold.start * each : fold.stop * each] for fold in _folds(images)]
        shares = [np.mean([100 * np.mean(fold < k) for fold in folds]) for k in _AT]
        medians = np.mean([np.floor(np.median(fold)) + 1 for fold in folds])
        found[direction] = Recalls(*map(float, (*shares, medians)))
    return found


def resampled_recalls(ranks: Sequence[dict[str, Ranks]], resamples: int) -> dict[str, NDArray[np.float64]]:
    """The recalls and median ranks of several systems on images that are drawn with replacement.

    Each is drawn with its captions: what one image's captions say is much the same. All systems have the same
    draws.

    Args:
        ranks: Of each system, as `ranks_of` gives them.
        resamples: How often.

    Returns:
        By direction and figure, `(resamples, systems)`.

    Example:
        >>> import numpy as np
        >>> ranks = {"i2t": np.array([0, 3, 7, 40])}
        >>> found = resampled_recalls([ranks], 50)
        >>> found["i2t.r1"].shape, sorted(set(found["i2t.r10"][:, 0].tolist()))[-1]
        ((50, 1), 100.0)
    """
    images = len(ranks[0]["i2t"])
    found = {}
    for direction in ranks[0]:
        by_image = np.stack([one[direction].reshape(images, -1) for one in ranks], axis=1)  # [m, systems, k]
        for k in _AT:
            shares = (by_image < k).mean(2)
            found[f"{direction}.r{k}"] = 100 * resampled_means(list(shares.T), resamples, SEED)
        random = np.random.default_rng(SEED)
        medians = np.zeros((resamples, len(ranks)))
        folds = _folds(images)
        for fold in folds:
            table = by_image[fold]
            block = max(1, _DRAWS_AT_ONCE // table.size)
            for begin in range(0, resamples, block):
                drawn = random.integers(0, len(table), size=(min(block, resamples - begin), len(table)))
                middle = np.median(table[drawn], axis=(1, 3))  # [block, systems]
                medians[begin : begin + block] += (np.floor(middle) + 1) / len(folds)
        found[f"{direction}.medr"] = medians
    return found
