"""Tables 4 to 7 and figures 2 to 5 of paper 003: does better translation make worse sentence embeddings?"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..evaluation import Report as Evaluated
from ..evaluation import Task, load_groups
from ..evaluation.report.averages import Average as MeanOfTasks
from ..evaluation.report.averages import averaged
from ..text.ngram_model import NgramModel
from .claims import Claim, Claims
from .correlations import Correlations
from .family import Family
from .nmt_rows import CORPORA, CZECH, GERMAN, GRID, ROWS, SIZES, SOURCES, Size
from .parallel import Parallel, parallel_of_files, translated
from .report import Report
from .results_folder import Result, slug
from .score_tables import Cost, Scores
from .translation_figures import draw_alignment, draw_positions

__all__ = ["FAMILY", "GRID", "ROWS", "SIZES", "Size", "reproduce"]

File = str | os.PathLike[str]


_ACCURACIES = ("MR", "CR", "SST2", "SST5", "TREC", "MRPC", "SICKEntailment")
_SIMILARITIES = ("SICKRelatedness", "STSBenchmark", "STS12", "STS13", "STS14", "STS15")
_LOCAL = {"local-7 accuracy": _ACCURACIES, "local-6 correlation": _SIMILARITIES}
_TASKS = ("MR", "CR", "SUBJ", "MPQA", *_ACCURACIES[2:6], "SICKEntailment", "SNLI", *_SIMILARITIES, "STS16")
_SHORT = {
    f"{name} {metric}": f"{name} {short}"
    for name in ("HyTER", "COCO")
    for metric, short in (
        ("cluster_accuracy", "Cl"),
        ("neighbour_accuracy", "NN"),
        ("inverse_davies_bouldin", "iDB"),
    )
}
_PARAPHRASES = tuple(_SHORT)
_ACCURACY_COLUMNS = tuple(f"{task} accuracy" for task in _TASKS[:10])
_CORRELATION_COLUMNS = tuple(f"{task} pearson" for task in _TASKS[10:])
_SCORES = (*_ACCURACY_COLUMNS, *_CORRELATION_COLUMNS)
_BLEU = {corpus: (f"en-{corpus} bleu dev", f"en-{corpus} bleu") for corpus in CORPORA}
_VECTORS = tuple(name for name, row in ROWS.items() if row.tasks is None)
_DISTANCES = tuple(
    f"{task} {measure}"
    for measure in ("lm_perplexity", "oov", "seen")
    for task in (*("SNLI", "SICKEntailment", "AvgAcc", "local-7", "AvgSim", "local-6", "HyTER", "COCO"),)
)


def _measured(bench: Any, encoder: Any, result: Result) -> Result:
    """BLEU, averages of tasks, and HyTER's accuracy with half of each group held out."""
    row = ROWS[result["row"]]
    scores: Result = {}
    path = bench.report_of(result["row"], result["seed"])
    if row.tasks is None:
        report = Evaluated.load(path)
        for name, tasks in _LOCAL.items():
            if set(tasks) <= set(report):
                scores[name] = _mean(report, name, tasks, bench.evaluator.resamples)
        if "HyTER" in report:
            hyter = report["HyTER"]
            low, high = hyter.intervals["cl_half"]
            scores["HyTER cluster_accuracy"] = {"value": hyter.figure("cl_half"), "low": low, "high": high}
    corpus = bench.labels(row)
    if not isinstance(corpus, Parallel):
        return scores
    if row.kind == "":
        return _distances(corpus, bench.evaluator.tasks)
    if not row.trained:
        return scores
    size = bench.size
    search = {"beam": size.beam, "length_penalty": size.length_penalty}
    for split in corpus.references:
        translation = translated(encoder, corpus, split, resamples=bench.evaluator.resamples, **search)
        ending = "" if split == "test" else f" {split}"
        score, low, high, result["bleu"] = translation.bleu
        scores[f"{corpus.direction} bleu{ending}"] = {"value": score, "low": low, "high": high}
        name = slug(f"{result['row']} {result['seed']}")
        bench.results.write(
            f"translations/{name}.{split}.txt", "".join(f"{text}\n" for text in translation.texts)
        )
    return scores


def _distances(corpus: Parallel, tasks: Sequence[Task]) -> Result:
    """Perplexity of each task's sentences under the source text of a corpus, and unknown words."""
    model = NgramModel(order=4).fit(corpus.train.sentences)
    trained_on = set(corpus.train.sentences)
    texts = {
        task.name: corpus.prepare(
            [text for split in task.splits.values() for side in split.sentences for text in side]
        )
        for task in tasks
    }
    for name, averaged_tasks in _LOCAL.items():
        if set(averaged_tasks) <= set(texts):
            texts[name.partition(" ")[0]] = [text for task in averaged_tasks for text in texts[task]]
    scores: Result = {}
    for name, sentences in texts.items():
        scores[f"{name} lm_perplexity"] = {"value": model.perplexity(sentences)}
        scores[f"{name} oov"] = {"value": 100 * model.oov_rate(sentences)}
        scores[f"{name} seen"] = {
            "value": 100 * sum(text in trained_on for text in sentences) / len(sentences)
        }
    return scores


