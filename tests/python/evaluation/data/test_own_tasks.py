from __future__ import annotations

import collections
import os
from pathlib import Path

import numpy as np
import pytest

import sentencode as se
from sentencode.errors import FormatError
from sentencode.evaluation import Kind, Split, Task, evaluate, load_groups, load_tsv_task


def written(folder, name, text, encoding="utf-8"):
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def test_one_file_is_split_into_folds(tmp_path):
    path = written(tmp_path, "mood.tsv", "glad\tWhat a  day !\nsad\tIt rains .\n sad \tAgain .\n")
    task = load_tsv_task("classification", path)
    assert (task.name, list(task.splits), task.classes) == ("mood", ["all"], ("glad", "sad"))
    assert (task.kind.question, task.kind.validation, task.kind.pairs) == ("classification", "nested", False)
    assert task.kind.features == ("u",)
    assert task["all"].sentences == (["What a day !", "It rains .", "Again ."],)
    assert task["all"].labels.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("splits", "validation"), [(["test", "train"], "folds"), (["test", "dev", "train"], "dev")]
)
def test_files_say_how_to_validate(tmp_path, splits, validation):
    text = {"train": "b\tx\ty\na\tu\tv\n", "dev": "a\tz\tz\n", "test": "b\tq\tr\n"}
    files = {split: str(written(tmp_path, f"{split}.tsv", text[split])) for split in splits}
    task = load_tsv_task("pair_classification", files, name="mine")
    assert (task.name, task.kind.validation, task.kind.pairs) == ("mine", validation, True)
    assert task.kind.features == ("|u-v|", "u*v")
    assert list(task.splits) == [split for split in ("train", "dev", "test") if split in splits]
    assert task.classes == ("a", "b")
    assert task["train"].pairs == [("x", "y"), ("u", "v")]
    assert task["test"].labels.tolist() == [1]
    assert load_tsv_task("pair_classification", files).name == tmp_path.name


def test_averages_of_papers_exclude_user_tasks_of_the_same_name(tmp_path):
    text = "".join(f"{i % 2}\tsentence {i} of {i % 2}\n" for i in range(30))
    names = ("MR", "CR", "SUBJ", "MPQA", "TREC", "MRPC")
    tasks = [load_tsv_task("classification", written(tmp_path, "own.tsv", text), name=name) for name in names]
    report = evaluate(lambda texts: [[len(t), t.endswith("1")] for t in texts], tasks, protocol="fast")
    assert [average.name for average in report.averages] == ["mean of MR, CR, SUBJ, MPQA, TREC, MRPC"]


def test_similarity(tmp_path):
    text = "-3.5\ta b\tc\n1e2\td\te\n"
    path = written(tmp_path, "scores.tsv", text)
    task = load_tsv_task("similarity", path)
    assert (task.kind.question, task.kind.pairs, task.kind.subsets) == ("similarity", True, False)
    assert task["all"].labels.tolist() == [-3.5, 100.0]
    assert task["all"].pairs == [("a b", "c"), ("d", "e")]
    assert not load_tsv_task("similarity", {"train": path, "test": path}).kind.subsets
    assert load_tsv_task("similarity", {"news": path, "forum": path}).kind.subsets


BROKEN = {
    "empty": ("classification", "", "own.tsv is empty"),
    "commas": ("classification", "glad,a day\n", r"own.tsv:1: expected 2 columns \(label, sentence\), got 1"),
    "columns": ("classification", "a\tb\nc\td\te\n", "own.tsv:2: expected 2 columns .*got 3"),
    "truncated": ("pair_classification", "a\tb\tc\nb\tq", "own.tsv:2: expected 3 columns .*truncated"),
    "no label": ("classification", "a\tb\n\tc\n", "own.tsv:2: expected a class, got ''"),
    "one class": ("classification", "a\tb\na\tc\n", "own.tsv has one class, 'a': expected at least two"),
    "header": ("similarity", "score\tfirst\tsecond\n", "own.tsv:1: expected a number, got 'score'"),
    "infinite": ("similarity", "1\ta\tb\ninf\ta\tb\n", "own.tsv:2: expected a number, got 'inf'"),
    "zero byte": ("similarity", "1\ta\tb\n\0\0", "own.tsv:2: a zero byte"),
}


