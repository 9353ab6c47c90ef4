"""Reproduces the tables and figures of a paper, with the published numbers beside ours.

Each row is saved in the results folder (--out) as soon as it is computed; --resume continues a stopped run.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from .options import assignment

__all__ = ["EXAMPLE", "HELP", "NAME", "add_arguments"]

NAME = "reproduce"
HELP = "reproduce the tables and figures of a paper"
EXAMPLE = """
sentencode reproduce laes --data SentEval/data --vectors glove.840B.300d.txt --out laes
sentencode reproduce aae --data SentEval/data --vectors glove.840B.300d.txt --train books.txt --valid dev.txt
sentencode reproduce distill teacher.sentencode --data SentEval/data --sentences wiki.txt.xz
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the commands of this one."""
    from .options import add_command

    families = parser.add_subparsers(title="families", metavar="FAMILY", required=True)
    for family in (Laes, Aae, RnnCnn, Pooling, Nmt, Distill):
        add_command(families, family)


class Laes:
    """Paper 004: averages, SIF, uSIF and the linear autoencoder on SICK and STSBenchmark.

    Every encoder is fitted to the training sentences; hidden sizes and numbers of components are chosen on
    the development set. Prints tables I and II; --out gets them too, figure 2, and one JSON file a row.
    """

    NAME = "laes"
    HELP = "tables I and II and figure 2 of the linear autoencoder's paper"
    EXAMPLE = """
