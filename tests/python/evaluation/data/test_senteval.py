from __future__ import annotations

import collections
import os
import random
from pathlib import Path

import numpy as np
import pytest

from sentencode.errors import FormatError
from sentencode.evaluation import Split, load_task, task_kind, task_names
from sentencode.evaluation.data.corpora import CORPORA

SICK_HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
SICK_LINE = "7\tA dog runs\tThe dog is running\t4.7\tENTAILMENT\n"
STS_LINE = "main-captions\tMSRvid\t2012test\t0001\t3.80\ta man plays .\ta man is playing .\n"
MRPC_HEADER = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
MRPC_LINE = "1\t702876\t702977\tHe paid .\tThe man paid .\n"
SPLITS = ("train", "dev", "test")
STS_SUBSETS = {
    12: ["MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"],
    13: ["FNWN", "headlines", "OnWN"],
    14: ["deft-forum", "deft-news", "headlines", "images", "OnWN", "tweet-news"],
    15: ["answers-forums", "answers-students", "belief", "headlines", "images"],
    16: ["answer-answer", "headlines", "plagiarism", "postediting", "question-question"],
}
PROBING = {  # task: file, classes
    "Length": ("sentence_length.txt", "012345"),
    "WordContent": ("word_content.txt", ["shore", "wind"]),
    "Depth": ("tree_depth.txt", ["10", "11", "5", "6"]),
    "TopConstituents": ("top_constituents.txt", ["ADVP_NP_VP_.", "OTHER"]),
    "BigramShift": ("bigram_shift.txt", "IO"),
    "Tense": ("past_present.txt", ["PAST", "PRES"]),
    "SubjNumber": ("subj_number.txt", ["NN", "NNS"]),
    "ObjNumber": ("obj_number.txt", ["NN", "NNS"]),
    "OddManOut": ("odd_man_out.txt", "CO"),
    "CoordinationInversion": ("coordination_inversion.txt", "IO"),
}
FILES = {
    "MR/rt-polarity.pos": "a fine  film .\n",
    "MR/rt-polarity.neg": "dull .\nnot fine .\n",
    "CR/custrev.pos": "it works .\n\n",
    "CR/custrev.neg": "it broke .\n",
    "SUBJ/subj.objective": "he leaves town .\n",
    "SUBJ/subj.subjective": "a joy .\n",
    "MPQA/mpqa.pos": "support\n",
    "MPQA/mpqa.neg": "complain about\n",
    **{f"SST/binary/sentiment-{split}": "dull .\t0\ngood .\t1\n" for split in SPLITS},
    **{f"SST/fine/sentiment-{split}": "4 very good .\n0 bad .\n" for split in SPLITS},
    "TREC/train_5500.label": "NUM:dist How far is it : a mile ?\nABBR:exp What is NASA ?\n",
    "TREC/TREC_10.label": "LOC:city What is a caf\xe9 ?\n",
    "MRPC/msr_paraphrase_train.txt": MRPC_HEADER + MRPC_LINE,
    "MRPC/msr_paraphrase_test.txt": MRPC_HEADER + MRPC_LINE.replace("1", "0", 1),
    **{f"SICK/SICK_{part}.txt": SICK_HEADER + SICK_LINE for part in ("train", "trial", "test_annotated")},
    **{f"SNLI/s1.{split}": "Two men talk .\nA caf\xe9 is open .\n" for split in SPLITS},
    **{f"SNLI/s2.{split}": "Men speak .\nIt is shut .\n" for split in SPLITS},
    **{f"SNLI/labels.{split}": "entailment\ncontradiction\n" for split in SPLITS},
    **{f"STS/STSBenchmark/sts-{split}.csv": STS_LINE for split in SPLITS},
    **{
        f"STS/STS{year}-en-test/STS.{kind}.{subset}.txt": text
        for year, subsets in STS_SUBSETS.items()
        for subset in subsets
        for kind, text in {"gs": "4.2\n\n0\n", "input": "a b\tc d\nno\tscore\ne\tf g\n"}.items()
    },
    **{
        f"probing/{file}": "".join(
            f"{part}\t{label}\tA sentence of {label} .\n" for part in ("tr", "va", "te") for label in classes
        )
        for file, classes in PROBING.values()
    },
}
LATIN_1 = ("TREC", "SNLI/s1")
SENTEVAL = [name for name in task_names() if name not in CORPORA]
TEXT_TASKS = [name for name in SENTEVAL if name != "ImageCaptionRetrieval"]


