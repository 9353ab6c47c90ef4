"""Model cards of exported encoders."""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["BUILT_IN", "FACTS", "checked_facts", "model_card"]

# What the author knows: keys of `card`, and their headings.
FACTS = {
    "name": "Name",
    "license": "Licence",
    "language": "Language",
    "teacher": "Teacher",
    "sentences": "Sentences that it was fitted to",
    "scores": "Scores",
    "limits": "Limits",
}

# Pearson's correlation, times 100, of the plain average of the built-in vectors on test sets, with 95 %
# intervals. This is the table in docs/default_vectors.md.
_SCORES: dict[str, float | tuple[float, float, float]] = {
    "SICK": (78.5, 77.3, 79.7),
    "STSBenchmark": (75.5, 73.1, 77.7),
    "STS12": (65.7, 63.0, 68.2),
    "STS13": (72.8, 70.4, 74.9),
    "STS14": (75.9, 74.4, 77.3),
    "STS15": (77.8, 76.2, 79.2),
    "mean of STS12 to STS15": 73.0,
}

# What docs/default_vectors.md says of the built-in word vectors. SIF and USIF with these vectors have the
# same facts, so the scores and limits name the vectors.
BUILT_IN: dict[str, Any] = {
    "license": "apache-2.0",
    "language": "en",
    "teacher": "sentence-transformers/all-MiniLM-L6-v2",
    "sentences": "Word vectors: 199,998 sentences of Wikipedia, public-domain books and captions of COCO.",
    "scores": {f"{task} (Pearson x 100, average of the vectors)": score for task, score in _SCORES.items()},
    "limits": (
        "Word vectors: English, lower-cased. Their average ignores the order of words, and a negation is one "
        "word among others. Question words have small weights, so the vectors classify questions less well. "
        "They contain the biases of the teacher and of its text: do not use them for decisions about people."
    ),
}

_LOAD = {
    "model2vec": "from model2vec import StaticModel\n\nmodel = StaticModel.from_pretrained({name})",
    "sentence-transformers": (
        "from sentence_transformers import SentenceTransformer\n\nmodel = SentenceTransformer({name})"
    ),
}


def checked_facts(card: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that an author gives.

    Raises:
        ValueError: A key is unknown, or a score is not a number or (number, low, high), or is outside its
            interval.
    """
    facts = {name: value for name, value in card.items() if value is not None}
    if unknown := set(facts) - set(FACTS):
        raise ValueError(f"card: unknown key {min(unknown)!r}; expected some of {', '.join(FACTS)}")
    for name, value in facts.items():
        texts = value if name == "language" and isinstance(value, list) else [value]
        if name != "scores" and not all(isinstance(text, str) for text in texts):
            raise ValueError(f"card: {name} must be a text, got {value!r:.40}")
    scores = facts.get("scores", {})
    if not isinstance(scores, Mapping):
        raise ValueError(f"card: scores must be a mapping of tasks to scores, got {scores!r:.40}")
    for task, score in scores.items():
        values = score if isinstance(score, Sequence) and not isinstance(score, str) else [score]
        if len(values) not in (1, 3) or not all(map(_is_number, values)):
            raise ValueError(
                f"card: the score of {task!r} must be a number or (score, low, high), got {score!r}"
            )
        if len(values) == 3 and not values[1] <= values[0] <= values[2]:
            raise ValueError(
                f"card: the score of {task!r} must be in its interval; expected (score, low, high), "
                f"got {score!r}"
            )
    return facts


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and math.isfinite(value)


def model_card(facts: Mapping[str, Any], library: str, table: Mapping[str, Any], notes: Sequence[str]) -> str:
    """The text of README.md.

    Args:
        facts: Result of `checked_facts`, with a name.
        library: The library that loads the folder.
        table: What is known of the table, by its name.
        notes: How the encoder differs from what it was exported from.
    """
    name = str(facts["name"])
    tags = ["sentence-embeddings", "static-embeddings", "sentencode"]
    head: dict[str, Any] = {"library_name": library, "tags": tags}
    for key, front in (("license", "license"), ("language", "language"), ("teacher", "base_model")):
        if key in facts:
            head[front] = facts[key]
    front = "\n".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items())
    code = _LOAD[library].format(name=json.dumps(name))
    parts = [
        f"---\n{front}\n---",
        f"# {name}",
        "A static embedding model, exported by Sentencode: the embedding of a sentence is the mean of the "
        "rows of its tokens.",
        f'```python\n{code}\nmodel.encode(["A sentence."])\n```\n\n'
        f"Or, at higher speed: `sentencode.load({json.dumps(name)}).encode(...)`.",
        "## Table\n\n" + "\n".join(f"- {key}: {value}" for key, value in table.items()),
        *_sections(facts),
    ]
    if notes:
        parts.append(
            "## Differences from the exported encoder\n\n" + "\n".join(f"- {note}" for note in notes)
        )
    return "\n\n".join(parts) + "\n"


def _sections(facts: Mapping[str, Any]) -> Iterator[str]:
    for key in ("teacher", "sentences", "scores", "limits", "license"):
        if key == "scores" and facts.get(key):
            rows = [f"| {_cell(task)} | {_score(score)} |" for task, score in facts[key].items()]
            yield "\n".join([f"## {FACTS[key]}", "", "| task | score |", "| --- | --- |", *rows])
        elif key in facts and key != "scores":
            yield f"## {FACTS[key]}\n\n{facts[key]}"


def _cell(text: Any) -> str:
    """A text as a cell of a table in Markdown."""
    return " ".join(str(text).split()).replace("|", r"\|")


def _score(score: Any) -> str:
    if isinstance(score, numbers.Real):
        return f"{score:g}"
    value, low, high = score
    return f"{value:g} (95 % interval {low:g} to {high:g})"