@pytest.mark.parametrize(("question", "text", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_errors_name_the_line_of_a_file(tmp_path, question, text, message):
    with pytest.raises(FormatError, match=message):
        load_tsv_task(question, written(tmp_path, "own.tsv", text))


def test_errors_name_the_line_in_latin_1(tmp_path):
    path = written(tmp_path, "own.tsv", "a\tb\nb\tcaf\xe9\n", "latin-1")
    with pytest.raises(FormatError, match=r"own.tsv:2: byte 6 of the line \(0xe9\) is not utf-8"):
        load_tsv_task("classification", path)


def test_marks_and_carriage_returns_change_nothing(tmp_path):
    task = load_tsv_task("classification", written(tmp_path, "own.tsv", "\ufeffa\tb\r\nb\tc\r\n"))
    assert (task.classes, task["all"].sentences) == (("a", "b"), (["b", "c"],))


def test_unknown_class(tmp_path):
    files = {
        "train": written(tmp_path, "train.tsv", "a\tx\nb\ty\n"),
        "test": written(tmp_path, "test.tsv", "a\tx\nc\ty\n"),
    }
    with pytest.raises(FormatError, match=r"test.tsv:2: expected one of a, b, got 'c'"):
        load_tsv_task("classification", files)


def test_arguments(tmp_path):
    path = written(tmp_path, "own.tsv", "a\tb\n")
    with pytest.raises(ValueError, match=r"question must be 'classification', .*got 'regression'"):
        load_tsv_task("regression", path)
    with pytest.raises(ValueError, match=r"files must be one, or train and test, .*got train, valid"):
        load_tsv_task("classification", {"train": path, "valid": path})
    pairs = written(tmp_path, "pairs.tsv", "1\ta\tb\n2\tb\tc\n")
    with pytest.raises(ValueError, match=r"a subset must not be named 'all', .* got all, extra"):
        load_tsv_task("similarity", {"all": pairs, "extra": pairs})
    with pytest.raises(FormatError, match=r"pairs.tsv:2: expected one of 0, 1, got '2'"):
        load_tsv_task("duplicates", pairs)
    with pytest.raises(ValueError, match="files must name at least one"):
        load_tsv_task("similarity", {})
    with pytest.raises(ValueError, match="layout must be 'tsv', 'lines' or 'flickr', got 'csv'"):
        load_groups(path, "csv")
    with pytest.raises(ValueError, match="size must be at least 2, got 1"):
        load_groups(path, "lines", size=1)


def test_groups_by_name(tmp_path):
    task = load_groups(written(tmp_path, "same.tsv", "y\ta  b\nx\tc\ny\td\nx\te\n"))
    assert (task.name, task.kind.question, task.classes) == ("same", "groups", ("y", "x"))
    assert task["all"].sentences == (["a b", "c", "d", "e"],)
    assert task["all"].labels.tolist() == [0, 1, 0, 1]


def test_samples_of_groups_are_numbered(tmp_path):
    text = "".join(f"{i}\tsentence {i} {k}\n" for i in "abcdef" for k in range(2))
    task = load_groups(written(tmp_path, "same.tsv", text)).sample(3)
    assert task["all"].labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert task.classes == ("a", "c", "e")
    assert task["all"].sentences[0][2] == "sentence c 0"


def test_groups_of_consecutive_lines(tmp_path):
    task = load_groups(written(tmp_path, "coco.txt", "".join(f"{i}\n" for i in range(6))), "lines", size=3)
    assert task["all"].labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert task.classes == ("1", "4")


def test_groups_of_flickr(tmp_path):
    text = "1.jpg#0\ta\n1.jpg#1\tb\n1.jpg.1#0\tc\n1.jpg.1#4  d e\n"
    task = load_groups(written(tmp_path, "Flickr.txt", text), "flickr", name="flickr")
    assert (task.name, task.classes) == ("flickr", ("1.jpg", "1.jpg.1"))
    assert task["all"].labels.tolist() == [0, 0, 1, 1]
    assert task["all"].sentences == (["a", "b", "c", "d e"],)


BROKEN_GROUPS = {
    "empty": ("tsv", "", "groups.txt is empty"),
    "columns": ("tsv", "a\tb\nno group\n", r"groups.txt:2: expected 2 columns \(group, sentence\), got 1"),
    "no group": ("tsv", "a\tb\na\tc\n\td\n", "groups.txt:3: expected a group, got ''"),
    "alone": ("tsv", "a\tb\nc\td\na\tb\n", "groups.txt:2: the group 'c' has only this sentence"),
    "one group": ("tsv", "a\tb\na\tc\n", "groups.txt has one group, 'a': expected at least two"),
    "cut": ("lines", "a\nb\nc\nd\ne\nf\n", "groups.txt has 6 lines, expected a multiple of 5"),
    "no number": (
        "flickr",
        "1.jpg#0\ta\n1.jpg\tb\n",
        "groups.txt:2: expected image#number, a tab.*got '1.jpg.*b'",
    ),
    "no caption": ("flickr", "1.jpg#0\ta\n1.jpg#1\n", "groups.txt:2: expected image#number, a tab"),
}


@pytest.mark.parametrize(("layout", "text", "message"), BROKEN_GROUPS.values(), ids=BROKEN_GROUPS.keys())
def test_errors_name_the_line_of_groups(tmp_path, layout, text, message):
    with pytest.raises(FormatError, match=message):
        load_groups(written(tmp_path, "groups.txt", text), layout)


@pytest.mark.skipif("SENTENCODE_DATA" not in os.environ, reason="needs SENTENCODE_DATA")
@pytest.mark.parametrize(
    ("file", "layout", "groups", "third"),
    [
        ("coco_5x5000.txt", "lines", 5000, "A man riding on the back of a motorcycle ."),
        ("Flickr8k.token.txt", "flickr", 8092, "A little girl climbing into a wooden playhouse ."),
    ],
)
def test_real_captions(file, layout, groups, third):
    task = load_groups(Path(os.environ["SENTENCODE_DATA"], "captions", file), layout)
    labels = task["all"].labels
    assert (len(task.classes), len(labels)) == (groups, 5 * groups)
    assert collections.Counter(np.bincount(labels).tolist()) == {5: groups}
    assert task["all"].sentences[0][2] == third
    assert all(task["all"].sentences[0])


# --- Tasks of lists and columns ---------------------------------------------------------------------------


def test_columns_are_read_in_their_order():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": list("abcdef"), "label": range(6)}).sample(frac=1, random_state=0)
    split = Split((frame.text,), frame.label)
    assert split.sentences == (frame.text.tolist(),)
    assert split.at(np.array([0, 5])).sentences[0] == [frame.text.iloc[0], frame.text.iloc[5]]
    assert Split((iter("ab"), np.array(["c", "d"])), [0.5, 1]).pairs == [("a", "c"), ("b", "d")]


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        (
            ["a", "b"],
            r"sentences must be a tuple of one or two lists, as in Split\(\(texts,\), labels\), got li",
        ),
        (("a", "b"), "sentences must be a tuple of one or two lists"),
        ((["a", None],), r"sentences\[0\]\[1\] is NoneType \(None\); expected str"),
        ((["a", "b"], ["c", b"d"]), r"sentences\[1\]\[1\] is bytes \(b'd'\); expected str"),
    ],
)
def test_wrong_sentences(sentences, message):
    with pytest.raises(TypeError, match=message):
        Split(sentences, [0, 1])