def write(data, name, text):
    path = data / name if name.startswith("probing/") else data / "downstream" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("latin-1" if name.startswith(LATIN_1) else "utf-8"))
    return path


@pytest.fixture
def data(tmp_path):
    """A folder in SentEval's layout, with a few lines per file."""
    for name, text in FILES.items():
        write(tmp_path, name, text)
    return tmp_path


def sick_train(data):
    return data / "downstream" / "SICK" / "SICK_train.txt"


def sts_dev(data):
    return data / "downstream" / "STS" / "STSBenchmark" / "sts-dev.csv"


@pytest.mark.parametrize("name", TEXT_TASKS)
@pytest.mark.parametrize("below", ["", "downstream", "probing"])
def test_reads_the_layout(data, name, below):
    task = load_task(name, data / below, partial=True)
    kind = task.kind
    assert (task.name, kind, task.partial) == (name, task_kind(name), True)
    expected = {"nested": ["all"], "folds": ["train", "test"], "dev": ["train", "dev", "test"]}
    if kind.subsets:
        assert list(task.splits) == STS_SUBSETS[int(name[3:])]
    elif kind.question == "duplicates":
        assert list(task.splits) == ["test"]
    else:
        assert list(task.splits) == expected[kind.validation or "dev"]
    for split in task.splits.values():
        assert len(split.sentences) == 1 + kind.pairs
        assert {len(side) for side in split.sentences} == {len(split)}
        if kind.question in ("classification", "duplicates"):
            assert split.labels.dtype == np.int64
            assert split.labels.max() < len(task.classes)
        else:
            assert split.labels.dtype == np.float64
            assert task.classes == ()


def test_all_tasks_of_senteval_exist():
    classified = {
        "MR",
        "CR",
        "SUBJ",
        "MPQA",
        "SST2",
        "SST5",
        "TREC",
        "MRPC",
        "SICKEntailment",
        "SNLI",
        *PROBING,
    }
    assert {n for n in SENTEVAL if task_kind(n).question == "classification"} == classified
    assert {n for n in SENTEVAL if task_kind(n).question == "relatedness"} == {
        "SICKRelatedness",
        "STSBenchmark",
    }
    assert {n for n in SENTEVAL if task_kind(n).question == "similarity"} == {
        "SICKCosine",
        "STSBenchmarkCosine",
        *(f"STS{year}" for year in STS_SUBSETS),
    }
    assert task_kind("ImageCaptionRetrieval").question == "retrieval"
    assert [n for n in task_names() if task_kind(n).f1] == ["MRPC"]
    assert [n for n in task_names() if "u*v" in task_kind(n).features] == [
        "MRPC",
        "SICKEntailment",
        "SNLI",
        "SICKRelatedness",
        "STSBenchmark",
    ]


@pytest.mark.parametrize(
    ("name", "classes", "sentences", "labels"),
    [
        ("MR", ("neg", "pos"), ["a fine film .", "dull .", "not fine ."], [1, 0, 0]),
        ("CR", ("neg", "pos"), ["it works .", "", "it broke ."], [1, 1, 0]),
        ("SUBJ", ("subjective", "objective"), ["he leaves town .", "a joy ."], [1, 0]),
        ("MPQA", ("neg", "pos"), ["support", "complain about"], [1, 0]),
        ("SST2", ("0", "1"), ["dull .", "good ."], [0, 1]),
        ("SST5", ("0", "1", "2", "3", "4"), ["very good .", "bad ."], [4, 0]),
        (
            "TREC",
            ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"),
            ["How far is it : a mile ?", "What is NASA ?"],
            [5, 0],
        ),
        ("Depth", ("10", "11", "5", "6"), [f"A sentence of {n} ." for n in (10, 11, 5, 6)], [0, 1, 2, 3]),
        ("OddManOut", ("C", "O"), ["A sentence of C .", "A sentence of O ."], [0, 1]),
    ],
)
def test_sentences_and_classes(data, name, classes, sentences, labels):
    task = load_task(name, data, partial=True)
    split = next(iter(task.splits.values()))
    assert task.classes == classes
    assert split.sentences == (sentences,)
    assert split.labels.tolist() == labels


