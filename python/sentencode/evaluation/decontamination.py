"""Training text without the sentences of the tasks that its encoder is evaluated on."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator

from ..text.split_sentences import split_sentences
from .data import Task

__all__ = ["Decontaminator"]

_NO_LETTER_OR_DIGIT = re.compile(r"[\W_]+")


class Decontaminator:
    """Removes the sentences of tasks from text.

    Sentences are compared by their letters and digits only (NFKC, without case), because tasks are tokenized
    and lower-cased in many ways; of tab-separated columns, the last one. All splits count, the training split
    too. Of articles and reviews, whose text is not tokenized, the sentences that `split_sentences` finds are
    removed as well.

    Args:
        tasks: Tasks, as returned by `load_task`.

    Attributes:
        seen: Number of texts so far.
        removed: Number of texts so far that were removed.
        by_task: The same for each task. A text in several tasks counts for each.

    Example:
        >>> from sentencode.evaluation import Decontaminator, Kind, Split, Task
        >>> split = Split((["A dog runs .", "Two men sit ."], ["It sleeps .", "Men are sitting ."]), [1, 4.5])
        >>> clean = Decontaminator([Task("MyPairs", {"test": split}, Kind("similarity", pairs=True))])
        >>> list(clean(["a dog runs", "A dog runs home.", "Men are sitting!"]))
        ['A dog runs home.']
        >>> clean.removed, clean.by_task["MyPairs"]
        (2, 2)
    """

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._names: list[str] = []
        self._tasks: dict[str, int] = {}  # normalized sentence -> bits of the tasks that it is in
        for bit, task in enumerate(tasks):
            self._names.append(task.name)
            for split in task.splits.values():
                texts = {text for side in split.sentences for text in side}
                if not task.kind.tokenized:  # articles and reviews: their sentences, too
                    texts.update(sentence for text in tuple(texts) for sentence in split_sentences(text))
                for text in texts:
                    key = _normalized(text)
                    self._tasks[key] = self._tasks.get(key, 0) | 1 << bit
        self._tasks.pop("", None)
        self.seen = self.removed = 0
        self.by_task: Counter[str] = Counter()

    def __len__(self) -> int:
        """Number of distinct sentences of the tasks."""
        return len(self._tasks)

    def __contains__(self, text: str) -> bool:
        """Whether the text is a sentence of a task."""
        return _normalized(text) in self._tasks

    def __call__(self, texts: Iterable[str]) -> Iterator[str]:
        """Yield the texts that are no sentences of the tasks."""
        for text in texts:
            self.seen += 1
            tasks = self._tasks.get(_normalized(text), 0)
            if not tasks:
                yield text
                continue
            self.removed += 1
            self.by_task.update(name for bit, name in enumerate(self._names) if tasks >> bit & 1)


def _normalized(text: str) -> str:
    last = text.rpartition("\t")[2]
    return _NO_LETTER_OR_DIGIT.sub("", unicodedata.normalize("NFKC", last).casefold())
