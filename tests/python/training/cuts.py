"""Interrupt or kill a training at each call that changes a file of its folder, and resume it.

Run with cuts.c loaded by LD_PRELOAD:
`cuts.py LIBRARY FOLDER [--presses 2] [--same] [--kill] [--save-every N]`.
It prints the number of such calls by name, and fails at the first call after which the resumed run differs
from the uninterrupted one: in weights, optimizer, best weights, log or history.
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import json
import logging
import shutil
import sys
from pathlib import Path

import torch

from sentencode.training import CsvLog, History

# Scores by step. The learning rate decays, and the best weights are loaded, after steps 6, 8 and 11; step 11
# is the end, without a planned validation.
SCORES = {2: 0.5, 4: 0.7, 6: 0.6, 8: 0.6, 10: 0.9, 11: 0.8}


def trainer(folder, save_every):
    import tiny  # in the folder of this program

    trainer = tiny.trainer(
        folder.parent / "examples",
        max_steps=max(SCORES),
        validate_every=2,
        save_every=save_every,
        metric=lambda model: SCORES[trainer.step],
        decay=0.5,
        reload_best=True,
        checkpoints=folder / "checkpoints",
        callbacks=[CsvLog(folder / "log.csv")],
    )
    return trainer


def events(history):
    """Steps and validations, without times."""
    steps = [repr({**vars(step), "seconds": 0}) for step in history.steps]
    return steps, [repr(validation) for validation in history.validations]


def outcome(folder):
    """The last checkpoint, the best weights, and the log without times."""
    last = max((folder / "checkpoints").glob("step-*.safetensors"))
    best = folder / "checkpoints" / "best.safetensors"
    log = events(History.from_csv(folder / "log.csv"))
    return last.name, last.read_bytes(), best.read_bytes(), *log


def compare(what, actual, expected):
    differ = [i for i, pair in enumerate(zip(actual, expected, strict=True)) if pair[0] != pair[1]]
    if differ:
        sys.exit(f"{what}: parts {differ} differ from the uninterrupted run")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--presses", type=int, default=1)
    parser.add_argument("--same", action="store_true", help="resume the same trainer instead of a new one")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--save-every", type=int)
    options = parser.parse_args()
    torch.set_num_threads(1)
    logging.getLogger("sentencode").setLevel(logging.ERROR)
    library = ctypes.PyDLL(options.library)  # loaded already, by LD_PRELOAD
    library.cut_name.restype = ctypes.c_char_p
    action = ctypes.CFUNCTYPE(None, ctypes.c_long)
    library.cut_below.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_long, action]

    uninterrupted = options.folder / "uninterrupted"
    uninterrupted.mkdir(parents=True)
    copies = []

    def copy(call):
        copies.append(options.folder / f"call-{call}")
        shutil.copytree(uninterrupted, copies[-1])

    def below(folder, at=0, copy=None):
        library.cut_below(bytes(folder), at, options.presses, copy or action())

    before_each = action(copy)
    below(uninterrupted, copy=before_each if options.kill else None)
    whole = trainer(uninterrupted, options.save_every)
    expected = events(whole.run())
    calls = library.cut_calls()
    names = [library.cut_name(ctypes.c_long(i)).decode() for i in range(calls)]
    below(b"")
    expected_outcome = outcome(uninterrupted)
    assert any("True" in validation for validation in expected[1]), "no validation was the best"
    assert sum(validation.decayed for validation in whole.history.validations) == 3

    if options.kill:
        for call, folder in enumerate(copies):
            trainer(folder, options.save_every).run()
            compare(f"killed before call {call + 1}, {names[call]}", outcome(folder), expected_outcome)
            shutil.rmtree(folder)
    else:
        for call in range(1, calls + 1):
            folder = options.folder / f"cut-{call}"
            folder.mkdir()
            interrupted = trainer(folder, options.save_every)
            below(folder, call)
            what = f"interrupted at call {call}, {names[call - 1]}"
            try:
                interrupted.run()
                sys.exit(f"{what}: no KeyboardInterrupt")
            except KeyboardInterrupt:
                pass
            below(b"")
            resumed = interrupted if options.same else trainer(folder, options.save_every)
            resumed.run()
            history = interrupted.history
            if resumed is not interrupted:
                history.steps += resumed.history.steps
                history.validations += resumed.history.validations
            # A second Ctrl-C ends the callback that writes the log, or the last checkpoint: another trainer
            # then takes steps again.
            if resumed is interrupted or options.presses == 1:
                compare(f"{what}: history", events(history), expected)
            parts = None if options.presses == 1 else 3
            compare(what, outcome(folder)[:parts], expected_outcome[:parts])
            shutil.rmtree(folder)
    sys.stdout.write(json.dumps({"calls": calls, **collections.Counter(names)}) + "\n")


if __name__ == "__main__":
    main()