def test_pairs_and_classes(data):
    assert load_task("MRPC", data, partial=True)["train"].pairs == [("He paid .", "The man paid .")]
    assert [load_task("MRPC", data, partial=True)[s].labels.tolist() for s in ("train", "test")] == [[1], [0]]
    sick = load_task("SICKEntailment", data, partial=True)
    assert sick.classes == ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
    assert sick["dev"].labels.tolist() == [2]
    snli = load_task("SNLI", data, partial=True)
    assert snli.classes == ("entailment", "neutral", "contradiction")
    assert snli["test"].pairs == [("Two men talk .", "Men speak ."), ("A caf\xe9 is open .", "It is shut .")]
    assert snli["test"].labels.tolist() == [0, 2]


def test_pairs_without_a_score_are_dropped(data):
    sts = load_task("STS16", data, partial=True)["plagiarism"]
    assert sts.pairs == [("a b", "c d"), ("e", "f g")]
    assert sts.labels.tolist() == [4.2, 0.0]


def test_sentence_of_a_probing_task_is_the_last_column(data):
    write(data, "probing/past_present.txt", "tr\tPAST\tran\t17\tHe ran .\nva\tPAST\tHe ran .\nte\tPAST\tx\n")
    assert load_task("Tense", data, partial=True)["train"].sentences == (["He ran ."],)


def test_missing_splits_need_not_be_read(data):
    (data / "downstream/SNLI/s1.train").unlink()
    (data / "downstream/SNLI/labels.train").unlink()
    missing = r"SNLI/labels.train, .*SNLI/s1.train are missing: .*; splits=\['dev', 'test'\] reads the others"
    with pytest.raises(FileNotFoundError, match=missing):
        load_task("SNLI", data, partial=True)
    task = load_task("SNLI", data, partial=True, splits=("test", "dev"))
    assert list(task.splits) == ["dev", "test"]
    assert list(load_task("STS15", data, partial=True, splits="belief").splits) == ["belief"]
    for wrong in ("valid", [], ["dev", "validation"]):
        with pytest.raises(ValueError, match=r"splits must be some of train, dev, test for SNLI, got \["):
            load_task("SNLI", data, splits=wrong)


def test_classes_are_read_from_the_training_split(data):
    write(data, "probing/word_content.txt", "tr\tsea\ta\ntr\tice\tb\nva\tice\tc\nte\tice\td\n")
    task = load_task("WordContent", data, partial=True, splits=["test"])
    assert (list(task.splits), task.classes) == (["test"], ("ice", "sea"))
    write(data, "probing/word_content.txt", "tr\tsea\ta\nva\tice\tc\nte\tsea\td\n")
    with pytest.raises(FormatError, match=r"word_content.txt:2: expected one of sea, got 'ice'"):
        load_task("WordContent", data, partial=True)


def test_all_missing_files_are_named(data):
    for kind in ("gs", "input"):
        (data / f"downstream/STS/STS13-en-test/STS.{kind}.FNWN.txt").unlink()
    with pytest.raises(
        FileNotFoundError, match=r"STS.gs.FNWN.txt, .*STS.input.FNWN.txt are missing: give SentEval's"
    ):
        load_task("STS13", data)


def test_missing_rooms_are_named_where_they_should_be(tmp_path):
    (tmp_path / "downstream").mkdir()
    for below in ("", "downstream"):
        with pytest.raises(FileNotFoundError) as error:
            load_task("Tense", tmp_path / below)
        assert str(error.value).startswith(f"{tmp_path / 'probing' / 'past_present.txt'} is missing")


def test_order_is_that_of_the_original():
    """SentEval's code: sorted(zip(a, b, y), key=lambda z: (len(z[0]), len(z[1]), z[2])), stable."""
    draw = random.Random(5)
    a, b = ([" ".join("x" * draw.randrange(4)) + f" {i}" for i in range(300)] for _ in range(2))
    y = np.array([draw.randrange(3) for _ in range(300)])
    expected = sorted(zip(a, b, y, strict=True), key=lambda z: (len(z[0].split()), len(z[1].split()), z[2]))
    ours = Split((a, b), y).by_length()
    assert list(zip(*ours.sentences, ours.labels, strict=True)) == expected
    # SNLI's: the second sentence first, and labels by their names.
    names = ("neutral", "entailment", "contradiction")
    expected = sorted(
        zip(a, b, y, strict=True), key=lambda z: (len(z[1].split()), len(z[0].split()), names[z[2]])
    )
    ours = Split((a, b), y).by_length(second_first=True, names=names)
    assert list(zip(*ours.sentences, ours.labels, strict=True)) == expected