sentencode reproduce laes --data SentEval/data --vectors glove.840B.300d.txt --out laes
sentencode reproduce laes --data SentEval/data --vectors glove.6B.50d.txt --table I --rows sif laes-res
"""

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        _add_common(parser, "laes", tables="I, II, figure-2", row="laes-bres")
        parser.add_argument(
            "--frequencies",
            metavar="FILE",
            help="`word count` lines, or zipf (default: the vectors' own counts, else their order)",
        )
        parser.add_argument(
            "--tokenizer", choices=("words", "whitespace"), default="words", help="(default: words)"
        )
        parser.add_argument(
            "--max-length",
            type=int,
            default=64,
            metavar="N",
            help="fit to the first N words of each sentence",
        )
        parser.add_argument("--seed", type=int, default=1111, metavar="N", help="seed of the bootstrap")

    @staticmethod
    def run(options: argparse.Namespace) -> None:
        """Runs the command."""
        from ..reproduce import laes

        report = laes.reproduce(
            options.data,
            options.vectors,
            frequencies=options.frequencies,
            tables=options.table,
            rows=options.rows,
            out=options.out,
            resume=options.resume,
            tokenizer=options.tokenizer,
            max_length=options.max_length,
            resamples=options.resamples,
            seed=options.seed,
            partial=options.partial,
            show_progress_bar=not options.quiet,
        )
        if text := report.text():
            print(text)
        if report.drawn:
            print(f"figure 2: {options.out / 'figure-2.png'}")
        _print_kept(options.out)


class _Trained:
    """What the command of every family that is trained has; `NAME` leads to the family's module."""

    NAME: ClassVar[str]
    TABLES: ClassVar[str]
    ROW: ClassVar[str]
    ROWS: ClassVar[str]  # whose training the minutes are of
    END: ClassVar[str]  # of trainings of the size "cpu"
    CORPORA: ClassVar[tuple[str, ...]] = ()  # besides
    LABELLED: ClassVar[tuple[str, ...]] = ()  # of labelled examples, in the place of all others
    PARALLEL: ClassVar[tuple[str, ...]] = ()  # target languages of translations, in the place of all others

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        _add_common(parser, cls.NAME, tables=cls.TABLES, row=cls.ROW)
        for name in () if cls.LABELLED or cls.PARALLEL else ("train", "valid"):
            parser.add_argument(
                f"--{name}",
                nargs="+",
                required=True,
                metavar="FILE",
                help=f"sentences to {'train' if name == 'train' else 'validate'} on, one a line",
            )
        for name in (*cls.LABELLED, *cls.PARALLEL):
            several: dict[str, Any] = {"nargs": "+", "metavar": "FILE"}
            if cls.PARALLEL:
                several = {"nargs": 2, "metavar": ("ENGLISH", "TRANSLATION")}
            examples = f"translations into {name}" if cls.PARALLEL else f"labelled examples, {name}"
            for option, what in (
                (name, "train on"),
                (f"{name}-valid", "validate on"),
                (f"{name}-test", "test"),
            ):
                parser.add_argument(f"--{option}", help=f"{examples}, to {what}", **several)
        parser.add_argument("--size", default="cpu", metavar="NAME", help="cpu or paper (default: cpu)")
        parser.add_argument(
            "--minutes",
            type=float,
            metavar="N",
            help=f"training time of {cls.ROWS} together (default for --size cpu: {cls.END})",
        )
        for name in cls.CORPORA:
            for option, what in ((name, "train"), (f"{name}-valid", "validate")):
                parser.add_argument(
                    f"--{option}", nargs="+", metavar="FILE", help=f"{name} to {what} on, for rows of these"
                )
        parser.add_argument(
            "--steps", type=int, metavar="N", help="steps of each training, instead of a time limit"
        )
        parser.add_argument(
            "--seeds",
            nargs="+",
            type=int,
            default=[0],
            metavar="N",
            help="train each row once with each seed (default: 0)",
        )
        parser.add_argument(
            "--preset",
            default="paper",
            metavar="NAME",
            help="paper, or reference: trained and judged as the public code does it (default: paper)",
        )
        parser.add_argument("--device", default="auto", metavar="NAME", help="cpu, cuda (default: auto)")
        parser.add_argument(
            "--autocast", choices=("bfloat16",), help="train in bfloat16 (default: in float32)"
        )
        parser.add_argument(
            "--protocol",
            default="optimum",
            metavar="NAME",
            help="as for evaluate (default: optimum)",
        )
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="an option of the protocol, as in folds=5; may be given again",
        )

    @classmethod
    def own(cls, options: argparse.Namespace) -> dict[str, Any]:
        """What the family has besides, for `reproduce`."""
        return {}

    @classmethod
    def examples(cls, options: argparse.Namespace) -> dict[str, Any]:
        """Files to learn from, for `reproduce`."""
        others = {}
        for name in cls.CORPORA:
            both = getattr(options, name), getattr(options, f"{name}_valid")
            if None in both and both != (None, None):
                raise ValueError(f"--{name} and --{name}-valid: give both, or neither")
            if None not in both:
                others[name] = both
        return {"train": options.train, "valid": options.valid, "others": others}

    @classmethod
    def run(cls, options: argparse.Namespace) -> None:
        """Runs the command."""
        family = importlib.import_module(f"sentencode.reproduce.{cls.NAME.replace('-', '_')}")
        report = family.reproduce(
            options.data,
            options.vectors,
            out=options.out,
            **cls.examples(options),
            size=options.size,
            minutes=options.minutes,
            steps=options.steps,
            tables=options.table,
            rows=options.rows,
            seeds=options.seeds,
            preset=options.preset,
            device=options.device,
            autocast=options.autocast,
            resume=options.resume,
            protocol=options.protocol,
            options=dict(map(assignment, options.set)),
            resamples=options.resamples,
            partial=options.partial,
            show_progress_bar=not options.quiet,
            **cls.own(options),
        )
        print(report.text())
        _print_kept(options.out)


