from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from sentencode.errors import FormatError
from sentencode.evaluation import load_task, task_names

SICK_HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
SICK_LINE = "7\tA dog runs\tThe dog is running\t4.7\tENTAILMENT\n"
STS_LINE = "main-captions\tMSRvid\t2012test\t0001\t3.80\ta man plays .\ta man is playing .\n"


@pytest.fixture
def data(tmp_path):
    """A folder in SentEval's layout, one pair to a split."""
    files = {
        "SICK/SICK_train.txt": SICK_HEADER + SICK_LINE,
        "SICK/SICK_trial.txt": SICK_HEADER + SICK_LINE,
        "SICK/SICK_test_annotated.txt": SICK_HEADER + SICK_LINE,
        "STS/STSBenchmark/sts-train.csv": STS_LINE,
        "STS/STSBenchmark/sts-dev.csv": STS_LINE,
        "STS/STSBenchmark/sts-test.csv": STS_LINE,
    }
    for name, text in files.items():
        path = tmp_path / "downstream" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def sick_train(data):
    return data / "downstream" / "SICK" / "SICK_train.txt"


def sts_dev(data):
    return data / "downstream" / "STS" / "STSBenchmark" / "sts-dev.csv"


@pytest.mark.parametrize("name", task_names())
@pytest.mark.parametrize("below", ["", "downstream"])
def test_reads_the_layout(data, name, below):
    task = load_task(name, data / below, partial=True)
    assert list(task.splits) == ["train", "dev", "test"]
    for split in task.splits.values():
        assert len(split) == 1
        assert split.labels.dtype == np.float64
    assert task.name == name


def test_finds_sentences_and_scores(data):
    sick = load_task("SICKRelatedness", data, partial=True)["train"]
    assert sick.pairs == [("A dog runs", "The dog is running")]
    assert sick.labels.tolist() == [4.7]
    sts = load_task("STSBenchmark", data, partial=True)["dev"]
    assert sts.pairs == [("a man plays .", "a man is playing .")]
    assert sts.labels.tolist() == [3.8]


def test_byte_order_mark_and_carriage_returns_are_dropped(data):
    sick_train(data).write_bytes(b"\xef\xbb\xbf" + (SICK_HEADER + SICK_LINE).replace("\n", "\r\n").encode())
    task = load_task("SICKRelatedness", data, partial=True)
    assert task["train"].pairs == task["dev"].pairs


def test_last_line_needs_no_end(data):
    sts_dev(data).write_text(STS_LINE * 2 + STS_LINE.rstrip("\n"))
    assert len(load_task("STSBenchmark", data, partial=True)["dev"]) == 3


def test_only_line_feeds_end_lines(data):
    sts_dev(data).write_text(STS_LINE.replace("plays", "plays\x85a\u2028b"), encoding="utf-8")
    assert load_task("STSBenchmark", data, partial=True)["dev"].sentences[0] == ["a man plays\x85a\u2028b ."]


def test_notes_at_the_end_of_a_line(data):
    sts_dev(data).write_text(STS_LINE.rstrip("\n") + "\tsome licence\thttp://example.org\n")
    assert load_task("STSBenchmark", data, partial=True)["dev"].sentences[1] == ["a man is playing ."]
    sick_train(data).write_text(SICK_HEADER + SICK_LINE.rstrip("\n") + "\tmore\n")
    with pytest.raises(FormatError, match=r"SICK_train.txt:2: expected 5 columns, got 6"):
        load_task("SICKRelatedness", data, partial=True)


BROKEN = {
    "empty": ("", "SICK_train.txt is empty"),
    "header alone": (SICK_HEADER, "SICK_train.txt holds no examples"),
    "no header": (SICK_LINE, "SICK_train.txt:1: expected the columns pair_ID, sentence_A.*got '7"),
    "columns": (SICK_HEADER + "8\tA cat\n" + SICK_LINE, "SICK_train.txt:2: expected 5 columns, got 2$"),
    "truncated": (
        SICK_HEADER + SICK_LINE + "8\tA ca",
        r"train.txt:3: .*got 2 \(the last line: was the file cut",
    ),
    "blank line": (SICK_HEADER + SICK_LINE + "\n", "SICK_train.txt:3: expected 5 columns, got 1"),
    "label": (
        SICK_HEADER + SICK_LINE.replace("4.7", "high"),
        "train.txt:2: expected a score from 1 to 5, got 'high'",
    ),
    "range": (SICK_HEADER + SICK_LINE.replace("4.7", "5.1"), "SICK_train.txt:2: .*got '5.1'"),
    "nan": (SICK_HEADER + SICK_LINE.replace("4.7", "nan"), "SICK_train.txt:2: .*got 'nan'"),
}


@pytest.mark.parametrize(("content", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_says_where_a_file_is_wrong(data, content, message):
    sick_train(data).write_text(content, encoding="utf-8")
    with pytest.raises(FormatError, match=message):
        load_task("SICKRelatedness", data, partial=True)


def test_says_where_a_file_is_latin_1(data):
    sick_train(data).write_text(SICK_HEADER + SICK_LINE.replace("dog", "caf\xe9"), encoding="latin-1")
    where = r"SICK_train.txt:2: byte 8 of the line \(0xe9\) is not utf-8; as latin-1 it would be 'é'"
    with pytest.raises(FormatError, match=where):
        load_task("SICKRelatedness", data, partial=True)


def test_incomplete_files_do_not_pass_for_the_benchmark(data):
    with pytest.raises(FormatError, match=r"sts-train.csv holds 1 examples, but 5749 were published"):
        load_task("STSBenchmark", data)


def test_missing_file(data):
    sts_dev(data).unlink()
    with pytest.raises(FileNotFoundError, match=r"sts-dev.csv is missing: give SentEval's data folder"):
        load_task("STSBenchmark", data, partial=True)


def test_unknown_task(data):
    with pytest.raises(ValueError, match="no task is named 'STS99'; there are SICKRelatedness"):
        load_task("STS99", data)


@pytest.mark.skipif("SENTENCODE_DATA" not in os.environ, reason="needs SENTENCODE_DATA")
@pytest.mark.parametrize("name", ["SICKRelatedness", "STSBenchmark"])
def test_real_data(name):
    task = load_task(name, Path(os.environ["SENTENCODE_DATA"], "senteval"))
    for split in task.splits.values():
        assert all(first.strip() and second.strip() for first, second in split.pairs)
        assert 2 < split.labels.mean() < 4
