"""Rows of the paper on compound attention at a tiny size, from parallel text to tables and figures."""

from __future__ import annotations

import importlib.util
import itertools
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
for needed in ("sacrebleu", "sacremoses", "tokenizers"):
    pytest.importorskip(needed)

import sentencode as se
from sentencode.cli import main
from sentencode.evaluation import Report, bleu
from sentencode.reproduce import nmt
from sentencode.reproduce.correlations import _with, permutation_test
from sentencode.reproduce.parallel import parallel_of_files
from sentencode.text.ngram_model import NgramModel

sys.path.insert(0, str(Path(__file__).parent))
from small import QUICK, fill, sentence, word_vectors  # a module of this folder

TINY = nmt.Size(
    hidden=12,
    cs_hidden=4,
    transformer=(8, 1, 8),
    pieces={"de": 60},
    beam=2,
    training={
        **{"features": 6, "decoder_hidden": 8, "attention": 4, "attention_heads": 2, "dropout": 0.0},
        **{"learning_rate": 0.01, "batch_size": 16, "max_epochs": 2, "validate_every": None, "inner": 8},
    },
)
COMPOUND, PLAIN, BAHDANAU = "de-ATTN-ATTN, 8 heads", "de-FINAL", "de-ATTN"
THREE, TRF = "de-ATTN-CTX, 3 heads", "de-TRF-ATTN-ATTN, 6 heads"
CORRELATIONS = nmt.FAMILY.tables["correlations"]
CONTROLS = ["average of words", "untrained de-MAXPOOL", "English side of the de data"]
ASKED = [COMPOUND, PLAIN, BAHDANAU, THREE, TRF, *CONTROLS]
COSINE = {"local-2 accuracy": ("CR", "TREC"), "local-1 correlation": ("STSBenchmark",)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("nmt")
    fill(root, word_vectors())
    rng = np.random.default_rng(3)
    for split, n in (("train", 60), ("valid", 10), ("test", 12)):
        english = [f"The {sentence(rng, low=7, high=10)}." for _ in range(n)]
        (root / f"{split}.en").write_text("\n".join(english) + "\n")
        for language in ("de", "cs"):
            (root / f"{split}.{language}").write_text(
                "\n".join(text.replace("film", "Film").replace("a", "o") for text in english) + "\n"
            )
    groups = [[sentence(rng) for _ in range(5)] for _ in range(8)]
    (root / "coco.txt").write_text("\n".join(itertools.chain.from_iterable(groups)) + "\n")
    lines = [f"{i}\t{text}" for i, of in enumerate(groups) for text in of[:4]]
    (root / "hyter.tsv").write_text("\n".join(lines) + "\n")
    return root


def labels(folder, *languages):
    return {
        language: {
            split: [folder / f"{split}.en", folder / f"{split}.{language}"]
            for split in ("train", "valid", "test")
        }
        for language in languages
    }


def reproduce(folder, out, *languages, **more):
    files = {"coco": folder / "coco.txt", "hyter": folder / "hyter.tsv"}
    files["labels"] = labels(folder, *(languages or ("de",)))
    arguments = {"size": TINY, "rows": ASKED, **files, **QUICK, **more}
    return nmt.reproduce(folder / "data", word_vectors(), out=out, **arguments)


@pytest.fixture(scope="module")
def done(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "nmt"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nmt, "_LOCAL", COSINE)
        table = replace(nmt.FAMILY.tables["correlations"], average="local-2 accuracy")
        patch.setitem(nmt.FAMILY.tables, "correlations", table)
        return reproduce(folder, out), out


def test_bleu_is_that_of_the_detokenized_translations(done, folder):
    report, out = done
    for row in (COMPOUND, BAHDANAU, TRF):
        (result,) = report.of(row)
        assert len(result["validations"]) == 2
        encoder = se.load(out / "encoders" / result["encoder"])
        for split, ending in (("test", ""), ("dev", " dev")):
            file = {"test": "test", "dev": "valid"}[split]
            written = (out / "translations" / f"{Path(result['encoder']).stem}.{split}.txt").read_text()
            references = (folder / f"{file}.de").read_text().splitlines()
            expected = bleu(written.splitlines(), references, resamples=20)
            score = result["scores"][f"en-de bleu{ending}"]
            assert (score["value"], score["low"], score["high"]) == pytest.approx(expected[:3])
            assert result["bleu"] == expected.signature
            corpus = parallel_of_files(
                ("en", "de"),
                *(([folder / f"{name}.en"], [folder / f"{name}.de"]) for name in ("train", "valid")),
                {"test": ([folder / "test.en"], [folder / "test.de"])},
                pieces=60,
            )
            prepared = corpus.source.prepare((folder / f"{file}.en").read_text().splitlines())
            again = encoder.translate(prepared, beam=2, length_penalty=0.6)
            assert corpus.target.restore(again) == written.splitlines()


def test_embeddings_are_evaluated_on_preprocessed_texts(done, folder):
    report, out = done
    (result,) = report.of(COMPOUND)
    encoder = se.load(out / "encoders" / result["encoder"])
    assert result["dim"] == 24 == encoder.network.dim
    assert report.of(THREE)[0]["dim"] == 24
    assert report.of(TRF)[0]["dim"] == 24
    assert set(report.scores(BAHDANAU)) == {"en-de bleu", "en-de bleu dev"}
    assert report.of(BAHDANAU)[0]["dim"] is None
    expected = {"CR accuracy", "TREC accuracy", "STSBenchmark pearson", "COCO cluster_accuracy"}
    expected |= {"HyTER cluster_accuracy", "COCO inverse_davies_bouldin", "local-2 accuracy"}
    for row in (COMPOUND, PLAIN, THREE, *CONTROLS[:2]):
        assert expected <= set(report.scores(row))
    corpus = parallel_of_files(
        ("en", "de"),
        *(([folder / f"{name}.en"], [folder / f"{name}.de"]) for name in ("train", "valid")),
        {},
        pieces=60,
    )
    task = se.evaluation.load_groups(folder / "coco.txt", "lines", name="COCO")
    rows = encoder.encode(corpus.source.prepare(task["all"].sentences[0]))
    neighbours = se.evaluation.nearest_neighbours(rows, task["all"].labels).value
    assert result["scores"]["COCO neighbour_accuracy"]["value"] == pytest.approx(100 * neighbours)
    evaluated = Report.load(out / "reports" / f"{Path(result['encoder']).stem}.json")
    assert result["scores"]["HyTER cluster_accuracy"]["value"] == evaluated["HyTER"].figure("cl_half")
    mean = np.mean([evaluated[task].figure("acc") for task in ("CR", "TREC")])
    assert result["scores"]["local-2 accuracy"]["value"] == pytest.approx(mean)
    interval = result["scores"]["local-2 accuracy"]
    assert interval["low"] <= interval["value"] <= interval["high"]


def test_the_untrained_control_has_the_words_that_are_trained_on(done):
    report, _ = done
    trained, untrained = (
        report.of(row)[0]["parameters"]["with_softmax"] for row in (PLAIN, "untrained de-MAXPOOL")
    )
    assert trained == untrained


def test_distance_of_the_source(done, folder):
    report, _ = done
    (result,) = report.of("English side of the de data")
    corpus = parallel_of_files(
        ("en", "de"),
        *(([folder / f"{name}.en"], [folder / f"{name}.de"]) for name in ("train", "valid")),
        {},
    )
    texts = corpus.prepare((folder / "coco.txt").read_text().splitlines())
    model = NgramModel(order=4).fit(corpus.train.sentences)
    assert result["scores"]["COCO lm_perplexity"]["value"] == pytest.approx(model.perplexity(texts))
    known = {word for text in corpus.train.sentences for word in text.split()}
    words = [word for text in texts for word in text.split()]
    share = np.mean([word not in known for word in words])
    assert result["scores"]["COCO oov"]["value"] == pytest.approx(100 * share)


def test_tables_and_figures(done):
    report, out = done
    text = report.markdown()
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    printed = {line[0] for line in lines if line[0].endswith(", paper")}
    assert {"GloVe-BOW, paper"} <= printed
    assert f"| {COMPOUND}, ours |" in text
    assert "Translations, de: train 60, dev 10, test 12." in text
    assert "| better translation makes worse embeddings |" not in text  # of five encoders
    assert f"| more heads translate better | {COMPOUND} /" not in text  # the row with one head is missing
    assert "| de, BLEU and classification | 4 |" in text
    assert report.settings["labels"]["de"]["text"] == {"languages": ["en", "de"], "pieces": 60}
    if importlib.util.find_spec("matplotlib") is not None:
        for name in ("fig2-de", "fig3-de", "fig4-de", "fig5-de"):
            assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def paper_figures(language):
    """A report with the published figures of a language."""
    report = CORRELATIONS.papers_report(nmt.FAMILY.report([], {"labels": {}}))
    rows = CORRELATIONS.rows[language]
    return replace(report, results=[result for result in report.results if result["row"] in rows])


def test_every_row_of_the_paper_is_there():
    for language, table in (("de", "4"), ("cs", "5")):
        printed = nmt.FAMILY.report([], {}).printed(table)
        ours = {row.printed or name for name, row in nmt.ROWS.items() if row.corpus == language}
        assert set(printed) <= ours
        with_embeddings = [name for name in printed if not name.endswith(("-ATTN", "-TRF"))]
        assert len(paper_figures(language).results) == len(with_embeddings)


@pytest.mark.parametrize(
    ("language", "one", "printed", "within"),
    [
        ("cs", "BLEU", -0.57, 0.12),  # here of table 6's metrics alone
        ("cs", "heads", -0.81, 0.05),  # the same
        ("de", "heads", -0.18, 0.06),  # the same
    ],
)
def test_correlations_of_the_papers_own_figures_are_those_of_its_text(language, one, printed, within):
    ((_, encoders),) = CORRELATIONS._languages(paper_figures(language))
    variable = {"BLEU": encoders.bleu, "heads": encoders.heads}[one]
    there = np.isfinite(variable)
    correlations = _with(variable[there], encoders.values[there])
    assert correlations.mean() == pytest.approx(printed, abs=within)
    for r, column in zip(correlations, encoders.values[there].T, strict=True):
        assert r == pytest.approx(np.corrcoef(variable[there], column)[0, 1])


@pytest.mark.parametrize(("language", "within"), [("de", 0.005), ("cs", 0.015)])  # of dev, cs has 0.88
def test_heads_and_bleu(language, within):
    means, *_ = CORRELATIONS.content(paper_figures(language))
    (row,) = [row for row in means[2] if row[0] == f"{language}, heads and BLEU"]
    assert float(row[3]) == pytest.approx(float(row[-1]), abs=within)


@pytest.mark.parametrize("language", ["de", "cs"])
def test_the_figures_that_the_papers_correlations_are_over_are_printed(language):
    report = paper_figures(language)
    *_, (title, heading, lines) = CORRELATIONS.content(report)
    tables = {"de": "4 and 6", "cs": "5 and 6"}[language]
    assert title.endswith(f"{language}, tables {tables}")
    assert len(lines) == len(report.results) == {"de": 21, "cs": 9}[language]
    bleu, embeddings = (report.printed(table) for table in tables.split(" and "))
    for name, *cells in lines:
        row = name.removesuffix(", paper")
        assert cells[heading.index("BLEU test") - 1] == bleu[row][f"en-{language} bleu"]
        for column, short in (("AvgSim correlation", "AvgSim"), ("COCO neighbour_accuracy", "COCO NN")):
            assert cells[heading.index(short) - 1] == embeddings[row][column]
        assert set(embeddings[row].values()) <= set(cells)


@pytest.mark.parametrize("language", ["de", "cs"])
def test_groups_of_the_papers_metrics_are_tested(language):
    report = paper_figures(language)
    means, *_ = CORRELATIONS.content(report)
    groups = [row for row in means[2] if row[0].startswith(f"{language}, BLEU and")]
    findings = {
        f"{language}, {one['compared'].partition(',')[0]}": one for one in CORRELATIONS.findings(report)
    }
    assert [row[0] for row in groups] == list(findings)
    for name, _, negative, mean, interval, p, paper in groups:
        finding = findings[name]
        assert mean.split(" ")[0] == paper == f"{finding['value']:.2f}" == f"{finding['paper']:.2f}"
        assert interval == f"{finding['low']:.2f} to {finding['high']:.2f}"
        assert finding["reasons"] == [f"p = {p}", f"{negative} metrics negative"][: len(finding["tasks"])]
    holding = {name for name, finding in findings.items() if finding["verdict"] == "holds"}
    clear = {"de": {"similarity", "COCO NN"}, "cs": {"HyTER iDB"}}  # p < 0.05 / 8
    assert holding == {f"{language}, BLEU and {group}" for group in clear[language]}
    assert all(finding["verdict"] != "differs" for finding in findings.values())


def test_a_correlation_whose_interval_contains_zero_is_undecided():
    page = json.loads((Path(__file__).parents[3] / "docs/results/nmt.json").read_text())

    def finding(rows):
        findings = nmt.FAMILY.findings(nmt.FAMILY.report(rows, page["settings"]))
        (one,) = [one for one in findings if one.get("compared") == "BLEU and classification, de"]
        return one

    one = finding(page["rows"])
    assert one["high"] < 0
    assert one["verdict"] == "holds"
    one = finding([row for row in page["rows"] if row["row"] != "de-TRF-ATTN-ATTN, 3 heads"])
    assert one["reasons"][0] == "p = 0.004"
    assert one["low"] < 0 < one["high"]
    assert one["verdict"] == "undecided"


def test_metrics_of_paraphrases_are_groups_of_their_own():
    groups = CORRELATIONS.groups
    assert {name: groups[name] for name in groups if "COCO" in name} == {
        "COCO Cl": ("COCO cluster_accuracy",),
        "COCO NN": ("COCO neighbour_accuracy",),
        "COCO iDB": ("COCO inverse_davies_bouldin",),
    }


@pytest.mark.parametrize(
    ("settings", "reasons"),
    [
        ({}, []),
        ({"epochs": 30}, []),
        ({"epochs": 8}, ["only 8 of the paper's 20 epochs"]),
        ({"size": {"training": {"max_epochs": 9}}}, ["only 9 of the paper's 20 epochs"]),
        ({"size": {"training": {"max_epochs": 9}, "corpus_training": {"de": {"max_epochs": 20}}}}, []),
    ],
)
def test_verdicts_name_the_epochs_of_the_settings(settings, reasons):
    findings = CORRELATIONS.findings(replace(paper_figures("de"), settings=settings))
    assert all([one for one in finding["reasons"] if "epochs" in one] == reasons for finding in findings)


def test_p_of_permutations_is_level():
    rng = np.random.default_rng(0)
    below = 0
    for _ in range(60):
        values = rng.normal(size=(10, 5)) + rng.normal(size=(10, 1))  # metrics that go together
        below += permutation_test(rng.normal(size=10), values)[1] < 0.2
    assert 4 <= below <= 22  # 12 are expected
    bleu = rng.normal(size=10)
    mean, p = permutation_test(bleu, -bleu[:, None] + 0.1 * rng.normal(size=(10, 3)))
    assert mean < -0.9
    assert p < 0.01
    values = rng.normal(size=(10, 4))
    expected = np.mean([np.corrcoef(bleu, column)[0, 1] for column in values.T])
    assert permutation_test(bleu, values)[0] == pytest.approx(expected)


def test_constant_metrics_are_dropped():
    report = paper_figures("cs")
    for result in report.results:
        result["scores"]["HyTER neighbour_accuracy"] = {"value": 100.0}
    notes = list(CORRELATIONS.notes(report))
    assert "Equal for all encoders and left out: HyTER neighbour_accuracy." in notes
    assert not any("nan" in note for note in notes)


def test_what_is_constant_over_the_compared_encoders_is_dropped():
    report = paper_figures("cs")
    for result in report.results:
        if result["row"] in CORRELATIONS.heads:
            result["scores"]["HyTER neighbour_accuracy"] = {"value": 100.0}
    _, _, means = next(CORRELATIONS.content(report))
    names = [row[0] for row in means]
    assert "cs, BLEU and HyTER NN" in names
    assert "cs, heads and HyTER NN" not in names
    assert not any("nan" in cell for row in means for cell in row)
    for result in report.results:
        result["scores"][CORRELATIONS.bleu["cs"]] = {"value": 0.0}
    assert not list(CORRELATIONS.findings(report))


def test_treebank_tokens_are_joined(folder):
    corpus = parallel_of_files(
        ("en", "de"),
        *(([folder / f"{name}.en"], [folder / f"{name}.de"]) for name in ("train", "valid")),
        {},
    )
    tokens = ["it 's great , is n't it ? -LRB- they 'll say `` no '' -RRB-", "the dogs ' bowl"]
    raw = ["it's great, isn't it? (they'll say \"no\")", "the dogs ' bowl"]
    assert corpus.prepare(tokens) == corpus.source.prepare(raw)


def test_a_second_call_computes_nothing_and_other_settings_are_refused(done, folder, monkeypatch):
    report, out = done
    monkeypatch.setattr(nmt, "_LOCAL", COSINE)
    before = (out / "results.json").read_bytes()
    assert reproduce(folder, out, resume=True).results == report.results
    assert (out / "results.json").read_bytes() == before
    for change in ({"epochs": 1}, {"coco": None}, {"size": replace(TINY, beam=3)}):
        with pytest.raises(ValueError, match="made with other settings"):
            reproduce(folder, out, resume=True, **change)


def test_without_pieces_words_are_split_at_spaces(folder, tmp_path):
    size = replace(TINY, pieces={}, steps=2)
    report = reproduce(folder, tmp_path / "out", "cs", rows=["cs-ATTN-ATTN, 4 heads"], size=size, coco=None)
    (result,) = report.of("cs-ATTN-ATTN, 4 heads")
    assert result["dim"] == 8
    assert "en-cs bleu" in result["scores"]
    encoder = se.load(tmp_path / "out" / "encoders" / result["encoder"])
    assert "film" in encoder.vocabulary_.words
    assert "Film" in encoder.target_vocabulary_.words


def test_wrong_options(folder, tmp_path):
    with pytest.raises(ValueError, match="give epochs, steps or minutes"):
        reproduce(folder, tmp_path / "a", epochs=1, steps=2)
    with pytest.raises(ValueError, match="give at least one target language"):
        reproduce(folder, tmp_path / "b", labels={})


def test_the_grid_is_of_the_languages_that_are_given():
    assert all(not row.startswith("de-") for row in nmt.GRID["cs"])
    assert "untrained cs-ATTN-ATTN, 8 heads" in nmt.GRID["cs"]
    assert sum(nmt.ROWS[row].trained for row in nmt.GRID["de"]) == 13
    assert all(row in nmt.ROWS for of in nmt.GRID.values() for row in of)


def test_transformers_warm_up_with_steps_too(folder, tmp_path):
    size = replace(TINY, warmup=3)
    report = reproduce(folder, tmp_path / "out", rows=[TRF], size=size, steps=20, coco=None, hyter=None)
    assert report.of(TRF)[0]["config"]["warmup"] == 3
    assert report.of(TRF)[0]["config"]["dropout"] == size.trf_dropout != size.training["dropout"]


def test_wrong_files(folder, tmp_path):
    with pytest.raises(ValueError, match="no target language is named 'fr'; there are de, cs"):
        reproduce(folder, tmp_path / "a", labels={"fr": labels(folder, "de")["de"]})
    with pytest.raises(ValueError, match="de: test must be two files, English and its translation"):
        reproduce(folder, tmp_path / "b", labels={"de": {**labels(folder, "de")["de"], "test": []}})
    arguments = labels(folder, "de")["de"]
    arguments["valid"] = [folder / "valid.en", folder / "test.de"]
    with pytest.raises(ValueError, match=r"valid.en has 10 lines and .*test.de 12: expected a translation"):
        reproduce(folder, tmp_path / "c", labels={"de": arguments})


def test_the_command(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(nmt.SIZES, "tiny", replace(TINY, steps=1))
    files = [
        argument
        for split, option in (("train", "--de"), ("valid", "--de-valid"), ("test", "--de-test"))
        for argument in (option, str(folder / f"{split}.en"), str(folder / f"{split}.de"))
    ]
    arguments = [
        *("reproduce", "nmt", "--data", str(folder / "data"), "--size", "tiny", "--set", "folds=2", *files),
        *("--vectors", str(folder / "vectors.sentencode"), "--partial", "--quiet", "--device", "cpu"),
        *("--rows", "de-final-ctx", "--resamples", "20", "--table", "4", "--out", str(tmp_path / "out")),
    ]
    assert main(arguments) == 0
    assert "de-FINAL-CTX, ours" in capsys.readouterr().out
    assert main([*arguments, "--resume", "--steps", "3"]) != 0
    assert "made with other settings" in capsys.readouterr().err