def test_sentences_and_scores(data):
    sick = load_task("SICKRelatedness", data, partial=True)["train"]
    assert sick.pairs == [("A dog runs", "The dog is running")]
    assert sick.labels.tolist() == [4.7]
    sts = load_task("STSBenchmark", data, partial=True)["dev"]
    assert sts.pairs == [("a man plays .", "a man is playing .")]
    assert sts.labels.tolist() == [3.8]


def test_last_line_needs_no_end(data):
    sts_dev(data).write_text(STS_LINE * 2 + STS_LINE.rstrip("\n"))
    assert len(load_task("STSBenchmark", data, partial=True)["dev"]) == 3


def test_only_line_feeds_end_lines(data):
    sts_dev(data).write_text(STS_LINE.replace("plays", "plays\x85a\u2028b"), encoding="utf-8")
    assert load_task("STSBenchmark", data, partial=True)["dev"].sentences[0] == ["a man plays a b ."]


def test_notes_at_the_end_of_a_line(data):
    sts_dev(data).write_text(STS_LINE.rstrip("\n") + "\tsome licence\thttp://example.org\n")
    assert load_task("STSBenchmark", data, partial=True)["dev"].sentences[1] == ["a man is playing ."]
    sick_train(data).write_text(SICK_HEADER + SICK_LINE.rstrip("\n") + "\tmore\n")
    with pytest.raises(FormatError, match=r"SICK_train.txt:2: expected 5 columns .*, got 6"):
        load_task("SICKRelatedness", data, partial=True)


