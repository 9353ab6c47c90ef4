"""Computes the tables and figures of a paper, next to the published numbers.

Each row is saved in the results folder (--out) when it is computed; --resume continues a stopped run.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from .errors import UsageError
from .options import add_assignments, add_command, add_options, assignment

__all__ = ["EXAMPLE", "HELP", "NAME", "add_arguments"]

NAME = "reproduce"
HELP = "reproduce the tables and figures of a paper"
EXAMPLE = """
sentencode reproduce laes --data SentEval/data --vectors glove.840B.300d.txt --out laes
sentencode reproduce aae --data SentEval/data --vectors glove.840B.300d.txt --train books.txt --valid dev.txt
sentencode reproduce distill teacher.sentencode --data SentEval/data --sentences wiki.txt.xz
"""

Options = Mapping[str, tuple[Any, str]]  # as for `add_options`
_CURVES: Options = {"--curves": (False, "evaluate SICK-R and STS14 at each validation, and draw the curves")}
_INFERSENT: Options = {"--infersent FILE": (Path, "an encoder, as `reproduce pooling` trains InferSent")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command of each family, and that of pages."""
    families = parser.add_subparsers(title="families", metavar="FAMILY", required=True)
    for family in (Laes, Aae, RnnCnn, Pooling, Nmt, Distill, Tasks, Choose, Page):
        add_command(families, family)


class _Family:
    """The command of a family; `NAME` is that of its module."""

    NAME: ClassVar[str]
    TABLES: ClassVar[str]  # names of tables
    ROW: ClassVar[str]  # name of a row, as an example
    VECTORS: ClassVar[str] = "word vectors"  # help text
    REQUIRED: ClassVar[tuple[str, ...]] = ("data", "vectors")
    OPTIONS: ClassVar[Options] = {}  # arguments of the family's `reproduce`

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        common: Options = {
            "--data FOLDER": (Path, "SentEval's data, or its downstream"),
            "--vectors FILE": (Path, cls.VECTORS),
            "--table NAME ...": (str, f"{cls.TABLES} (default: all)"),
            "--rows NAME ...": (str, f"names such as {cls.ROW} (default: those of the tables)"),
            "--out FOLDER": (Path(f"{cls.NAME}-results"), "folder of the results"),
            "--resume": (False, "continue with the results in --out"),
            "--resamples N": (2000, "bootstrap resamples"),
            "--partial": (False, "accept files whose size is not the published one"),
            "--quiet": (False, "no progress bar"),
        }
        add_options(parser, {**common, **cls.OPTIONS}, cls.REQUIRED)

    @classmethod
    def arguments(cls, options: argparse.Namespace) -> dict[str, Any]:
        """The arguments of the family's `reproduce`."""
        common = ("data", "vectors", "rows", "out", "resume", "resamples", "partial")
        family = (form.split()[0].strip("-").replace("-", "_") for form in cls.OPTIONS)
        return {
            **{name: getattr(options, name) for name in (*common, *family)},
            "tables": options.table,
            "show_progress_bar": not options.quiet,
        }

    @classmethod
    def run(cls, options: argparse.Namespace) -> None:
        """Runs the command."""
        family = importlib.import_module(f"sentencode.reproduce.{cls.NAME.replace('-', '_')}")
        report = family.reproduce(**cls.arguments(options))
        if text := report.text():
            print(text)
        cls.print_more(report, options)
        files = sorted(path.name for path in options.out.iterdir())
        print(f"results in {options.out}: {', '.join(files)}")

    @classmethod
    def print_more(cls, report: Any, options: argparse.Namespace) -> None:
        """Prints what the tables do not show."""


class Laes(_Family):
    """Paper 004: averages, SIF, uSIF and the linear autoencoder on SICK and STSBenchmark.

    Every encoder is fitted to the training sentences; hidden sizes and numbers of components are chosen on
    the development set. Prints tables I and II; --out receives them, figure 2, and a JSON file for each row.
    """

    NAME = "laes"
    TABLES = "I, II, differences, figure-2"
    ROW = "laes-bres"
    HELP = "tables I and II and figure 2 of the linear autoencoder's paper"
    EXAMPLE = """
sentencode reproduce laes --data SentEval/data --vectors glove.840B.300d.txt --out laes
sentencode reproduce laes --data SentEval/data --vectors glove.6B.50d.txt --table I --rows sif laes-res
"""
    OPTIONS: ClassVar[Options] = {
        "--frequencies FILE": (
            str,
            "`word count` lines, or zipf (default: the counts of the vectors, else their order)",
        ),
        "--encoders FILE ...": (str, "saved encoders to compare with"),
        "--tokenizer {words,whitespace}": ("words", "tokenizer"),
        "--max-length N": (64, "fit to the first N words of each sentence"),
        "--seed N": (1111, "seed of the bootstrap"),
    }

    @classmethod
    def print_more(cls, report: Any, options: argparse.Namespace) -> None:
        """Prints the file of the figure."""
        picture = options.out / "figure-2.png"
        if "figure-2" in report.tables and picture.exists():
            print(f"figure 2: {picture}")


