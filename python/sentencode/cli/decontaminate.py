"""Removes the sentences of SentEval's tasks from training text.

An encoder that was trained on the sentences of a test is not evaluated fairly on it. Sentences are compared
by their letters and digits, without case; of tab-separated columns, the last one.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import sources
from .options import add_options, add_output_options

__all__ = ["EXAMPLE", "HELP", "NAME", "add_arguments", "run"]

NAME = "decontaminate"
HELP = "remove the sentences of tasks from training text"
EXAMPLE = """
sentencode decontaminate captions.txt wiki.txt.xz --data SentEval/data --out clean.txt
"""

_LINES = 10_000  # between two moves of the progress bar


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="training text, one sentence per line: files, folders or globs; may be compressed",
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="output file of the other lines"
    )
    options = {
        "--data FOLDER": (str, "SentEval's data, or a folder that has it as senteval"),
        "--tasks NAME ...": (
            ["all"],
            "as in STSBenchmark SICKRelatedness; all: every task whose files exist",
        ),
    }
    add_options(parser, options, required=["data"])
    add_output_options(parser, "replace FILE")


def run(options: argparse.Namespace) -> None:
    from ..evaluation import Decontaminator, load_task, task_names
    from ..files import whole_file
    from ..progress import progress
    from ..text.corpus import Corpus

    files = [file for text in options.files for file in sources.files_of(text)]
    sources.check_output(options.out, files, options.overwrite, texts=options.files)
    tasks, missing = [], {}
    for name in task_names() if options.tasks == ["all"] else options.tasks:
        try:
            tasks.append(load_task(name, options.data, partial=True))
        except FileNotFoundError as error:
            if options.tasks != ["all"]:
                raise
            missing[name] = error
    if missing and not tasks:
        raise [*missing.values()][-1]
    clean = Decontaminator(tasks)
    with (
        whole_file(options.out, follow_link=True) as file,
        progress(not options.quiet, NAME, "lines") as moved,
    ):
        for i, path in enumerate(files):
            file.write(b"\n" * (i > 0))  # documents end with a file, and with a blank line
            for line in Corpus(path, keep_empty=True):
                kept = clean([line]) if line.strip() else [""]
                file.write("".join(f"{text}\n" for text in kept).encode())
                if moved is not None and clean.seen % _LINES == 0:
                    moved(clean.seen, 0)
    print(f"{options.out}: {clean.seen - clean.removed:,} of {clean.seen:,} lines")
    for name, count in clean.by_task.most_common():
        print(f"{name}: {count:,} removed")
    if missing:
        print(f"not compared, for lack of their files: {', '.join(missing)}", file=sys.stderr)
