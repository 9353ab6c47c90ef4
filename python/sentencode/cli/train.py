"""Trains the encoder that a TOML file describes, and saves it.

The file's tables are [encoder] (class, and the parameters of its constructor), [vectors], [data], [text]
(preprocessing for translation), [output], [checkpoints] and [logs]. The same command resumes a stopped run.
Under torchrun, all processes train together.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import FormatError
from ..files import read_json, whole_file
from . import sources, streams, train_data
from .errors import UsageError
from .options import add_assignments, add_options, add_output_options, assignment
from .train_config import Config, read_config

if TYPE_CHECKING:
    from ..training import Callback

__all__ = ["EXAMPLE", "HELP", "NAME", "Config", "add_arguments", "read_config", "run"]

NAME = "train"
HELP = "train the neural encoder that a TOML file describes"
EXAMPLE = """
sentencode train aae.toml
sentencode train aae.toml --set hidden=512 --set data.valid=dev.txt --output small.sentencode
python -m sentencode.distributed.torchrun --standalone --nproc-per-node 2 -m sentencode train aae.toml
"""

# Parameters that a resumed run may change: they decide when it ends and validates, not which steps it takes.
_MAY_CHANGE = frozenset(
    {
        *(
            "device",
            "max_steps",
            "max_epochs",
            "max_minutes",
            "validate_every",
            "validate_first",
            "save_every",
            "stop_after",
            "max_words",
        ),
        *("least_rate", "read_every"),
    }
)
_CONFIG = "config.json"  # in the folder of checkpoints: the run that they belong to
_CONFIG_TABLES = ("encoder", "vectors", "data")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", type=Path, metavar="CONFIG.toml", help="what to train, and on what")
    checkpoints = "instead of [checkpoints] folder (default: the output's name and .checkpoints)"
    options = {
        "--output FILE": (Path, "output file of the encoder, instead of [output] file"),
        "--checkpoints FOLDER": (Path, checkpoints),
        "--device NAME": (str, "cpu, cuda, ... instead of the file's"),
    }
    add_options(parser, options)
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--resume", action="store_true", help="fail if there is no checkpoint to resume from")
    group.add_argument("--fresh", action="store_true", help="remove existing checkpoints and start over")
    group.add_argument(
        "--stop-now", action="store_true", help="take no step: write the encoder of the checkpoints so far"
    )
    add_assignments(parser, "KEY=VALUE", "a parameter of the encoder, or TABLE.KEY, instead of the file's")
    add_output_options(parser, "replace the output file")


def run(options: argparse.Namespace) -> None:
    changes = dict(assignment(text, "KEY=VALUE or TABLE.KEY=VALUE") for text in options.set)
    for name, value in (
        *(("encoder.device", options.device), ("output.file", options.output)),
        ("checkpoints.folder", options.checkpoints),
    ):
        if value is not None:
            changes[name] = str(value)
    config = read_config(options.config, changes)
    if "file" not in config.tables["output"]:
        raise UsageError(f"{options.config} has no [output] file: give it there, or with --output")
    folder = Path(config.tables["checkpoints"].get("folder", f"{config.output}.checkpoints"))
    with _process_group(config) as first:
        if first:
            _prepare(config, folder, options)
        _barrier()
        begin = time.perf_counter()
        data = config.tables["data"]
        parameters: dict[str, Any] = {}
        moses: list[Any] = []
        if translation := "train_target" in data:
            train, valid, parameters, moses = train_data.translations(config)
        encoder = config.kind(train_data.vectors(config), **config.parameters, **parameters)
        show = first and not options.quiet
        if not translation:
            head = encoder.settings()["head"]
            train, valid = train_data.sentences(data, head, first=first, show=show, wait=_wait_for_first)
        fit: dict[str, Any] = {
            "valid": valid if "valid" in data else "auto",
            "checkpoints": folder,
            "keep_last": config.tables["checkpoints"].get("keep_last", 1),
        }
        if first:
            _begin(config, folder, options, encoder, fit)
        _barrier()
        try:
            encoder.fit(
                *train,
                **fit,
                callbacks=_logs(config),
                stop="now" if options.stop_now else None,
                show_progress_bar=show,
            )
        except KeyboardInterrupt:
            if first:
                streams.say(f"sentencode: {_how_to_resume(folder)}")
            raise
        if first:
            encoder.origin_ = config.origin()
            for preprocessor, file in zip(moses, config.moses_files(), strict=True):
                preprocessor.save(file)
            encoder.save(config.output)
            print(_summary(encoder, config.output, time.perf_counter() - begin))


# --- files: inputs, outputs, checkpoints


def _prepare(config: Config, folder: Path, options: argparse.Namespace) -> None:
    """Checks all files before any work."""
    from ..training.checkpoints import checkpoint_files, foreign_files

    data = config.tables["data"]
    inputs = [options.config, config.tables["vectors"].get("file")]
    texts = [file for source in data.values() for file in train_data.files_of(source)]
    for written in (config.output, *config.moses_files()):
        sources.check_output(written, inputs, options.overwrite, texts=texts)
    for written in (folder, *map(Path, config.tables["logs"].values())):
        for text in filter(os.path.isdir, texts):
            if written.resolve().is_relative_to(Path(text).resolve()):
                raise UsageError(f"{written} is in the folder {text}, which is read: give it another name")
    _prepare_logs(config, [*inputs, *texts, *config.moses_files(), folder / _CONFIG])
    for name in ("train", "valid"):
        train_data.corpus(data.get(name))  # an error now if there is no such file
    # The folder may be one of models, or of another program: foreign files are neither removed nor replaced.
    before = _read_run(folder / _CONFIG)
    for foreign in foreign_files(folder):
        raise ValueError(_foreign(foreign, "no checkpoint"))
    checkpoints = [] if _starts_over(options) else checkpoint_files(folder)
    if (options.resume or options.stop_now) and not checkpoints:
        name = "--resume" if options.resume else "--stop-now"
        raise FileNotFoundError(2, f"{name}: there is no checkpoint", str(folder))
    if checkpoints and before is not None:
        _check_same_run(folder, before, _run_of(config))


def _begin(
    config: Config, folder: Path, options: argparse.Namespace, encoder: Any, fit: dict[str, Any]
) -> None:
    """Notes in the folder of checkpoints what is trained. --fresh removes those of another run."""
    from .. import _nn
    from ..models.neural_training import check_options
    from ..training.checkpoints import checkpoint_files, remove_checkpoints

    if _starts_over(options) and checkpoint_files(folder):
        check_options(encoder, **fit)  # an error must not cost the checkpoints
        remove_checkpoints(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with _nn.lock_folder(folder), whole_file(folder / _CONFIG) as file:  # not while another training runs
        file.write(f"{json.dumps(_run_of(config), indent=1)}\n".encode())


def _starts_over(options: argparse.Namespace) -> bool:
    # After a restart by torchrun, checkpoints are those of this run, also with --fresh.
    return options.fresh and os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"


def _run_of(config: Config) -> dict[str, Any]:
    run: dict[str, Any] = json.loads(json.dumps(config.decisive()))
    return run


def _prepare_logs(config: Config, inputs: list[Any]) -> None:
    output = config.output
    for key, name in config.tables["logs"].items():
        log = Path(name)
        for path in (output, *filter(None, inputs)):
            if os.path.realpath(log) == os.path.realpath(path):
                what = "the output" if path is output else "read, or written as another file"
                raise UsageError(f"[logs] {key}: {log} is also {what}; give the log another name")
        if key == "csv" and log.is_dir():
            raise UsageError(f"[logs] csv: {log} is a folder, and must be a file")
        (log.parent if key == "csv" else log).mkdir(parents=True, exist_ok=True)


def _read_run(path: Path) -> dict[str, Any] | None:
    """The run that a folder of checkpoints belongs to, if any.

    Raises:
        ValueError: The file is another program's; folders of models have a file of this name, too.
    """
    if not path.exists():
        return None
    try:
        run = read_json(path)
    except FormatError:
        run = None
    if not isinstance(run, dict) or not all(isinstance(run.get(table), dict) for table in _CONFIG_TABLES):
        raise ValueError(_foreign(path, "not of sentencode train"))
    return run


def _foreign(path: Path, what: str) -> str:
    return f"{path.parent} holds other files: {path.name} is {what}; --checkpoints names another folder"


def _check_same_run(folder: Path, before: dict[str, Any], now: dict[str, Any]) -> None:
    may_change = set(_MAY_CHANGE)
    if now["encoder"].get("schedule") in ("linear", "cosine"):  # the learning rate depends on the last step
        may_change -= {"max_steps", "max_epochs"}
    if now["encoder"].get("decay") != 1:  # and on the validations
        may_change -= {"validate_every"}
    changes = []
    for table in {**now, **before}:
        old, new = before.get(table, {}), now.get(table, {})
        for key in sorted({*old, *new}):
            if key not in may_change and old.get(key) != new.get(key):
                changes.append(f"[{table}] {key} was {old.get(key)!r} and is {new.get(key)!r}")
    if changes:
        raise ValueError(
            f"{folder} holds checkpoints of a different run: {'; '.join(changes)}; "
            "--fresh starts over, --checkpoints names another folder"
        )


# --- reports


def _logs(config: Config) -> list[Callback]:
    from ..training import CsvLog, TensorBoardLog

    kinds = {"csv": CsvLog, "tensorboard": TensorBoardLog}
    logs = config.tables["logs"]
    return [kind(logs[name]) for name, kind in kinds.items() if name in logs]


def _how_to_resume(folder: Path) -> str:
    from ..training.checkpoints import step_files

    files = step_files(folder)
    if not files:
        return f"no step is saved in {folder} yet"
    step = int(files[-1].stem.removeprefix("step-"))
    resumes = "the same command resumes there, and with --stop-now writes the encoder"
    return f"step {step:,} is saved in {folder}; {resumes}"


def _summary(encoder: Any, output: Path, seconds: float) -> str:
    parts = [f"{output}: {type(encoder).__name__}, {encoder.dim} dimensions"]
    parts.append(f"{encoder.network_parameters():,} parameters")
    history = encoder.history_
    if history.steps:
        parts.append(f"step {history.steps[-1].step:,}, loss {history.steps[-1].loss:.3f}")
    else:
        parts.append("no further steps")
    if best := [validation for validation in history.validations if validation.best]:
        parts.append(f"valid {best[-1].loss:.3f} after step {best[-1].step:,}")
    return f"{'; '.join(parts)}; {seconds / 60:.1f} minutes"


# --- several processes


@contextmanager
def _process_group(config: Config) -> Iterator[bool]:
    """Joins the processes of torchrun; yields whether this is the first, or the only, process."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield True
        return
    import torch
    import torch.distributed as dist

    from ..distributed import init_process_group

    device = config.parameters.get("device", "auto")
    cuda = torch.cuda.is_available() if device == "auto" else str(device).startswith("cuda")
    init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo")
    try:
        yield dist.get_rank() == 0
    finally:
        dist.destroy_process_group()


def _barrier() -> None:
    """Waits for the other processes, if there are any."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        import torch.distributed as dist

        dist.barrier()


def _wait_for_first() -> None:
    """Waits for the first process, which calls it when it is done. A barrier would have a time limit."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        import torch.distributed as dist

        store = dist.distributed_c10d._get_default_store()
        if dist.get_rank() == 0:
            store.set("sentencode/teacher", "done")
        else:
            store.wait(["sentencode/teacher"], timedelta(days=100))
