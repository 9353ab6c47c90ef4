"""Files of natural language inference."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sentencode.errors import FormatError
from sentencode.evaluation import evaluate, load_nli_task
from sentencode.evaluation.data.nli import read_nli

HEADER = "gold_label\tsentence1_binary_parse\tsentence1\tsentence2\tpairID\n"
ROWS = [
    ("neutral", "A man sits.", "He is sad."),
    ("-", "A dog.", "A cat."),
    ("entailment", "It rains.", "Wet."),
]


def write_columns(folder, rows=ROWS, name="train.txt"):
    path = folder / name
    lines = (f"{label}\t( x )\t{one}\t{two}\t{i}\n" for i, (label, one, two) in enumerate(rows))
    path.write_text(HEADER + "".join(lines), encoding="utf-8")
    return path


def write_json(folder, rows=ROWS, name="train.jsonl"):
    path = folder / name
    keys = ("gold_label", "sentence1", "sentence2")
    path.write_text("".join(json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("written", [write_columns, write_json])
def test_examples_without_a_label_are_dropped(tmp_path, written):
    examples = read_nli(written(tmp_path))
    assert [(one.label, one.sentences) for one in examples] == [
        (ROWS[0][0], ROWS[0][1:]),
        (ROWS[2][0], ROWS[2][1:]),
    ]
    assert [one.line for one in examples] == ([2, 4] if written is write_columns else [1, 3])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.txt",
            "label\tone\ttwo\nx\ty\tz\n",
            r"a.txt:1: expected columns named gold_label, .* no gold_label",
        ),
        ("a.txt", HEADER + "neutral\t( x )\tone\n", r"a.txt:2: expected 5 columns, got 3"),
        ("a.txt", HEADER + "maybe\t( x )\tone\ttwo\t1\n", r"a.txt:2: expected one of entailment, .*'maybe'"),
        ("a.txt", HEADER, "holds no example with a label"),
        ("a.jsonl", "{}\n{\n", r"a.jsonl:1: expected an object with strings gold_label"),
        (
            "a.jsonl",
            '{"gold_label": "neutral", "sentence1": "a", "sentence2": "b"}\n{\n',
            "a.jsonl:2: not JSON",
        ),
        ("a.jsonl", "[1]\n", r"a.jsonl:1: expected an object"),
        (
            "a.jsonl",
            '{"gold_label": "neutral", "sentence1": 3, "sentence2": "b"}\n',
            r"a.jsonl:1: expected an",
        ),
    ],
)
def test_errors_name_the_line(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=message):
        read_nli(tmp_path / name)


def test_a_task(tmp_path):
    with pytest.raises(ValueError, match="files must be train, dev and test, got train"):
        load_nli_task({"train": "x"}, name="mine")
    labels = ("entailment", "neutral", "contradiction")
    rows = [(labels[i % 3], f"one {i}", f"two {labels[i % 3]}") for i in range(60)]
    files = {split: write_columns(tmp_path, rows, f"{split}.txt") for split in ("train", "dev", "test")}
    task = load_nli_task(files, name="mine")
    assert (task.classes, task.kind.validation) == (labels, "dev")
    assert task.kind.features == ("u", "v", "|u-v|", "u*v")

    def encode(texts):
        return [[float(label in text) for label in labels] for text in texts]

    assert evaluate(encode, [task], protocol="fast")["mine"].figure("acc") == 100


@pytest.mark.skipif("SENTENCODE_DATA" not in os.environ, reason="needs SENTENCODE_DATA")
def test_the_revised_pairs():
    folder = Path(os.environ["SENTENCODE_DATA"], "nli", "counterfactual")
    sizes = [len(read_nli(folder / f"{split}.tsv")) for split in ("train", "dev", "test")]
    assert sizes == [8330, 1000, 2000]
