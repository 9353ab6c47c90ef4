"""Definitions of words, read from WordNet."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from ..errors import FormatError
from ..files import as_path, read_text

__all__ = ["definitions"]

_PARTS = ("noun", "verb", "adj", "adv")
_EXAMPLE = re.compile(r'(?:^|[;:,])\s*"[^"]*"?')
_MARKER = re.compile(r"\((?:a|p|ip)\)$")  # the position of an adjective


def definitions(path: str | os.PathLike[str] | None = None) -> Iterator[tuple[str, str]]:
    """Yield the definitions of WordNet, and the words that they define.

    A definition of several synonyms is yielded once for each. Examples, which are in quotes, are left out.

    Args:
        path: A data file of WordNet, such as data.noun, or the folder of data.noun, data.verb, data.adj and
            data.adv. None: the folder that the variable WNSEARCHDIR of the environment names, else that of
            Debian's package wordnet-base, /usr/share/wordnet.

    Yields:
        Pairs of a definition and a word, whose parts are separated by spaces.

    Raises:
        FileNotFoundError: There is no such file.
        FormatError: A line is not an entry of WordNet.

    Example:
        >>> import pathlib, tempfile
        >>> entry = '02121620 05 n 02 cat 0 true_cat 0 001 @ 02120997 n 0000 | feline mammal; "a cat purred"'
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "data.noun")
        ...     _ = file.write_text(entry)
        ...     list(definitions(file))
        [('feline mammal', 'cat'), ('feline mammal', 'true cat')]
    """
    source = as_path(os.environ.get("WNSEARCHDIR", "/usr/share/wordnet") if path is None else path)
    if path is None and not source.is_dir():
        message = "WordNet is not installed: apt install wordnet-base, or pass its folder or a data file"
        raise FileNotFoundError(2, message, str(source))
    for file in [source / f"data.{part}" for part in _PARTS] if source.is_dir() else [source]:
        for number, line in enumerate(read_text(file).splitlines(), 1):
            if not line or line.startswith("  "):  # the licence
                continue
            try:
                yield from _entry(line)
            except (ValueError, IndexError):
                raise FormatError(
                    f"{file}, line {number}: not an entry of WordNet, as in "
                    f"'02121620 05 n 01 cat 0 000 | feline mammal', got {line!r:.60}"
                ) from None


def _entry(line: str) -> Iterator[tuple[str, str]]:
    # offset, file, type, number of words (hexadecimal), words and their ids, pointers | definition; examples
    fields, bar, gloss = line.partition(" | ")
    columns = fields.split()
    words = columns[4 : 4 + 2 * int(columns[3], 16) : 2]
    if not bar or not columns[0].isdigit() or len(words) < int(columns[3], 16):
        raise ValueError
    definition = _EXAMPLE.sub("", gloss).strip(" ;")
    for word in words if definition else ():
        yield definition, _MARKER.sub("", word).replace("_", " ")