class _Trained(_Family):
    """The command of a family of trained encoders."""

    TRAINED: ClassVar[str] = "all rows"  # rows that share --minutes
    END: ClassVar[str]  # end of the trainings of --size cpu
    CORPORA: ClassVar[tuple[str, ...]] = ()  # further corpora of sentences
    LABELLED: ClassVar[tuple[str, ...]] = ()  # corpora of labelled examples, instead of sentences
    PARALLEL: ClassVar[tuple[str, ...]] = ()  # target languages, instead of sentences

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        super().add_arguments(parser)
        options: dict[str, tuple[Any, str]] = {}
        if not cls.LABELLED and not cls.PARALLEL:
            options["--train FILE ..."] = (str, "sentences to train on, one a line")
            options["--valid FILE ..."] = (str, "sentences to validate on, one a line")
        files = "ENGLISH TRANSLATION" if cls.PARALLEL else "FILE ..."
        for name in (*cls.LABELLED, *cls.PARALLEL):
            kind = f"translations into {name}" if cls.PARALLEL else f"labelled examples, {name}"
            for ending, use in (("", "train on"), ("-valid", "validate on"), ("-test", "test")):
                options[f"--{name}{ending} {files}"] = (str, f"{kind}, to {use}")
        for name in cls.CORPORA:
            for ending, use in (("", "train"), ("-valid", "validate")):
                options[f"--{name}{ending} FILE ..."] = (str, f"{name} to {use} on, for rows of these")
        minutes = f"training time of {cls.TRAINED} together (default for --size cpu: {cls.END})"
        options |= {
            "--size NAME": ("cpu", "cpu or paper"),
            "--minutes N": (float, minutes),
            "--steps N": (int, "steps of each training, instead of a time limit"),
            "--seeds N ...": (["0"], "train each row once with each seed; ROW=N,N has those of one row"),
            "--preset NAME": ("paper", "paper, or reference: train and evaluate as the public code does"),
            "--device NAME": ("auto", "cpu, cuda"),
            "--autocast {bfloat16}": (str, "train in bfloat16 (default: in float32)"),
            "--protocol NAME": ("optimum", "as for evaluate"),
        }
        add_options(parser, options, ("train", "valid"))
        add_assignments(parser, "NAME=VALUE", "an option of the protocol, such as folds=5")

    @classmethod
    def arguments(cls, options: argparse.Namespace) -> dict[str, Any]:
        """The arguments of the family's `reproduce`."""
        names = ("size", "minutes", "steps", "preset", "device", "autocast", "protocol")
        return {
            **super().arguments(options),
            **cls.examples(options),
            **{name: getattr(options, name) for name in names},
            "seeds": _seeds(options.seeds),
            "options": dict(map(assignment, options.set)),
        }

    @classmethod
    def examples(cls, options: argparse.Namespace) -> dict[str, Any]:
        """The files to train on, as arguments of `reproduce`."""
        if corpora := (*cls.LABELLED, *cls.PARALLEL):
            splits = {"train": "", "valid": "_valid", "test": "_test"}
            files = {
                name: {split: getattr(options, f"{name}{ending}") for split, ending in splits.items()}
                for name in corpora
            }
            return {"labels": {name: splits for name, splits in files.items() if any(splits.values())}}
        others = {}
        for name in cls.CORPORA:
            both = getattr(options, name), getattr(options, f"{name}_valid")
            if None in both and both != (None, None):
                raise ValueError(f"--{name} and --{name}-valid: give both, or neither")
            if None not in both:
                others[name] = both
        return {"train": options.train, "valid": options.valid, "others": others}


def _seeds(texts: Sequence[str]) -> dict[str, list[int]]:
    """The seeds of rows by name; "" is all others.

    Raises:
        UsageError: A text is neither N nor ROW=N,N.
    """
    seeds: dict[str, list[int]] = {}
    for text in texts:
        row, _, numbers = text.rpartition("=")
        try:
            seeds.setdefault(row, []).extend(map(int, numbers.split(",")))
        except ValueError:
            raise UsageError(f"--seeds: expected N, or ROW=N,N, got {text!r}") from None
    return seeds


