"""sentence-transformers takes our encoders: its evaluators as they are, its losses with a layer on top."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

import sentencode as se

TEXTS = ["a ship at sea", "the vessel sank", "a dog barked", "the hound ran home", "bitter tears", "she wept"]
OTHERS = ["a boat on the water", "the ship went down", "dogs bark", "a dog came home", "grief", "she was sad"]


@pytest.fixture(scope="module")
def encoder():
    return se.Average(se.WordVectors.default())


def test_interface_of_evaluators(encoder):
    # Without the package: each name and keyword that its release 6.2 uses.
    torch = pytest.importorskip("torch")
    options = {"batch_size": 2, "show_progress_bar": False, "truncate_dim": None}
    expected = encoder.encode(TEXTS)
    pairs = {**options, "precision": None, "normalize_embeddings": False, "convert_to_numpy": True}
    np.testing.assert_array_equal(encoder.encode(TEXTS, **pairs), expected)
    for encode in (encoder.encode, encoder.encode_query, encoder.encode_document):
        rows = encode(TEXTS, prompt_name=None, prompt=None, convert_to_tensor=True, **options)
        assert torch.equal(rows, torch.from_numpy(expected))
    listed = encoder.encode(TEXTS, convert_to_numpy=False, **options)
    scores = encoder.similarity(torch.stack(listed), rows)
    assert isinstance(scores, torch.Tensor)
    assert scores.topk(1, dim=1).indices.flatten().tolist() == list(range(len(TEXTS)))
    assert isinstance(encoder.similarity_pairwise(rows, listed), torch.Tensor)
    assert encoder.similarity_fn_name == "cosine"
    assert encoder.eval() is encoder
    assert torch.zeros(1).to(encoder.device).device.type == "cpu"
    assert encoder.model_card_data.base_model == encoder.fingerprint()
    encoder.model_card_data.set_evaluation_metrics(None, {"accuracy": 1.0}, epoch=0, step=1)


# With the package: pip install sentence-transformers


@pytest.fixture(scope="module")
def library():
    pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = pytest.importorskip("sentence_transformers")
        if int(module.__version__.partition(".")[0]) < 6:
            pytest.skip(f"sentence-transformers {module.__version__} is older than 6")
        from sentence_transformers.sentence_transformer import evaluation, losses, modules  # noqa: F401
    return module


def evaluators(evaluation, encoder, losses):
    """One of each, by the name of its class; those that need a teacher have ours."""
    import torch

    head = se.sentence_transformers.model(encoder)
    torch.manual_seed(0)
    softmax = losses.SoftmaxLoss(head, sentence_embedding_dimension=encoder.dim, num_labels=2)
    from sentence_transformers.sentence_transformer.readers import InputExample

    pairs = zip(TEXTS, OTHERS, strict=True)
    examples = [InputExample(texts=list(texts), label=i % 2) for i, texts in enumerate(pairs)]
    every = [
        evaluation.EmbeddingSimilarityEvaluator(TEXTS, OTHERS, [5, 4, 3, 4, 2, 1]),
        evaluation.EmbeddingSimilarityEvaluator(TEXTS, OTHERS, [5, 4, 3, 4, 2, 1], precision="float32"),
        evaluation.BinaryClassificationEvaluator(TEXTS, OTHERS, [1, 1, 0, 1, 0, 0]),
        evaluation.InformationRetrievalEvaluator(
            dict(enumerate(TEXTS)), dict(enumerate(OTHERS)), {i: {i} for i in range(6)}
        ),
        evaluation.MSEEvaluator(TEXTS, OTHERS, encoder),
        evaluation.MSEEvaluatorFromDataFrame(
            [{"a": a, "b": b} for a, b in zip(TEXTS, OTHERS, strict=True)], encoder, [("a", "b")]
        ),
        evaluation.ParaphraseMiningEvaluator(
            dict(enumerate(TEXTS + OTHERS)), duplicates_list=[(i, i + 6) for i in range(6)]
        ),
        evaluation.RerankingEvaluator(
            [{"query": a, "positive": [b], "negative": TEXTS[:2]} for a, b in zip(TEXTS, OTHERS, strict=True)]
        ),
        evaluation.RerankingEvaluator(
            [{"query": TEXTS[0], "positive": OTHERS[:1], "negative": OTHERS[1:]}], use_batched_encoding=False
        ),
        evaluation.TranslationEvaluator(TEXTS, OTHERS),
        evaluation.TripletEvaluator(TEXTS, OTHERS, OTHERS[::-1]),
    ]
    module_evaluator = evaluation.LabelAccuracyEvaluator(
        torch.utils.data.DataLoader(examples, batch_size=4), softmax_model=softmax
    )
    return every, module_evaluator


@pytest.mark.filterwarnings("ignore")
def test_all_evaluators(library, encoder, tmp_path):
    from sentence_transformers.sentence_transformer import evaluation, losses

    every, module_evaluator = evaluators(evaluation, encoder, losses)
    model = se.sentence_transformers.model(encoder)
    for evaluator in [*every, evaluation.SequentialEvaluator(every[:2])]:
        ours, expected = evaluator(encoder, str(tmp_path)), evaluator(model)
        assert ours.keys() == expected.keys()
        assert [ours[name] for name in ours] == pytest.approx([expected[name] for name in ours], abs=1e-5)
    # Its loss is trained on the model, so that the evaluator needs the model.
    assert 0 <= module_evaluator(module_evaluator.softmax_model.model)["accuracy"] <= 1

    run = {type(evaluator).__name__ for evaluator in [*every, module_evaluator]}
    known = run | {"BaseEvaluator", "SentenceEvaluator", "SequentialEvaluator", "NanoBEIREvaluator"}
    there = {
        name for name, value in vars(evaluation).items() if inspect.isclass(value) and "Evaluator" in name
    }
    assert there <= known, "a new release has further evaluators"


@pytest.mark.filterwarnings("ignore")
def test_helpers(library, encoder):
    from sentence_transformers import util

    hits = util.semantic_search(encoder.encode(TEXTS, convert_to_tensor=True), encoder.encode(OTHERS))
    ours = encoder.semantic_search(TEXTS, OTHERS).to_dicts()
    assert [[hit["corpus_id"] for hit in row] for row in hits] == [
        [hit["corpus_id"] for hit in row] for row in ours
    ]
    score, first, second = util.paraphrase_mining(encoder, TEXTS + OTHERS)[0]
    assert score == pytest.approx(
        float(encoder.similarity((TEXTS + OTHERS)[first], (TEXTS + OTHERS)[second])[0, 0]), abs=1e-5
    )


ENCODERS = {
    "Average": lambda vectors: se.Average(vectors),
    "SIF": lambda vectors: se.SIF(vectors).fit(TEXTS + OTHERS),
    "LAES": lambda vectors: se.LAES(vectors, hidden=3).fit(TEXTS + OTHERS),
    "neural": lambda vectors: se.LSTMSDAE(
        vectors, hidden=8, max_epochs=None, max_steps=2, min_length=1, device="cpu"
    ).fit(TEXTS + OTHERS),
}


@pytest.mark.parametrize("kind", ENCODERS)
@pytest.mark.filterwarnings("ignore")
def test_hard_negatives(library, encoder, kind, tmp_path):
    datasets = pytest.importorskip("datasets")
    from sentence_transformers.util import mine_hard_negatives

    encoder = ENCODERS[kind](encoder.vectors)
    pairs = datasets.Dataset.from_dict({"query": TEXTS, "answer": OTHERS})
    options = {"num_negatives": 2, "verbose": False, "output_format": "n-tuple"}
    mined = mine_hard_negatives(pairs, encoder, cache_folder=str(tmp_path), **options)
    expected = mine_hard_negatives(pairs, se.sentence_transformers.model(encoder), **options)
    assert mined.to_dict() == expected.to_dict()
    assert all(row["negative_1"] != row["answer"] for row in mined)
    files = set(tmp_path.iterdir())
    mine_hard_negatives(pairs, se.Average(encoder.vectors, a=0.5), cache_folder=str(tmp_path), **options)
    assert len(set(tmp_path.iterdir()) - files) == 2  # another encoder has other embeddings


def features_of(model, columns):
    return [model.preprocess(column) for column in columns]


LOSSES = {
    "AnglELoss": 2,
    "CoSENTLoss": 2,
    "CosineSimilarityLoss": 2,
    "ContrastiveLoss": 2,
    "OnlineContrastiveLoss": 2,
    "MultipleNegativesRankingLoss": 2,
    "MultipleNegativesSymmetricRankingLoss": 2,
    "CachedMultipleNegativesRankingLoss": 2,
    "CachedMultipleNegativesSymmetricRankingLoss": 2,
    "MegaBatchMarginLoss": 2,
    "TripletLoss": 3,
    "MarginMSELoss": 3,
    "BatchAllTripletLoss": 1,
    "BatchHardTripletLoss": 1,
    "BatchHardSoftMarginTripletLoss": 1,
    "BatchSemiHardTripletLoss": 1,
    "MSELoss": 1,
    "EmbedDistillLoss": 1,
    "DistillKLDivLoss": 3,
    "SoftmaxLoss": 2,
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.filterwarnings("ignore")
def test_losses_train_a_layer_on_top(library, encoder, name):
    import torch
    from sentence_transformers.sentence_transformer import losses
    from sentence_transformers.sentence_transformer.modules import Dense

    torch.manual_seed(0)
    dense = Dense(encoder.dim, 8)
    model = se.sentence_transformers.model(encoder, dense)
    more = {"SoftmaxLoss": {"sentence_embedding_dimension": 8, "num_labels": 2}}
    loss = getattr(losses, name)(model, **more.get(name, {}))
    columns = features_of(model, [TEXTS, OTHERS, OTHERS[::-1]][: LOSSES[name]])
    labels = {
        "MSELoss": torch.randn(6, 8),  # a teacher's rows
        "EmbedDistillLoss": torch.randn(6, 8),
        "MarginMSELoss": torch.randn(6),
        "DistillKLDivLoss": torch.randn(6, 2),
    }.get(name, torch.tensor([1, 0, 1, 1, 0, 0]))
    if name == "OnlineContrastiveLoss":  # it learns from pairs that are on the wrong side alone
        labels = 1 - labels
    if name in ("AnglELoss", "CoSENTLoss", "CosineSimilarityLoss"):
        labels = labels.float()
    before = encoder.encode(TEXTS)
    step = torch.optim.Adam(loss.parameters(), lr=0.02)
    values = []
    for _ in range(12):
        step.zero_grad()
        value = loss([dict(column) for column in columns], labels)
        value.backward()
        step.step()
        values.append(value.item())
    assert min(values[1:]) < values[0]
    assert dense.linear.weight.grad is not None
    np.testing.assert_array_equal(encoder.encode(TEXTS), before)


@pytest.mark.filterwarnings("ignore")
def test_a_teacher_is_its_rows(library, encoder):
    # MSELoss, MarginMSELoss, EmbedDistillLoss and DistillKLDivLoss take what the teacher computed, as labels.
    import torch
    from sentence_transformers.sentence_transformer import losses
    from sentence_transformers.sentence_transformer.modules import Dense

    student = se.sentence_transformers.model(
        se.Average(encoder.vectors, a=1e-3), Dense(encoder.dim, encoder.dim)
    )
    labels = encoder.encode(TEXTS, convert_to_tensor=True)
    value = losses.MSELoss(student)(features_of(student, [TEXTS]), labels)
    rows = student.encode(TEXTS, convert_to_tensor=True)
    assert value.item() == pytest.approx(torch.nn.functional.mse_loss(rows, labels).item(), rel=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_a_model_is_saved_and_loaded(library, encoder, tmp_path):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense

    model = se.sentence_transformers.model(encoder, Dense(encoder.dim, 8))
    assert (model.get_embedding_dimension(), model.similarity_fn_name) == (8, "cosine")
    model.save(str(tmp_path / "model"))
    again = SentenceTransformer(str(tmp_path / "model"), trust_remote_code=True, device="cpu")
    np.testing.assert_allclose(again.encode(TEXTS), model.encode(TEXTS), atol=1e-6)
    bare = se.sentence_transformers.model(encoder)
    np.testing.assert_allclose(bare.encode(TEXTS), encoder.encode(TEXTS), atol=1e-6)
    prompted = bare.encode(TEXTS, prompt="a ship. ")
    np.testing.assert_allclose(prompted, encoder.encode([f"a ship. {text}" for text in TEXTS]), atol=1e-6)


def test_before_fit_and_without_the_package(encoder, monkeypatch):
    with pytest.raises(se.NotFittedError):
        se.sentence_transformers.model(se.SIF(encoder.vectors))
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers.base.modules", None)
    with pytest.raises(ImportError, match="pip install 'sentence-transformers"):
        se.sentence_transformers.model(encoder)