SICK, STSB, MRPC = "SICK/SICK_train.txt", "STS/STSBenchmark/sts-dev.csv", "MRPC/msr_paraphrase_test.txt"
GOLD, INPUT = (f"STS/STS14-en-test/STS.{kind}.deft-news.txt" for kind in ("gs", "input"))
TENSE, MR, TREC = "probing/past_present.txt", "MR/rt-polarity.neg", "TREC/TREC_10.label"
SST2, SST5 = "SST/binary/sentiment-dev", "SST/fine/sentiment-test"
BROKEN = {  # name: task, file, content, message
    "empty": ("SICKRelatedness", SICK, "", "SICK_train.txt is empty"),
    "empty but for a mark": ("MR", MR, b"\xef\xbb\xbf", "rt-polarity.neg is empty"),
    "header alone": ("SICKRelatedness", SICK, SICK_HEADER, "SICK_train.txt holds no examples"),
    "no header": ("SICKRelatedness", SICK, SICK_LINE, "train.txt:1: expected the columns pair_ID, .*got '7"),
    "other header": (
        "MRPC",
        MRPC,
        SICK_HEADER,
        "test.txt:1: expected the columns Quality, #1 ID.*got 'pair_ID",
    ),
    "columns": (
        "SICKRelatedness",
        SICK,
        SICK_HEADER + "8\tA cat\n" + SICK_LINE,
        r"SICK_train.txt:2: expected 5 columns \(pair_ID, .*\), got 2$",
    ),
    "blank line": ("SICKEntailment", SICK, SICK_HEADER + SICK_LINE + "\n", "SICK_train.txt:3: .*, got 1"),
    "columns of STS": ("STS14", INPUT, "a\tb\nc\td\te\nf\tg\n", "deft-news.txt:2: expected 2 .*got 3$"),
    "columns of SST2": ("SST2", SST2, "bad\t0\ngood 1\n", "sentiment-dev:2: .*sentence, label.*got 1"),
    "columns of SST5": ("SST5", SST5, "0 bad\n4\n", "sentiment-test:2: .*label, sentence.*got 1"),
    "columns of TREC": ("TREC", TREC, "NUM:date When ?\nNUM\n", "TREC_10.label:2: .*label, subclass.*got 1"),
    "columns of probing": ("Tense", TENSE, "tr\tPAST\n", "past_present.txt:1: expected 3 .*got 2"),
    "truncated": (
        "SICKRelatedness",
        SICK,
        SICK_HEADER + SICK_LINE + "8\tA ca",
        r"train.txt:3: .*got 2 \(the last line: was the file truncated",
    ),
    "missing partition": (
        "Tense",
        TENSE,
        "tr\tPAST\tHe ran .\nva\tPAST\tx\n",
        "past_present.txt holds no examples",
    ),
    "unknown partition": (
        "Tense",
        TENSE,
        "tr\tPAST\tx\ndev\tPAST\tx\n",
        "present.txt:2: .* tr, va, te, got 'dev'",
    ),
    "label of SICK-E": (
        "SICKEntailment",
        SICK,
        SICK_HEADER + SICK_LINE.replace("ENT", "ant", 1),
        "train.txt:2: expected one of CONTRADICTION, NEUTRAL, ENTAILMENT, got 'antAILMENT'",
    ),
    "label of SNLI": (
        "SNLI",
        "SNLI/labels.dev",
        "-\nneutral\n",
        "labels.dev:1: expected one of entail.*got '-'",
    ),
    "label of probing": (
        "Tense",
        TENSE,
        "tr\tPAST\tx\nva\tFUT\tx\nte\tPAST\tx\n",
        "2: .* PAST, PRES, got 'FUT'",
    ),
    "no number": (
        "SICKRelatedness",
        SICK,
        SICK_HEADER + SICK_LINE.replace("4.7", "high"),
        "train.txt:2: expected a score from 1 to 5, got 'high'",
    ),
    "range": (
        "SICKCosine",
        SICK,
        SICK_HEADER + SICK_LINE.replace("4.7", "5.1"),
        "SICK_train.txt:2: .*got '5.1'",
    ),
    "range of STS": (
        "STS14",
        GOLD,
        "1\n2\n5.5\n",
        "gs.deft-news.txt:3: expected a score from 0 to 5, got '5.5'",
    ),
    "nan": (
        "SICKRelatedness",
        SICK,
        SICK_HEADER + SICK_LINE.replace("4.7", "nan"),
        "train.txt:2: .*got 'nan'",
    ),
    "latin-1": (
        "SICKRelatedness",
        SICK,
        (SICK_HEADER + SICK_LINE.replace("dog", "caf\xe9")).encode("latin-1"),
        r"SICK_train.txt:2: byte 8 of the line \(0xe9\) is not utf-8; as latin-1 it would be 'é'",
    ),
    "latin-1 in a first line": (
        "SST2",
        SST2,
        b"caf\xe9\t1\n",
        r"sentiment-dev:1: byte 4 of the line \(0xe9\)",
    ),
    "utf-16": (
        "MR",
        MR,
        "dull .\n".encode("utf-16"),
        "rt-polarity.neg:1: the file is UTF-16, expected latin-1",
    ),
    "zero bytes": ("MR", MR, b"dull .\nno\0\0", "rt-polarity.neg:2: a zero byte"),
    "fewer labels": ("SNLI", "SNLI/labels.dev", "neutral\n", "s1.dev has 2 lines, but .*labels.dev has 1"),
    "fewer premises": ("SNLI", "SNLI/s1.test", "A man .\n", "s1.test has 1 lines, but .*labels.test has 2"),
    "more hypotheses": (
        "SNLI",
        "SNLI/s2.train",
        "A\nB\nC\n",
        "s2.train has 3 lines, but .*labels.train has 2",
    ),
    "less gold": ("STS14", GOLD, "1\n2\n", "input.deft-news.txt has 3 lines, but .*gs.deft-news.txt has 2"),
    "less input": ("STS14", INPUT, "a\tb\n", "input.deft-news.txt has 1 lines, but .*gs.deft-news.txt has 3"),
    "no gold at all": (
        "STS14",
        GOLD,
        "\n\n\n",
        "gs.deft-news.txt and .*input.deft-news.txt hold no examples",
    ),
}