class Aae(_Trained):
    """Paper 000: the mean-max attention autoencoder, its variants, baselines and controls.

    Every training reads --train for an equal part of --minutes; rows are evaluated on the tasks whose files
    are available. FastSent, FastSent+AE, uni-, bi- and combine-skip and skip-thoughts+LN are trained, for as
    long, if --rows names them; a later call with --resume shows them with the others. Prints tables 1 to 3
    and the training times; --out receives them, one JSON file for each row, and the encoders. After Ctrl-C or
    a kill, --resume continues in the middle of a training. With --preset reference the attention autoencoders
    are evaluated as in the public code: the embedding of each pooling is normalised (--normalize halves).
    """

    NAME = "aae"
    TABLES = "1, 2, 3, widths, findings, fig2, cost, curve"
    ROW = "mean-max-aae"
    TRAINED = "all trained rows"
    END = "105"
    HELP = "tables 1 to 3 of the mean-max attention autoencoder's paper"
    EXAMPLE = """
sentencode reproduce aae --data SentEval/data --vectors glove.840B.300d.txt --train books.txt reviews.txt \\
    --valid books.valid.txt --out aae
sentencode reproduce aae --data SentEval/data --vectors glove.840B.300d.txt --train books.txt \\
    --valid books.valid.txt --rows mean-max-aae --size paper --seeds 0 1 2 --out aae-paper
"""
    OPTIONS: ClassVar[Options] = {
        "--unit-words": (False, "normalise word vectors to length 1"),
        "--normalize {halves,none}": (
            str,
            "normalisation of AAE rows (default: halves with --preset reference, else none; with --resume "
            "that of the folder)",
        ),
        **_CURVES,
        **_INFERSENT,
        "--infersent-sst FILE": (Path, "the same, trained on SST-2"),
    }


class RnnCnn(_Trained):
    """Paper 001: RNN-CNN with every decoder that the paper compares, skip-thoughts, and controls.

    Every row is trained on --train, ordered text (one sentence a line, a blank line between documents), for
    the same number of steps, and evaluated on the tasks whose files are available. Rows of table 2 with
    "reviews" are trained on --reviews. Prints tables 1 and 2 and the training times; --out receives them, one
    JSON file for each row, and the encoders. After Ctrl-C or a kill, --resume continues in the middle of a
    training. Table 3 requires SNLI's training set in --data, or --nli and --nli-test: FILEs as for reproduce
    pooling.
    """

    NAME = "rnn-cnn"
    TABLES = "1, 2, 3, findings, hyper, losses, cost, curve"
    ROW = "predict-all-words-cnn"
    END = "1,500 steps each"
    CORPORA = ("reviews",)
    HELP = "the tables and findings of the paper on RNN-CNN"
    EXAMPLE = """
sentencode reproduce rnn-cnn --data SentEval/data --vectors glove.840B.300d.txt --train books.txt \\
    --valid books.valid.txt --seeds 0 1 --out rnn-cnn
sentencode reproduce rnn-cnn --data SentEval/data --vectors glove.840B.300d.txt --train books.txt \\
    --valid books.valid.txt --reviews reviews.txt --reviews-valid reviews.valid.txt --table 2 --out table-2
"""
    OPTIONS: ClassVar[Options] = {
        "--nli FILE ...": (str, "labelled pairs to train classifiers on, for table 3"),
        "--nli-test FILE ...": (str, "to test them: SNLI's test set, then revised pairs"),
        "--sampled-words N": (int, "words of a sampled softmax in training (default: the full softmax)"),
        **_CURVES,
        **_INFERSENT,
    }

    @classmethod
    def arguments(cls, options: argparse.Namespace) -> dict[str, Any]:
        """The arguments of the family's `reproduce`."""
        arguments = super().arguments(options)
        files = {"train": arguments.pop("nli"), "test": arguments.pop("nli_test")}
        return {**arguments, "nli": files if any(files.values()) else None}