class Aae(_Trained):
    """Paper 000: the mean-max attention autoencoder, its twins and its baselines, and three controls.

    Every row of table 3 is trained on --train for an eighth of --minutes and judged on those of its tasks
    whose files are there. Prints tables 1 to 3 and the times of training; --out gets them too, one JSON file
    a row, and the encoders. After Ctrl-C or a kill, --resume goes on in the middle of a training. With
    --preset reference the attention autoencoders are judged as the public code does it: what each pooling
    gives is divided by its length (--normalize halves).
    """

    NAME = "aae"
    TABLES = "1, 2, 3, cost"
    ROW = "mean-max-aae"
    ROWS = "all eight rows"
    END = "70"
    HELP = "tables 1 to 3 of the mean-max attention autoencoder's paper"
    EXAMPLE = """
sentencode reproduce aae --data SentEval/data --vectors glove.840B.300d.txt --train books.txt reviews.txt \\
    --valid books.valid.txt --out aae
sentencode reproduce aae --data SentEval/data --vectors glove.840B.300d.txt --train books.txt \\
    --valid books.valid.txt --rows mean-max-aae --size paper --seeds 0 1 2 --out aae-paper
"""

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        super().add_arguments(parser)
        parser.add_argument("--unit-words", action="store_true", help="normalise word vectors to length 1")
        parser.add_argument(
            "--normalize",
            choices=("halves", "none"),
            help="how AAE rows are judged (default: halves with --preset reference, else none; in a folder "
            "that is resumed, as before)",
        )

    @classmethod
    def own(cls, options: argparse.Namespace) -> dict[str, Any]:
        """What the family has besides."""
        return {"unit_words": options.unit_words, "normalize": options.normalize}


class RnnCnn(_Trained):
    """Paper 001: RNN-CNN with every decoder that the paper compares, skip-thoughts, and controls.

    Every row is trained on --train, which is ordered text (one sentence a line, a blank line between
    documents), for the same number of steps, and judged on those of the tasks whose files are there. Rows of
    table 2 with "reviews" are trained on --reviews. Prints tables 1 and 2 and the times of training; --out
    gets them too, one JSON file a row, and the encoders. After Ctrl-C or a kill, --resume goes on in the
    middle of a training. Table 3 wants SNLI's training set among the data, or --nli.
    """

    NAME = "rnn-cnn"
    TABLES = "1, 2, 3, findings, hyper, cost"
    ROW = "predict-all-words-cnn"
    ROWS = "all rows"
    END = "1,500 steps each"
    CORPORA = ("reviews",)
    HELP = "the tables and findings of the paper on RNN-CNN"
    EXAMPLE = """
sentencode reproduce rnn-cnn --data SentEval/data --vectors glove.840B.300d.txt --train books.txt \\
    --valid books.valid.txt --seeds 0 1 --out rnn-cnn
sentencode reproduce rnn-cnn --data SentEval/data --vectors glove.840B.300d.txt --train books.txt \\
    --valid books.valid.txt --reviews reviews.txt --reviews-valid reviews.valid.txt --table 2 --out table-2
"""

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        super().add_arguments(parser)
        parser.add_argument(
            "--nli",
            nargs=3,
            type=Path,
            metavar=("TRAIN", "DEV", "TEST"),
            help="files of SNLI's form, for table 3",
        )

    @classmethod
    def own(cls, options: argparse.Namespace) -> dict[str, Any]:
        """What the family has besides."""
        nli = options.nli and dict(zip(("train", "dev", "test"), options.nli, strict=True))
        return {"nli": nli}