@pytest.mark.parametrize(("name", "file", "content", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_errors_name_the_file_and_line(data, name, file, content, message):
    load_task(name, data, partial=True)
    path = write(data, file, "")
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FormatError, match=message) as error:
        load_task(name, data, partial=True)
    assert path.name in str(error.value)


EQUIVALENT = {
    "SICK/SICK_train.txt": "SICKEntailment",
    "MRPC/msr_paraphrase_train.txt": "MRPC",
    "MR/rt-polarity.pos": "MR",
    "SNLI/labels.dev": "SNLI",
    "SST/fine/sentiment-dev": "SST5",
    "TREC/train_5500.label": "TREC",
    "STS/STS15-en-test/STS.gs.images.txt": "STS15",
    "probing/tree_depth.txt": "Depth",
}


@pytest.mark.parametrize(("file", "name"), EQUIVALENT.items(), ids=EQUIVALENT.values())
def test_marks_and_carriage_returns_change_nothing(data, file, name):
    before = load_task(name, data, partial=True)
    write(data, file, "").write_bytes(
        b"\xef\xbb\xbf" + FILES[file].removeprefix("\ufeff").replace("\n", "\r\n").encode()
    )
    after = load_task(name, data, partial=True)
    assert after.classes == before.classes
    for split in before.splits:
        assert after[split].sentences == before[split].sentences
        assert after[split].labels.tolist() == before[split].labels.tolist()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("STSBenchmark", r"sts-train.csv holds 1 examples, but 5749 were published"),
        ("MR", r"rt-polarity.pos and .*rt-polarity.neg hold 3 examples, but 10662 were published"),
        ("CR", r"hold 3 examples, but 3775 were"),
        ("SUBJ", r"hold 2 examples, but 10000 were"),
        ("MPQA", r"hold 2 examples, but 10606 were"),
        ("STS16", r"answer-answer.txt and .* hold 2 examples, but 254 were"),
        ("SNLI", r"s2.train hold 2 examples, but 549367 were"),
        ("Tense", r"past_present.txt holds 2 examples, but about 99000 to 101000 were"),
    ],
)
def test_incomplete_files_do_not_pass_for_the_benchmark(data, name, message):
    with pytest.raises(FormatError, match=message):
        load_task(name, data)


def test_a_truncated_last_line_is_refused(data):
    """The number of lines is right; only the line end is missing."""
    write(data, "MR/rt-polarity.pos", "fine .\n" * 5331)
    write(data, "MR/rt-polarity.neg", "dull .\n" * 5330 + "du")
    with pytest.raises(
        FormatError, match=r"rt-polarity.neg:5331: the last line has no end: was the file truncated"
    ):
        load_task("MR", data)
    assert len(load_task("MR", data, partial=True)["all"]) == 10662
    write(data, "MR/rt-polarity.neg", "dull .\n" * 5331)
    assert not load_task("MR", data).partial


