"""Word vectors trained on a corpus."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import sentencode as se

TOPICS = {
    "sea": ["ship", "sail", "wave", "harbour", "storm", "captain"],
    "farm": ["cow", "barn", "field", "plough", "harvest", "hay"],
    "court": ["king", "queen", "crown", "castle", "throne", "duke"],
}
FILLERS = ["the", "a", "of", "and", "in", "to"]


@pytest.fixture(scope="module")
def text() -> list[str]:
    """Words of a topic co-occur, mixed with words that occur everywhere."""
    generator = np.random.default_rng(0)
    sentences = []
    for _ in range(1500):
        topic = TOPICS[generator.choice(list(TOPICS))]
        words = [generator.choice(topic if generator.random() < 0.6 else FILLERS) for _ in range(10)]
        sentences.append(" ".join(words).capitalize())
    return sentences


def neighbours_share_a_topic(vectors: se.WordVectors) -> bool:
    def nearest(word: str) -> set[str]:
        return {other for other, _ in vectors.most_similar(word, 5)}

    return all(nearest(word) == set(words) - {word} for words in TOPICS.values() for word in words)


def test_words_of_a_topic_become_neighbours(text):
    vectors = se.WordVectors.train(text, dim=4)
    assert neighbours_share_a_topic(vectors)
    assert len(vectors) == 24
    assert vectors.dim == 4
    assert vectors.storage == "float32"
    counted = se.Vocabulary.from_corpus(text, se.Tokenizer("words", lowercase=True))
    assert list(vectors.words) == counted.words
    np.testing.assert_array_equal(vectors.counts, counted.counts)


def test_every_form_of_corpus_gives_the_same_vectors(text, tmp_path):
    (tmp_path / "books").mkdir()
    half = len(text) // 2
    (tmp_path / "books" / "1.txt").write_text("\n".join(text[:half]) + "\n")
    (tmp_path / "books" / "2.txt.gz").write_bytes(gzip.compress("\n".join(text[half:]).encode()))
    expected = se.WordVectors.train(text, dim=6).matrix()
    corpora = [
        iter(text),
        (sentence for sentence in text),
        np.array(text),
        [sentence.split() for sentence in text],
        tmp_path / "books",
        se.Corpus(lambda: iter(text)),
    ]
    for corpus in corpora:
        np.testing.assert_array_equal(se.WordVectors.train(corpus, dim=6).matrix(), expected)


def test_threads_do_not_matter(text):
    before = se.num_threads()
    tables = []
    for threads in (1, 2, 3):
        se.set_num_threads(threads)
        tables.append(se.WordVectors.train(text, dim=6).matrix())
    se.set_num_threads(before)
    np.testing.assert_allclose(tables[1], tables[0], atol=1e-5)
    np.testing.assert_allclose(tables[2], tables[0], atol=1e-5)


def test_options(text):
    plain = se.WordVectors.train(text, dim=6)
    assert list(se.WordVectors.train(text, dim=6, max_words=9).words) == list(plain.words)[:9]
    common = se.WordVectors.train(text, dim=4, min_count=960)
    assert 4 <= len(common) < 24
    assert common.counts.min() >= 960
    cased = se.WordVectors.train(text, dim=6, lowercase=False)
    assert "Ship" in cased
    assert "ship" in cased
    tokenizer = se.Tokenizer("whitespace", lowercase=True)
    np.testing.assert_array_equal(
        se.WordVectors.train(text, dim=6, tokenizer=tokenizer).matrix(), plain.matrix()
    )
    assert se.WordVectors.train(text, dim=6, storage="int8").storage == "int8"
    for other in ({"window": 2}, {"smoothing": 1.0}, {"seed": 3}):
        assert np.abs(se.WordVectors.train(text, dim=6, **other).matrix() - plain.matrix()).max() > 0


def test_progress_reports_the_stages(text, capsys):
    seen = []
    se.WordVectors.train(text, dim=4, progress=lambda *step: seen.append(step))
    stages = ["counting words", "counting pairs", "decomposing"]
    assert list(dict.fromkeys(stage for stage, _, _ in seen)) == stages
    for stage in stages[:2]:
        assert (stage, len(text), len(text)) in seen
    assert ("decomposing", 10, 10) in seen

    se.WordVectors.train(text, dim=4)
    assert capsys.readouterr() == ("", "")
    se.WordVectors.train(text, dim=4, progress=True)
    assert "decomposing" in capsys.readouterr().err


def test_wrong_arguments(text, tmp_path):
    with pytest.raises(ValueError, match="has 24 words that occur 5 times or more: too few"):
        se.WordVectors.train(text, dim=25)
    with pytest.raises(ValueError, match="has 0 words"):
        se.WordVectors.train([], dim=2)
    with pytest.raises(ValueError, match="'ppmi' or 'word2vec', got 'glove'"):
        se.WordVectors.train(text, method="glove")
    for bad in ({"dim": 0}, {"window": 0}, {"min_count": 0}, {"max_words": 0}, {"epochs": 0}):
        with pytest.raises(ValueError, match=f"{next(iter(bad))} must be at least 1, got 0"):
            se.WordVectors.train(text, **{"dim": 4} | bad)
    with pytest.raises(OSError, match="missing"):
        se.WordVectors.train(tmp_path / "missing.txt", dim=2)


def test_word2vec_is_gensims(text):
    pytest.importorskip("gensim")
    seen = []
    vectors = se.WordVectors.train(
        text, dim=8, method="word2vec", epochs=40, progress=lambda *step: seen.append(step)
    )
    assert list(vectors.words) == list(se.WordVectors.train(text, dim=8).words)
    np.testing.assert_array_equal(vectors.counts, se.WordVectors.train(text, dim=8).counts)
    assert [stage for stage, done, total in seen if done == total][:2] == ["counting words", "epoch 1 of 40"]
    assert seen[-1] == ("epoch 40 of 40", len(text), len(text))
    # Words this frequent are mostly passed over by word2vec: it needs many epochs of so small a text.
    inner = [vectors.similarity(a, b) for words in TOPICS.values() for a in words for b in words if a != b]
    outer = [vectors.similarity(a, b) for a in TOPICS["sea"] for b in TOPICS["court"]]
    assert np.mean(inner) > np.mean(outer) + 0.1


def test_word2vec_without_gensim_says_what_to_install(text, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "gensim", None)
    with pytest.raises(ImportError, match=r"pip install 'sentencode\[train\]'"):
        se.WordVectors.train(text, method="word2vec")
