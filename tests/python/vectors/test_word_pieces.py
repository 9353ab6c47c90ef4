"""Students over the word pieces of their teacher."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sentencode as se
from sentencode.distill import distill

PIECES = ["[UNK]", "[CLS]", "the", "cat", "dog", "play", "##s", "##ing", ".", "z", "##z"]
SENTENCES = [
    "the cat plays.",
    "the dog plays",
    "playing cats",
    "dogs",
    "the zzz cat",
    "zz dog",
    "dogs playing",
] * 20


def tokenizer_json(kind="WordPiece"):
    model = {"type": kind, "unk_token": "[UNK]", "vocab": {piece: i for i, piece in enumerate(PIECES)}}
    if kind == "WordPiece":
        model |= {"continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    flags = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    special = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {
        "version": "1.0",
        "added_tokens": [{"id": 1, "content": "[CLS]", **special, "special": True}],
        "normalizer": {"type": "BertNormalizer", **flags},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": model,
    }


def teacher_of(tmp_path, kind="WordPiece", added=()):
    """A teacher; `added` are special tokens that are no pieces of its model, as `add_tokens` adds them."""
    path = tmp_path / f"{kind}.json"
    content = tokenizer_json(kind)
    for i, token in enumerate(added):
        content["added_tokens"].append(
            {**content["added_tokens"][0], "id": len(PIECES) + i, "content": token}
        )
    path.write_text(json.dumps(content))
    rows = np.random.default_rng(4).normal(size=(len(PIECES), 6)).astype(np.float32)
    table = se.WordVectors.from_array(PIECES, rows)
    return se.Average(table, tokenizer=se.Tokenizer(f"hf:{path}"), lowercase=False)


def test_words_fall_back_to_pieces_by_default(tmp_path):
    student = distill(teacher_of(tmp_path), SENTENCES, a=None, penalty=1e-6, cache=False)
    assert {"plays", "playing", "##s", "##ing"} <= set(student.vectors.words)
    assert student.unknown == 0
    assert student.encoder.encode("zs").any()  # in no sentence
    whole = se.WordVectors.distill(teacher_of(tmp_path), SENTENCES, a=None, penalty=1e-6, cache=False)
    assert "plays" in whole.words
    assert "##s" not in whole.words
    cased = distill(teacher_of(tmp_path), SENTENCES, lowercase=False, a=None, penalty=1e-6, cache=False)
    assert cased.tokenizer.subwords is None


def test_pieces(tmp_path):
    teacher = teacher_of(tmp_path)
    student = distill(teacher, SENTENCES, "wordpieces", a=None, penalty=1e-6, cache=False)
    assert sorted(student.vectors.words) == sorted(PIECES)
    assert not student.vectors.matrix(["[CLS]"]).any()
    encoder = se.Average(student.vectors, tokenizer=student.tokenizer)
    centred = [rows - rows.mean(0) for rows in (e.encode(sorted(set(SENTENCES))) for e in (encoder, teacher))]
    np.testing.assert_allclose(centred[0], centred[1], atol=0.05 * np.abs(centred[1]).max())
    encoder.export(tmp_path / "student")
    texts = [*SENTENCES[:7], "", "unknown", "[CLS] cat"]
    np.testing.assert_allclose(se.load(tmp_path / "student").encode(texts), encoder.encode(texts), atol=1e-6)


def test_words_and_pieces(tmp_path):
    student = distill(teacher_of(tmp_path), SENTENCES, "both", max_words=6, penalty=1e-3, cache=False)
    words = set(student.vectors.words)
    assert words >= {*PIECES, "playing", "plays", "dogs"}
    assert student.tokenizer("Playing dogs dogz catz!") == ["playing", "dogs", "dog", "##z", "cat", "##z"]
    options = {"max_words": 6, "penalty": 1e-3, "cache": False}
    with pytest.warns(UserWarning, match="another tokenizer than the student's.* sentencode.distill.distill"):
        vectors = se.WordVectors.distill(teacher_of(tmp_path), SENTENCES, "both", **options)
    assert set(vectors.words) == words


def test_words_have_other_ids_than_added_tokens(tmp_path):
    options = {"max_words": 6, "penalty": 1e-3, "cache": False}
    students = [
        distill(teacher_of(tmp_path, added=added), SENTENCES, "both", **options)
        for added in ((), ("[Q]", "[D]"))
    ]
    plain, other = students
    assert set(other.vectors.words) == {*plain.vectors.words, "[Q]", "[D]"}
    texts = [*SENTENCES[:7], "[Q] playing cats"]
    assert other.tokenizer(texts) == [*plain.tokenizer(texts[:-1]), ["[Q]", "playing", "cat", "##s"]]
    ids = [other.tokenizer.subwords.id(token) for token in ("dogs", "[Q]", "[D]")]
    assert ids[0] < ids[1] < ids[2]
    stored = json.loads(other.tokenizer.subwords.json)["added_tokens"]
    assert [(token["content"], token["id"]) for token in stored[1:]] == list(
        zip(("[Q]", "[D]"), ids[1:], strict=True)
    )
    other.encoder.export(tmp_path / "student")
    np.testing.assert_allclose(
        se.load(tmp_path / "student").encode(texts), other.encoder.encode(texts), atol=1e-6
    )


def test_a_teacher_whose_embeddings_depend_on_other_sentences(tmp_path):
    vectors = teacher_of(tmp_path).vectors
    with pytest.raises(ValueError, match="distill: the teacher: SIF has statistics='evaluated'"):
        distill(se.SIF(vectors, statistics="evaluated"), SENTENCES, cache=False)


def test_teachers_without_pieces(tmp_path):
    plain = se.Average(se.WordVectors.default())
    with pytest.raises(ValueError, match="the teacher Average has no tokenizer of Hugging Face"):
        distill(plain, SENTENCES, "wordpieces", cache=False)
    with pytest.raises(ValueError, match="'wordpieces' or 'both', got 'pieces'"):
        distill(plain, SENTENCES, "pieces", cache=False)
    with pytest.raises(NotImplementedError, match="is WordLevel, expected WordPiece"):
        distill(teacher_of(tmp_path, "WordLevel"), SENTENCES, "both", cache=False)