def test_a_split_is_shown_in_a_line():
    assert repr(Split((["a ship"] * 10_000,), [3] * 10_000)) == "Split(10000 examples, first 'a ship': 3)"


ONE, TWO = Split((["a", "b"],), [0, 1]), Split((["a", "b"], ["c", "d"]), [0, 1])


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (lambda: Kind("classify", "folds"), "question must be one of 'classification', .* got 'classify'"),
        (
            lambda: Kind("classification", "fold"),
            "requires a validation: 'nested', 'folds' or 'dev', got 'fold'",
        ),
        (lambda: Task("t", {"a": ONE, "b": ONE}, "clustering"), "t: clustering has one split, got a, b"),
        (lambda: Task("t", {"all": ONE}, "search"), "search has the splits queries and documents, got all"),
        (
            lambda: Task("t", {"all": ONE}, "similarity"),
            "t, all: similarity needs pairs of sentences; there are 1",
        ),
        (
            lambda: Task("t", {"all": TWO}, Kind("classification", "nested")),
            "classification needs single sentences, or pairs=True in its Kind; there are 2 lists",
        ),
    ],
)
def test_kinds_fit_their_examples(task, message):
    with pytest.raises(ValueError, match=message):
        task()


def test_arguments_of_a_task_have_types():
    assert Task("t", {"all": TWO}, "similarity").kind == Kind("similarity")
    for arguments, message in [
        (({"all": ONE}, "t", Kind("clustering")), "Task: name must be a str, got dict"),
        (("t", [ONE], Kind("clustering")), "Task: splits must be a Mapping, got list"),
        (("t", {"all": ONE}, None), "Task: kind must be a Kind, got NoneType"),
    ]:
        with pytest.raises(TypeError, match=message):
            Task(*arguments)


def test_a_header_is_no_example(tmp_path):
    path = written(tmp_path, "mood.tsv", "label\ttext\nglad\ta fine day\nsad\tit rains\n")
    with pytest.raises(
        FormatError, match=r"mood.tsv:1: 'label' and 'text' look like a header: remove the line"
    ):
        load_tsv_task("classification", path)


def test_text_of_own_tasks_is_split_as_by_encode(tmp_path):
    """Tokens that are split at white space would be "sank." and "Rain,"."""
    rows = "1\tA ship sank.\tRain, rain.\n2\tA dog ran.\tA dog, a cat.\n3\tIt rains.\tIt rains!\n"
    encoder = se.Average(se.WordVectors.default(), tokenizer="words")
    task = load_tsv_task("similarity", written(tmp_path, "own.tsv", rows))
    first, second = task["all"].sentences
    expected = encoder.similarity_pairwise(first, second)
    for one in (encoder, se.Average(os.fspath(saved_vectors(tmp_path)), tokenizer="words")):
        result = evaluate(one, task)["own"]
        np.testing.assert_allclose(result.predictions["all"].predicted, expected, atol=1e-6)
        assert result.details["unknown_tokens"] == 0
    whitened = se.Whitening(encoder, n_components=2).fit([*first, *second])
    assert evaluate(whitened, task)["own"].details["unknown_tokens"] == 0
    assert evaluate(encoder, task, tokens=True)["own"].details["unknown_tokens"] > 0.3


def saved_vectors(folder):
    path = folder / "vectors.sentencode"
    se.WordVectors.default().save(path)
    return path