class Pooling(_Trained):
    """Paper 002: generalized pooling beside others, its penalties and heads, learning from labels.

    Every row trains an encoder and a classifier on labelled examples, and is judged by its accuracy on those
    that test it. FILEs are as sentencode.evaluation.read_labelled takes them (SNLI, MultiNLI,
    label<TAB>text), or FOLDER:SPLIT of SentEval's files. Without --nli-valid and so on, 1,000 pairs (2,000
    elsewhere) are held out of the first file to train on; pairs of a premise stay together. SST-2 and SST-5
    are those of --data. Prints the tables; --out gets them too, figures 1 and 2, one JSON file a row, and the
    encoders. After Ctrl-C or a kill, --resume goes on in the middle of a training. The table students wants
    --teacher and --sentences.
    """

    NAME = "pooling"
    TABLES = "1, 2, 3, 4, fig1, fig2, findings, senteval, students, cost"
    ROW = "generalized-pooling-nli"
    ROWS = "all rows"
    END = "3 to 8 epochs each"
    LABELLED = ("nli", "multinli", "ratings", "age")
    HELP = "the tables and figures of the paper on generalized pooling"
    EXAMPLE = """
sentencode reproduce pooling --data SentEval/data --vectors glove.840B.300d.txt --nli snli_1.0_train.txt \\
    --nli-valid snli_1.0_dev.txt --nli-test snli_1.0_test.txt --table 1 4 --seeds 0 1 --out pooling
sentencode reproduce pooling --data SentEval/data --vectors glove.840B.300d.txt --ratings train.tsv \\
    --ratings-test test.tsv --table 3 --mu-grid 1 .1 .01 .001 .0001 --out pooling-ratings
"""

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        super().add_arguments(parser)
        parser.add_argument("--epochs", type=int, metavar="N", help="of each training (default: the size's)")
        parser.add_argument(
            "--mu", type=float, default=0.01, metavar="X", help="weight of the penalties (default: 0.01)"
        )
        parser.add_argument(
            "--mu-grid",
            nargs="+",
            type=float,
            default=(),
            metavar="X",
            help="weights that validation chooses of",
        )
        parser.add_argument(
            "--margin", type=float, default=1.0, metavar="X", help="of the penalties, lambda (default: 1)"
        )
        parser.add_argument("--teacher", metavar="TEACHER", help="as for reproduce distill, for the students")
        parser.add_argument(
            "--sentences",
            nargs="+",
            default=(),
            metavar="FILE",
            help="what students are taught by, one a line",
        )
        parser.add_argument(
            "--sentence", default="", metavar="TEXT", help="for figure 2 (default: the paper's)"
        )

    @classmethod
    def examples(cls, options: argparse.Namespace) -> dict[str, Any]:
        """Files to learn from."""
        return {"labels": _files_of(cls.LABELLED, options)}

    @classmethod
    def own(cls, options: argparse.Namespace) -> dict[str, Any]:
        """What the family has besides."""
        names = ("epochs", "mu", "mu_grid", "margin", "teacher", "sentences", "sentence")
        return {name: getattr(options, name) for name in names}


class Nmt(_Trained):
    """Paper 003: translation by compound attention and its rivals, and the vectors that it leaves.

    Every row is trained on the same sentences and their translations. BLEU judges what it translates,
    SentEval and paraphrases (--coco, --hyter) its vectors. The two files of a corpus belong together line by
    line. Prints tables 4 to 7, the correlations of BLEU with all that judges vectors, and an answer to the
    paper's question; --out gets them too, figures 2 to 5, translations, one JSON file a row, and the
    encoders. With --size cpu and no --table, --rows is grid: the 13 encoders that two cores train in some
    hours, and controls. After Ctrl-C or a kill, --resume goes on in the middle of a training.
    """

    NAME = "nmt"
    TABLES = "4, 5, 6, 7, correlations, distances, cost"
    ROW = "de-attn-attn-8-heads"
    ROWS = "all rows"
    END = "8 epochs each"
    PARALLEL = ("de", "cs")
    HELP = "the tables, figures and question of the paper on compound attention"
    EXAMPLE = """
sentencode reproduce nmt --data SentEval/data --vectors glove.840B.300d.txt --de train.en train.de \\
    --de-valid val.en val.de --de-test test.en test.de --coco coco_captions.txt --out nmt
sentencode reproduce nmt --data SentEval/data --vectors glove.840B.300d.txt --cs train.en train.cs \\
    --cs-valid val.en val.cs --cs-test test.en test.cs --table 5 6 --size paper --out nmt-cs
"""

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        super().add_arguments(parser)
        parser.add_argument("--epochs", type=int, metavar="N", help="of each training (default: the size's)")
        parser.add_argument(
            "--coco", type=Path, metavar="FILE", help="captions, five lines an image: paraphrases of Table 6"
        )
        parser.add_argument(
            "--hyter", type=Path, metavar="FILE", help="paraphrases, name<TAB>sentence: those of Table 6"
        )
        parser.add_argument(
            "--sentence", default="", metavar="TEXT", help="for figure 4 (default: the first one tested)"
        )

    @classmethod
    def examples(cls, options: argparse.Namespace) -> dict[str, Any]:
        """Files to learn from."""
        return {"labels": _files_of(cls.PARALLEL, options)}

    @classmethod
    def own(cls, options: argparse.Namespace) -> dict[str, Any]:
        """What the family has besides."""
        return {name: getattr(options, name) for name in ("epochs", "coco", "hyter", "sentence")}