def _mean(report: Evaluated, name: str, tasks: Sequence[str], resamples: int) -> Result:
    unit = "acc" if name.endswith("accuracy") else "correlation"
    mean = averaged(report, MeanOfTasks(name, 0.0, unit, tuple(tasks)), resamples=resamples)
    assert mean.interval is not None
    scale = 1 if unit == "acc" else 100
    return {
        "value": mean.value / scale,
        "low": mean.interval.low / scale,
        "high": mean.interval.high / scale,
    }


_HEADS = {
    name: int(row.options["heads"]) for name, row in ROWS.items() if row.trained and row.options.get("heads")
}


def _claims(corpus: str) -> Iterator[Claim]:
    """The claims of differences between two rows, of one target language."""
    several, one = f"{corpus}-ATTN-ATTN, 8 heads", f"{corpus}-ATTN-ATTN, 1 head"
    for name, row, other in (
        ("more heads translate better", several, one),
        ("attention to all states translates better", f"{corpus}-ATTN", several),
        ("the embedding as context translates better", f"{corpus}-FINAL-CTX", f"{corpus}-FINAL"),
    ):
        yield Claim(name, row, other, (_BLEU[corpus][1],), within=None)
    for task in ("SICKEntailment", "COCO cluster_accuracy", "COCO neighbour_accuracy"):
        yield Claim("fewer heads make better embeddings", one, several, (task,), within=None, net=True)


_CLAIMS = tuple(claim for corpus in CORPORA for claim in _claims(corpus))
_CLAIMED = tuple(dict.fromkeys(row for claim in _CLAIMS for row in (claim.row, claim.other)))

FAMILY = Family(
    name="nmt",
    rows=ROWS,
    sizes=SIZES,
    tasks=_TASKS,
    columns=(*_BLEU["de"], *_BLEU["cs"], *_LOCAL, *_SCORES, *_PARAPHRASES, *_DISTANCES),
    names={
        **{name: name.replace(" lm_", " ") for name in _DISTANCES},
        **{name: name.partition(" ")[0] for name in _LOCAL},
        **{f"en-{corpus} bleu dev": "BLEU dev" for corpus in CORPORA},
        **{f"en-{corpus} bleu": "BLEU test" for corpus in CORPORA},
        "en-cs manual_wins": "manual > others",
        "SICKEntailment accuracy": "SICK-E",
        "SICKRelatedness pearson": "SICK-R, learnt",
        "STSBenchmark pearson": "STSB, learnt",
        **_SHORT,
    },
    tables={
        "4": Scores(
            "Table 4: translation into German",
            "4",
            rows=tuple(GERMAN),
            columns=_BLEU["de"],
        ),
        "5": Scores(
            "Table 5: translation into Czech",
            "5",
            rows=tuple(CZECH),
            columns=(*_BLEU["cs"], "en-cs manual_wins"),
        ),
        "6": Scores(
            "Table 6: SentEval in averages, and clusters of paraphrases",
            "6",
            rows=_VECTORS,
            columns=(
                *("SNLI accuracy", "SICKEntailment accuracy", "AvgAcc accuracy", "local-7 accuracy"),
                *("AvgSim correlation", "local-6 correlation", *_PARAPHRASES),
            ),
            printed={"average of words": "GloVe-BOW"},
            remark=f"local-7: the mean of {', '.join(_ACCURACIES)}; local-6: of Pearson's and Spearman's of "
            f"{', '.join(_SIMILARITIES)}. The paper's AvgAcc is over ten tasks, its AvgSim over seven.",
        ),
        "7": Scores(
            "Table 7: every task",
            "7",
            rows=_VECTORS,
            columns=(*_SCORES, "AvgAcc accuracy", "local-7 accuracy"),
            printed={"average of words": "GloVe-BOW"},
        ),
        "findings": Claims("The paper's findings, and whether they hold here", _CLAIMED),
        "correlations": Correlations(
            "Figure 2: does better translation make worse embeddings? Pearson's correlations over encoders",
            bleu={corpus: test for corpus, (_, test) in _BLEU.items()},
            rows={
                corpus: tuple(name for name in _VECTORS if ROWS[name].corpus == corpus and ROWS[name].trained)
                for corpus in CORPORA
            },
            heads=_HEADS,
            groups={
                "classification": (*_ACCURACY_COLUMNS, "AvgAcc accuracy"),
                "similarity": (*_CORRELATION_COLUMNS, "AvgSim correlation"),
                **{_SHORT[metric]: (metric,) for metric in _PARAPHRASES},
            },
            average="local-7 accuracy",
            published={"de": ("4", "6"), "cs": ("5", "6")},
            epochs={"de": 20, "cs": 1},
        ),
        "distances": Scores(
            "Table 6, last lines: distance between the English training text and the tasks",
            "6",
            rows=tuple(SOURCES),
            columns=_DISTANCES,
            remark="Perplexity is that of a 4-gram model with Kneser-Ney smoothing, trained on the English "
            "side, over known words and ends of sentences; oov: unknown words, seen: sentences of the "
            "training text, both in percent. All are over the sentences of a task, preprocessed as for the "
            "encoders; local-7 and local-6 over those of all their tasks. The paper does not say how its "
            "perplexity treats unknown words.",
        ),
        "cost": Cost("Parameters, and time of training"),
    },
    remarks=(
        "The paper's sizes 600 (Czech: 1000), 1200 and 2400 (4000) are one, two and four times our width.",
        "STS12 to STS15 are means of their subsets, weighted by their sizes.",
        "The weights of the epoch with the lowest loss on dev are evaluated, so BLEU on dev is biased.",
        "Penn Treebank tokens of the tasks are joined, then tokenized and cased as in training. The average "
        "of words reads the original tokens.",
    ),
    further=(),
    labelled=tuple(CORPORA),
    measure=_measured,
    claims=_CLAIMS,
)