class Pooling(_Trained):
    """Paper 002: generalized pooling and other poolings, its penalties and heads, trained on labels.

    Every row trains an encoder and a classifier on labelled examples, and is evaluated by its accuracy on the
    test examples. FILEs are those of sentencode.evaluation.read_labelled (SNLI, MultiNLI, label<TAB>text), or
    FOLDER:SPLIT of SentEval's files. Without --nli-valid and so on, 1,000 pairs (2,000 examples of others) of
    the first training file are held out; pairs with the same premise stay together. SST-2 and SST-5 are those
    of --data. Prints the tables; --out receives them, figures 1 and 2, one JSON file for each row, and the
    encoders. After Ctrl-C or a kill, --resume continues in the middle of a training. The table students
    requires --teacher and --sentences.
    """

    NAME = "pooling"
    TABLES = "1, 2, 3, 4, fig1, fig2, findings, senteval, students, cost"
    ROW = "generalized-pooling-nli"
    END = "3 to 8 epochs each"
    LABELLED = ("nli", "multinli", "ratings", "age")
    HELP = "the tables and figures of the paper on generalized pooling"
    EXAMPLE = """
sentencode reproduce pooling --data SentEval/data --vectors glove.840B.300d.txt --nli snli_1.0_train.txt \\
    --nli-valid snli_1.0_dev.txt --nli-test snli_1.0_test.txt --table 1 4 --seeds 0 1 --out pooling
sentencode reproduce pooling --data SentEval/data --vectors glove.840B.300d.txt --ratings train.tsv \\
    --ratings-test test.tsv --table 3 --mu-grid 1 .1 .01 .001 .0001 --out pooling-ratings
"""
    OPTIONS: ClassVar[Options] = {
        "--epochs N": (int, "epochs of each training (default: depends on the size)"),
        "--mu X": (0.01, "weight of the penalties"),
        "--mu-grid X ...": (float, "weights to choose from by validation"),
        "--margin X": (1.0, "margin of the penalties, lambda"),
        "--teacher TEACHER": (str, "as for reproduce distill, for the students"),
        "--sentences FILE ...": (str, "training sentences of the students, one a line"),
        "--sentence TEXT": (str, "for figure 2 (default: the paper's)"),
    }


class Nmt(_Trained):
    """Paper 003: translation by compound attention and other architectures, and their sentence embeddings.

    Every row is trained on the same sentences and their translations. BLEU evaluates its translations,
    SentEval and paraphrases (--coco, --hyter) its embeddings. The two files of a corpus are aligned line by
    line. Prints tables 4 to 7, the correlations of BLEU with the metrics of embeddings, and an answer to the
    paper's question; --out receives them, figures 2 to 5, translations, one JSON file for each row, and the
    encoders. With --size cpu and no --table, --rows is grid: the 13 encoders that two cores train in some
    hours, and controls. After Ctrl-C or a kill, --resume continues in the middle of a training.
    """

    NAME = "nmt"
    TABLES = "4, 5, 6, 7, findings, correlations, distances, cost"
    ROW = "de-attn-attn-8-heads"
    END = "30 epochs each"
    PARALLEL = ("de", "cs")
    HELP = "the tables, figures and question of the paper on compound attention"
    EXAMPLE = """
sentencode reproduce nmt --data SentEval/data --vectors glove.840B.300d.txt --de train.en train.de \\
    --de-valid val.en val.de --de-test test.en test.de --coco coco_captions.txt --out nmt
sentencode reproduce nmt --data SentEval/data --vectors glove.840B.300d.txt --cs train.en train.cs \\
    --cs-valid val.en val.cs --cs-test test.en test.cs --table 5 6 --size paper --out nmt-cs
"""
    OPTIONS: ClassVar[Options] = {
        "--epochs N": (int, "epochs of each training (default: depends on the size)"),
        "--coco FILE": (Path, "captions, five lines for each image: paraphrases of Table 6"),
        "--hyter FILE": (Path, "paraphrases of Table 6, lines of name<TAB>sentence"),
        "--sentence TEXT": (str, "for figure 4 (default: the first test sentence)"),
    }


class Distill(_Family):
    """Students of a teacher, compared with the teacher, model2vec's student of it, and word vectors.

    TEACHER is an encoder saved by Sentencode, or the folder or name of a model of sentence-transformers. Its
    embeddings are stored in the cache folder. Prints quality against speed, and the contribution of the parts
    of the method; --out receives the tables, the picture, and one JSON file for each row.
    """

    NAME = "distill"
    TABLES = "encoders, parts"
    ROW = "student-sif"
    VECTORS: ClassVar[str] = "word vectors to compare with"
    REQUIRED: ClassVar[tuple[str, ...]] = ("data", "sentences")
    HELP = "students next to their teacher, and the contribution of the parts of distillation"
    EXAMPLE = """
sentencode reproduce distill sentence-transformers/all-MiniLM-L6-v2 --data SentEval/data \\
    --sentences wiki.txt.xz captions.txt --words words.txt --vectors glove.840B.300d.txt
sentencode reproduce distill teacher.sentencode --data SentEval/data --sentences wiki.txt.xz \\
    --rows student teacher
"""
    OPTIONS: ClassVar[Options] = {
        "--sentences FILE ...": (str, "sentences, one a line"),
        "--words FILE": (Path, "vocabulary of the students, one word a line"),
        "--bfloat16": (False, "encode the sentences with the teacher in bfloat16"),
    }

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        parser.add_argument(
            "teacher", metavar="TEACHER", help="a saved encoder, or a sentence-transformers model"
        )
        super().add_arguments(parser)

    @classmethod
    def arguments(cls, options: argparse.Namespace) -> dict[str, Any]:
        """The arguments of the family's `reproduce`."""
        return {**super().arguments(options), "teacher": options.teacher}