def test_probing_tasks_may_have_a_few_examples_more_or_less(data):
    lines = ["tr\tPAST\tHe ran .\ntr\tPRES\tHe runs .\n" * 49_998]
    lines += [f"{part}\tPAST\tHe ran .\n" * 10_002 for part in ("va", "te")]
    write(data, "probing/past_present.txt", "".join(lines))
    assert [len(split) for split in load_task("Tense", data).splits.values()] == [99_996, 10_002, 10_002]
    write(data, "probing/past_present.txt", "".join(lines)[: -len(lines[0]) // 20])
    with pytest.raises(FormatError, match=r"past_present.txt"):
        load_task("Tense", data)


def test_missing_file(data):
    sts_dev(data).unlink()
    with pytest.raises(FileNotFoundError, match=r"sts-dev.csv is missing: give SentEval's data folder"):
        load_task("STSBenchmark", data, partial=True)


def test_unknown_task(data):
    with pytest.raises(ValueError, match="no task is named 'STS99'; there are MR, CR, "):
        load_task("STS99", data)
    with pytest.raises(ValueError, match="no task is named 'STS99'; there are MR, CR, "):
        task_kind("STS99")


# The number of examples of each class, counted with cut, sort and uniq.
REAL = {
    "MR": {"all": [5331, 5331]},
    "CR": {"all": [1368, 2407]},
    "SST2": {"train": [29780, 37569], "dev": [428, 444], "test": [912, 909]},
    "SST5": {
        "train": [1092, 2218, 1624, 2322, 1288],
        "dev": [139, 289, 229, 279, 165],
        "test": [279, 633, 389, 510, 399],
    },
    "TREC": {"train": [86, 1162, 1250, 1223, 835, 896], "test": [9, 138, 94, 65, 81, 113]},
    "MRPC": {"train": [1323, 2753], "test": [578, 1147]},
    "SICKEntailment": {"train": [665, 2536, 1299], "dev": [74, 282, 144], "test": [720, 2793, 1414]},
    "SNLI": {"dev": [3329, 3235, 3278], "test": [3368, 3219, 3237]},
}
ROWS = {  # (task, split, row): sentences
    ("CR", "all", 0): ("im a more happier person after discovering the i/p button ! .",),
    ("MR", "all", 5331): ("simplistic , silly and tedious .",),
    ("SST2", "dev", 1): ("unflinchingly bleak and desperate",),
    ("SST5", "dev", 1): ("one long string of cliches .",),
    ("TREC", "test", 0): ("How far is it from Denver to Aspen ?",),
    ("SICKEntailment", "train", 0): (
        "A group of kids is playing in a yard and an old man is standing in the background",
        "A group of boys in a yard is playing and a man is standing in the background",
    ),
    ("SNLI", "test", 1): (
        "This church choir sings to the masses as they sing joyous songs from the book at a church .",
        "The church is filled with song .",
    ),
    ("STSBenchmark", "train", 1): ("a man is playing a large flute .", "a man is playing a flute ."),
}
needs_data = pytest.mark.skipif("SENTENCODE_DATA" not in os.environ, reason="needs SENTENCODE_DATA")


def real_task(name):
    splits = ["dev", "test"] if name == "SNLI" else None
    task = load_task(name, Path(os.environ["SENTENCODE_DATA"], "senteval"), splits=splits, partial=True)
    assert not task.partial  # all files have the published sizes
    return task


@needs_data
@pytest.mark.parametrize("name", REAL)
def test_real_classes(name):
    task = real_task(name)
    counts = {split: collections.Counter(task[split].labels.tolist()) for split in task.splits}
    assert {s: [count[i] for i in range(len(task.classes))] for s, count in counts.items()} == REAL[name]
    for split in task.splits.values():
        empty = sum(not sentence for side in split.sentences for sentence in side)
        assert empty == (4 if name == "CR" else 0)


@needs_data
@pytest.mark.parametrize(("name", "split", "row"), ROWS)
def test_real_rows(name, split, row):
    assert tuple(side[row] for side in real_task(name)[split].sentences) == ROWS[name, split, row]


SICK_MEANS = {"train": 3.5209, "dev": 3.5944, "test": 3.5300}
STSB_MEANS = {"train": 2.7010, "dev": 2.3639, "test": 2.6079}
MEANS = {  # of scores, by awk; with the numbers of pairs
    "SICKRelatedness": (9927, SICK_MEANS),
    "SICKCosine": (9927, SICK_MEANS),
    "STSBenchmark": (8628, STSB_MEANS),
    "STSBenchmarkCosine": (8628, STSB_MEANS),
    "STS12": (
        3108,
        {
            "MSRpar": 3.2707,
            "MSRvid": 2.2971,
            "SMTeuroparl": 4.5496,
            "surprise.OnWN": 3.8709,
            "surprise.SMTnews": 4.3348,
        },
    ),
    "STS13": (1500, {"FNWN": 1.4680, "headlines": 2.5729, "OnWN": 2.3122}),
    "STS14": (
        3750,
        {
            "deft-forum": 2.7492,
            "deft-news": 3.0307,
            "headlines": 2.7723,
            "images": 2.6741,
            "OnWN": 2.6386,
            "tweet-news": 3.1104,
        },
    ),
    "STS15": (
        3000,
        {
            "answers-forums": 1.6646,
            "answers-students": 2.9179,
            "belief": 1.6165,
            "headlines": 2.5636,
            "images": 2.5015,
        },
    ),
}


@needs_data
@pytest.mark.parametrize("name", MEANS)
def test_real_scores(name):
    pairs, means = MEANS[name]
    task = real_task(name)
    assert sum(map(len, task.splits.values())) == pairs
    assert all(first and second for split in task.splits.values() for first, second in split.pairs)
    assert {s: split.labels.mean() for s, split in task.splits.items()} == pytest.approx(means, abs=1e-4)