def reproduce(
    data: File,
    vectors: Any,
    labels: Mapping[str, Mapping[str, Sequence[File]]],
    *,
    out: File,
    coco: File | None = None,
    hyter: File | None = None,
    size: str | Size = "cpu",
    epochs: int | None = None,
    rows: Sequence[str] | None = None,
    tables: Sequence[str] | None = None,
    sentence: str = "",
    **more: Any,
) -> Report:
    """Computes the paper's tables and figures, see `Family.reproduce`.

    Every row is trained on the same sentences and their translations. Its translations of the validation and
    test sets are evaluated by BLEU, its embeddings on SentEval's tasks and on paraphrases.

    Args:
        data: SentEval's `data` folder.
        vectors: Word vectors of the average of words.
        labels: Target language, "de" or "cs" -> "train", "valid" and "test": two files each, English and its
            translation line by line.
        out: Folder for the results, with translations and figures 2 to 5.
        coco: File of captions, five lines for each image: paraphrases of Table 6.
        hyter: File of paraphrases, lines of a group's name, a tab and a sentence.
        size: "cpu", "paper", or a size.
        epochs: Epochs of each training. None: the size's.
        rows: Names of rows; "grid" are those that two cores train in some hours, for the given languages.
            None: the grid with the size "cpu", else the rows of `tables`.
        tables: Names of tables. None: all.
        sentence: Sentence of figure 4. "": the first test sentence.
        **more: Arguments of `Family.reproduce`.

    Raises:
        ImportError: sacremoses, sacrebleu or tokenizers are not installed.
        ValueError: A corpus lacks files; or as `Family.reproduce`.
    """
    chosen = FAMILY.sized(size)
    if not isinstance(chosen, Size):
        raise TypeError(f"size must be a name or a Size of this module, got {type(size).__name__}")
    if not labels:
        raise ValueError("labels: give at least one target language, de or cs")
    if epochs is not None and (more.get("steps"), more.get("minutes")) != (None, None):
        raise ValueError("give epochs, steps or minutes, but only one of them")
    chosen = chosen.with_epochs(epochs)
    if rows is None and size == "cpu" and tables is None:
        rows = ["grid"]
    if rows is not None:
        grid_rows = [row for corpus in CORPORA if corpus in labels for row in GRID[corpus]]
        rows = [row for name in rows for row in (grid_rows if name == "grid" else (name,))]
    corpora = {name: _corpus(name, files, chosen) for name, files in labels.items()}
    further = [] if coco is None else [load_groups(coco, "lines", name="COCO")]
    further += [] if hyter is None else [load_groups(hyter, name="HyTER")]
    report = FAMILY.reproduce(
        data,
        vectors,
        out=out,
        size=chosen,
        labels=corpora,
        further=further,
        rows=rows,
        tables=tables,
        **more,
    )
    if importlib.util.find_spec("matplotlib") is not None:
        search = {"beam": chosen.beam, "length_penalty": chosen.length_penalty}
        for name, corpus in corpora.items():
            compound = [row for row in _HEADS if row.startswith(f"{name}-ATTN-ATTN") and report.of(row)]
            if compound:
                row = max(compound, key=lambda row: _HEADS[row])
                draw_alignment(report, out, f"fig4-{name}", row, corpus, sentence, **search)
                draw_positions(report, out, f"fig5-{name}", row, corpus)
    return report


def _corpus(name: str, files: Mapping[str, Sequence[File]], size: Size) -> Parallel:
    if name not in CORPORA:
        raise ValueError(f"labels: no target language is named {name!r}; there are {', '.join(CORPORA)}")
    for split in ("train", "valid", "test"):
        if len(files.get(split) or ()) != 2:
            raise ValueError(f"{name}: {split} must be two files, English and its translation")
    sides = {split: ([english], [translation]) for split, (english, translation) in files.items()}
    return parallel_of_files(
        ("en", name),
        sides["train"],
        sides["valid"],
        {"test": sides["test"]},
        pieces=size.pieces.get(name, 0),
        most=size.examples.get(name),
    )