class Tasks(Distill):
    """A student, its teacher and other encoders on pairs, topics, reviews and searches.

    TEACHER is an encoder saved by Sentencode, or the folder or name of a model of sentence-transformers. Of
    each task at most --limit examples are encoded. Prints the scores, and the shares of what the teacher is
    above random vectors; --out receives the tables and one JSON file for each row.
    """

    NAME = "tasks"
    TABLES = "scores, shares"
    ROW = "built-in-vectors"
    VECTORS: ClassVar[str] = "word vectors to compare with"
    REQUIRED: ClassVar[tuple[str, ...]] = ("data",)
    HELP = "students next to their teacher and others, beyond similarity"
    EXAMPLE = """
sentencode distill sentence-transformers/all-MiniLM-L6-v2 --sentences wiki.txt.xz --out student.sentencode
sentencode reproduce tasks sentence-transformers/all-MiniLM-L6-v2 --student student.sentencode --data data \\
    --vectors glove.840B.300d.txt --out tasks
"""
    OPTIONS: ClassVar[Options] = {
        "--student FILE": (Path, "a saved student of the teacher"),
        "--limit N": (2000, "examples of each split, or searches, at most"),
    }


class Choose(_Family):
    """Every encoder with its defaults, by what there is to learn from: labels, text, translations, a teacher.

    One table has accuracies with --examples labelled examples of MR, TREC, SICK and SST-2; the other has
    encoders without labels, with --text (sentences in order, a blank line between documents), --pairs,
    --student, --teacher and --vectors. Rows whose files or packages are missing are left out. model2vec's
    trainer, which takes minutes, is run only if --rows names it.
    """

    NAME = "choose"
    TABLES = "labels, encoders"
    ROW = "trainedaverage-500-examples"
    VECTORS: ClassVar[str] = "word vectors to compare with"
    REQUIRED: ClassVar[tuple[str, ...]] = ("data",)
    HELP = "every encoder with its defaults: quality, training time, speed, size"
    EXAMPLE = """
sentencode reproduce choose --data SentEval/data --table labels
sentencode reproduce choose --data SentEval/data --text books.txt --student student.sentencode \\
    --teacher sentence-transformers/all-MiniLM-L6-v2 --minutes 3 --out choose
"""
    OPTIONS: ClassVar[Options] = {
        "--examples N ...": ([500, 4000, 20_000], "numbers of labelled examples"),
        "--samples N": (1, "random samples of fewer than 1,000 examples, to average over"),
        "--text FILE ...": (str, "text to learn from, one sentence a line"),
        "--minutes N ...": ([3.0, 30.0], "training times on the text"),
        "--student FILE": (Path, "a student, as `sentencode distill` writes it"),
        "--teacher TEACHER": (str, "a saved encoder, or a sentence-transformers model"),
        "--pairs SOURCE TRANSLATION": (Path, "sentences and their translations, line by line"),
        "--pairs-valid SOURCE TRANSLATION": (Path, "the same, for BLEU"),
    }


class Page:
    """Writes a page of results from results.json: Markdown, and a picture, next to the file.

    The file is the one that the other commands write into --out. A key "page" of it may hold a title, a
    verdict, the budget, and notes; sentencode.reproduce.page describes it. With --index, files without this
    key are skipped.
    """

    NAME = "page"
    HELP = "a page of results, from results.json"
    EXAMPLE = """
sentencode reproduce page aae-results/results.json
"""

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="results.json")
        parser.add_argument("--index", action="store_true", help="also print a table of all pages")

    @staticmethod
    def run(options: argparse.Namespace) -> None:
        """Runs the command."""
        from ..reproduce import page

        skipped = [path for path in options.files if options.index and not page.has_page(path)]
        files = [path for path in options.files if path not in skipped]
        for path in page.write_pages(files):
            print(path)
        for path in skipped:
            print(f"{path}: skipped, it has no page")
        if options.index:
            print(page.index(files))