class Distill:
    """Students of a teacher, beside the teacher, model2vec's students of it, and word vectors.

    TEACHER is an encoder saved by Sentencode, or the folder or name of a model of sentence-transformers. Its
    embeddings are kept below the cache folder. Prints quality against speed and what the parts of the method
    are worth; --out gets them too, the picture, and one JSON file a row.
    """

    NAME = "distill"
    HELP = "students beside their teacher, and what the parts of distillation are worth"
    EXAMPLE = """
sentencode reproduce distill sentence-transformers/all-MiniLM-L6-v2 --data SentEval/data \\
    --sentences wiki.txt.xz captions.txt --words words.txt --vectors glove.840B.300d.txt
sentencode reproduce distill teacher.sentencode --data SentEval/data --sentences wiki.txt.xz \\
    --rows student teacher
"""

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        parser.add_argument(
            "teacher", metavar="TEACHER", help="a saved encoder, or a sentence-transformers model"
        )
        _add_common(
            parser, "distill", tables="encoders, parts, intervals", row="student-sif", needs_vectors=False
        )
        parser.add_argument(
            "--sentences", nargs="+", required=True, metavar="FILE", help="sentences, one a line"
        )
        parser.add_argument(
            "--words", type=Path, metavar="FILE", help="the words that get vectors, one a line"
        )
        parser.add_argument(
            "--bfloat16", action="store_true", help="the teacher reads the sentences in bfloat16"
        )

    @staticmethod
    def run(options: argparse.Namespace) -> None:
        """Runs the command."""
        from ..reproduce import distill

        report = distill.reproduce(
            options.data,
            options.teacher,
            options.sentences,
            words=options.words,
            vectors=options.vectors,
            out=options.out,
            tables=options.table,
            rows=options.rows,
            resume=options.resume,
            bfloat16=options.bfloat16,
            resamples=options.resamples,
            partial=options.partial,
            show_progress_bar=not options.quiet,
        )
        print(report.text())
        _print_kept(options.out)


def _files_of(names: Sequence[str], options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """By corpora that are given, and by splits, their files."""
    found = {}
    for name in names:
        splits = {"train": "", "valid": "_valid", "test": "_test"}
        files = {split: getattr(options, f"{name}{ending}") for split, ending in splits.items()}
        if any(files.values()):
            found[name] = files
    return found


def _add_common(
    parser: argparse.ArgumentParser, family: str, *, tables: str, row: str, needs_vectors: bool = True
) -> None:
    """Adds what every family has."""
    parser.add_argument(
        "--data", type=Path, required=True, metavar="FOLDER", help="SentEval's data, or its downstream"
    )
    parser.add_argument(
        "--vectors",
        type=Path,
        required=needs_vectors,
        metavar="FILE",
        help="word vectors" if needs_vectors else "word vectors to compare with",
    )
    parser.add_argument("--table", nargs="+", metavar="NAME", help=f"{tables} (default: all)")
    parser.add_argument(
        "--rows", nargs="+", metavar="NAME", help=f"as in {row} (default: those of the tables)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(f"{family}-results"),
        metavar="FOLDER",
        help=f"where results go (default: {family}-results)",
    )
    parser.add_argument("--resume", action="store_true", help="resume: keep what --out already holds")
    parser.add_argument(
        "--resamples", type=int, default=2000, metavar="N", help="bootstrap resamples (default: 2000)"
    )
    parser.add_argument(
        "--partial", action="store_true", help="accept files whose size is not the published one"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def _print_kept(folder: Path) -> None:
    print(f"kept in {folder}: {', '.join(sorted(path.name for path in folder.iterdir()))}")
