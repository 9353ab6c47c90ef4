"""HTML, escaped by construction."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TypeAlias

__all__ = ["Child", "Markup", "element"]

_VOID = frozenset({"img", "input", "meta"})


class Markup(str):
    """Text that is markup already; any other text is escaped where it is put into an element."""


Child: TypeAlias = "str | Iterable[Child] | None"


def element(name: str, /, *children: Child, **attributes: str | float | None) -> Markup:
    """An element.

    Args:
        name: Its tag.
        *children: Markup, text, or several of these; None is nothing.
        **attributes: None leaves one out. `class_` is `class`, `aria_label` is `aria-label`.

    Returns:
        The element.
    """
    attribute_text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{attribute_text}>")
    return Markup(f"<{name}{attribute_text}>{''.join(_flat(children))}</{name}>")


def _text(value: str | float) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _flat(children: Iterable[Child]) -> Iterable[str]:
    for child in children:
        if isinstance(child, Markup):
            yield child
        elif isinstance(child, str):
            yield escape(child, quote=False)
        elif child is not None:
            yield from _flat(child)
