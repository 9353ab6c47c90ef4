"""Interrupt or kill a training at each call that changes a file of its folder, and resume it.

Run with cuts.c loaded by LD_PRELOAD:
`cuts.py LIBRARY FOLDER [--presses 2] [--same] [--kill] [--save-every N]`.
It prints the numbers of such calls by name, and fails at the first one where the resumed run differs from the
uninterrupted one: weights, optimizer, best weights, log and history.
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
    import tiny  # found only by a program that is run from here

    made = []
    made.append(
        tiny.trainer(
            folder.parent / "examples",
            max_steps=max(SCORES),
            validate_every=2,
            save_every=save_every,
            metric=lambda model: SCORES[made[0].step],
            decay=0.5,
            reload_best=True,
            checkpoints=folder / "checkpoints",
            callbacks=[CsvLog(folder / "log.csv")],
        )
    )
    return made[0]


def events(history):
    """All but the times."""
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
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    logging.getLogger("sentencode").setLevel(logging.ERROR)
    library = ctypes.PyDLL(chosen.library)  # that which is loaded
    library.cut_name.restype = ctypes.c_char_p
    action = ctypes.CFUNCTYPE(None, ctypes.c_long)
    library.cut_below.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_long, action]

    straight = chosen.folder / "straight"
    straight.mkdir(parents=True)
    copies = []

    def copy(call):
        copies.append(chosen.folder / f"call-{call}")
        shutil.copytree(straight, copies[-1])

    def below(folder, at=0, copy=None):
        library.cut_below(bytes(folder), at, chosen.presses, copy or action())

    before_each = action(copy)
    below(straight, copy=before_each if chosen.kill else None)
    whole = trainer(straight, chosen.save_every)
    expected = events(whole.run())
    calls = library.cut_calls()
    names = [library.cut_name(ctypes.c_long(i)).decode() for i in range(calls)]
    below(b"")
    left = outcome(straight)
    assert any("True" in one for one in expected[1]), "nothing was best"
    assert sum(validation.decayed for validation in whole.history.validations) == 3

    if chosen.kill:
        for call, folder in enumerate(copies):
            trainer(folder, chosen.save_every).run()
            compare(f"killed before call {call + 1}, {names[call]}", outcome(folder), left)
            shutil.rmtree(folder)
    else:
        for call in range(1, calls + 1):
            folder = chosen.folder / f"cut-{call}"
            folder.mkdir()
            interrupted = trainer(folder, chosen.save_every)
            below(folder, call)
            what = f"interrupted at call {call}, {names[call - 1]}"
            try:
                interrupted.run()
                sys.exit(f"{what}: no KeyboardInterrupt")
            except KeyboardInterrupt:
                pass
            below(b"")
            rest = interrupted if chosen.same else trainer(folder, chosen.save_every)
            rest.run()
            history = interrupted.history
            if rest is not interrupted:
                history.steps += rest.history.steps
                history.validations += rest.history.validations
            # A second Ctrl-C ends the callback that writes the log, or the last checkpoint: another trainer
            # then takes steps again.
            if rest is interrupted or chosen.presses == 1:
                compare(f"{what}: history", events(history), expected)
            parts = None if chosen.presses == 1 else 3
            compare(what, outcome(folder)[:parts], left[:parts])
            shutil.rmtree(folder)
    sys.stdout.write(json.dumps({"calls": calls, **collections.Counter(names)}) + "\n")


if __name__ == "__main__":
    main()
