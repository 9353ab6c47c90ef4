"""Trains the encoder that a TOML file describes, and saves it.

The file's tables are [encoder] (class, and the parameters of its constructor), [vectors], [data], [text]
(for translation: how text is prepared), [output], [checkpoints] and [logs]. The same command resumes a
stopped run. Under torchrun, all processes train together.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import FormatError
from ..families import FAMILIES
from ..files import read_json, read_text, whole_file
from . import UsageError, sources, streams
from .parameter_types import check_type, types_of

if TYPE_CHECKING:
    from ..models import NeuralEncoder
    from ..training import Callback

__all__ = ["EXAMPLE", "HELP", "NAME", "Config", "add_arguments", "read_config", "run"]

NAME = "train"
HELP = "train the neural encoder that a TOML file describes"
EXAMPLE = """
sentencode train aae.toml
sentencode train aae.toml --set hidden=512 --set data.valid=dev.txt --output small.sentencode
python -m sentencode.distributed.torchrun --standalone --nproc-per-node 2 -m sentencode train aae.toml
"""

# What a file may hold; [encoder] has what its class takes. Those that name files are paths.
_VECTORS = ("file", "limit", "storage", "format", "dim", "cache")
_TABLES: dict[str, tuple[str, ...]] = {
    "encoder": ("class",),
    "vectors": _VECTORS,
    "data": ("train", "valid"),
    "text": ("moses", "bpe"),
    "output": ("file",),
    "checkpoints": ("folder", "keep_last"),
    "logs": ("csv", "tensorboard"),
}
_PATHS = {
    *(("vectors", "file"), ("data", "train"), ("data", "valid"), ("output", "file")),
    *(("checkpoints", "folder"), ("logs", "csv"), ("logs", "tensorboard")),
    *(("data", "train_target"), ("data", "valid_target")),
}
_NOT_WRITTEN = ("vectors", "vocabulary", "target_vocabulary")  # parameters that a file cannot hold
# What may differ where a training goes on: where it ends and how often it looks, not which steps it takes.
_MAY_CHANGE = frozenset(
    {
        *("device", "max_steps", "max_epochs", "validate_every", "save_every", "stop_after", "max_words"),
        *("least_rate", "read_every"),
    }
)
_CONFIG = "config.json"  # in the folder of checkpoints
_NOTED = ("encoder", "vectors", "data")  # the tables that stand in it; and [text], where there is one
_SIDES = ("source", "target")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("config", type=Path, metavar="CONFIG.toml", help="what to train, and on what")
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="where to save the encoder, instead of [output] file"
    )
    parser.add_argument(
        "--checkpoints",
        type=Path,
        metavar="FOLDER",
        help="instead of [checkpoints] folder (default: the output's name and .checkpoints)",
    )
    again = parser.add_mutually_exclusive_group()
    again.add_argument(
        "--resume", action="store_true", help="resume only: an error if there is no checkpoint"
    )
    again.add_argument("--fresh", action="store_true", help="remove existing checkpoints and start over")
    parser.add_argument("--device", metavar="NAME", help="cpu, cuda, ... instead of the file's")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a parameter of the encoder, or TABLE.KEY, instead of the file's; may be repeated",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace the output if it is there")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


@dataclass(frozen=True)
class Config:
    """What a file says, checked.

    Attributes:
        kind: The class of the encoder.
        tables: Table -> key -> value; all paths are absolute.
    """

    kind: type[NeuralEncoder]
    tables: dict[str, dict[str, Any]]

    @property
    def parameters(self) -> dict[str, Any]:
        """Of the encoder's constructor."""
        return {name: value for name, value in self.tables["encoder"].items() if name != "class"}


def read_config(path: Path, changes: Mapping[str, Any] | None = None) -> Config:
    """Reads what `sentencode train` is to do.

    Args:
        path: A TOML file. Paths in it start from its folder.
        changes: `parameter` or `table.key` -> what stands in place of the file's value. Paths among them
            start from the working directory.

    Returns:
        The configuration.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is no TOML, lacks what is needed, or has a table or key that is not known.
        UsageError: A change is of no known key.
    """
    changes = changes or {}
    tables = _changed(_tables(path), changes)
    kind = _kind(tables["encoder"].get("class"), path)
    head = tables["encoder"].get("head")
    taught = (head.get("kind") if isinstance(head, Mapping) else head) == "RowRegression"
    data = (*kind.task_class.data, *(["teacher"] if taught else []))
    known = {**_TABLES, "encoder": ("class", *_parameters(kind)), "data": data}
    for table, keys in tables.items():
        for key in keys:
            if key in known[table]:
                continue
            shown = f"[{table}] has no key {key!r}{f' ({kind.__name__})' if table == 'encoder' else ''}"
            shown += f"; it has {', '.join(sorted(known[table]))}"
            if key == "teacher":
                shown += ', and with [encoder.head] kind = "RowRegression" a teacher'
            if f"{table}.{key}" in changes or (table == "encoder" and key in changes):
                raise UsageError(f"--set: {shown}")
            raise ValueError(f"{path}: {shown}")
    if "train" not in tables["data"]:
        raise ValueError(f"{path}: [data] lacks train, the file or files to train on")
    for name in ("train", "valid") if head is None and "train_target" in data else ():
        both = [tables["data"].get(key) for key in (name, f"{name}_target")]
        if both[0] is not None and both[1] is None:
            raise ValueError(f"{path}: [data] lacks {name}_target, the file with the translations of {name}")
        if any(isinstance(side, list) for side in both):
            raise ValueError(f"{path}: [data] {name} and {name}_target: give one file each")
    _check_text(tables, path)
    if taught and "teacher" not in tables["data"]:
        raise ValueError(
            f"{path}: [data] lacks teacher, the encoder whose rows RowRegression learns: a saved one, or the "
            "name or folder of a sentence-transformers model"
        )
    if tables["vectors"] and "file" not in tables["vectors"]:
        raise ValueError(f"{path}: [vectors] lacks file; without the table, the built-in ones are used")
    for name, value in tables["encoder"].items():
        if value is False and name != "class" and _may_be_none(kind, name):
            tables["encoder"][name] = None
    _check_types(kind, tables, changes, path)
    return Config(kind, tables)


# Annotations of what the encoder's constructor does not annotate.
_TYPES = {
    "encoder": dict.fromkeys(("max_length", "max_tokens"), "int | None"),
    "vectors": {"limit": "int", "storage": "str", "format": "str", "dim": "int", "cache": "bool | str"},
    "checkpoints": {"keep_last": "int"},
}


def _check_types(
    kind: type[NeuralEncoder], tables: Mapping[str, dict[str, Any]], changes: Mapping[str, Any], path: Path
) -> None:
    from ..training import TrainingOptions

    encoder = types_of((*kind.__mro__, TrainingOptions), kind._defaults())
    types = {**_TYPES, "encoder": {**_TYPES["encoder"], **encoder}}
    for table, known in types.items():
        for name, value in tables[table].items():
            changed = f"{table}.{name}" in changes or (table == "encoder" and name in changes)
            try:
                check_type(f"[{table}] {name}", value, known.get(name, ""))
            except ValueError as error:
                if changed:
                    raise UsageError(f"--set: {error}") from None
                raise ValueError(f"{path}: {error}") from None


def run(options: argparse.Namespace) -> None:
    """Runs the command."""
    changes = dict(map(_change, options.set))
    for name, value in (
        *(("encoder.device", options.device), ("output.file", options.output)),
        ("checkpoints.folder", options.checkpoints),
    ):
        if value is not None:
            changes[name] = str(value)
    config = read_config(options.config, changes)
    output, folder = _places(config, options)
    with _processes(config) as first:
        if first:
            _prepare(config, folder, options)
        _meet()
        begin = time.perf_counter()
        data = config.tables["data"]
        texts, parameters, moses = _prepared_text(config)
        encoder = config.kind(_vectors(config), **config.parameters, **parameters)
        show = first and not options.quiet
        given: tuple[Any, Any]
        valid: Any
        if "train_target" in data:
            given, valid = texts
        elif "teacher" in data:
            given, valid = _taught(data, first=first, show=show)
        elif (head := encoder.settings()["head"]) is None:
            given = _corpus(data["train"]), None
            valid = _corpus(data.get("valid"))
        else:
            given = _examples(data["train"], head)
            valid = _examples(data["valid"], head) if "valid" in data else None
            valid = valid[0] if valid is not None and valid[1] is None else valid
        try:
            encoder.fit(
                *given,
                valid=valid,
                checkpoints=folder,
                keep_last=config.tables["checkpoints"].get("keep_last", 2),
                callbacks=_logs(config),
                show_progress_bar=show,
            )
        except KeyboardInterrupt:
            if first:
                streams.say(f"sentencode: {_how_to_go_on(folder)}")
            raise
        if first:
            kept = ("vectors", "data", "text") if config.tables["text"] else ("vectors", "data")
            encoder.origin_ = {name: config.tables[name] for name in kept}
            for one, file in zip(moses, _moses_files(config), strict=True):
                one.save(file)
            encoder.save(output)
            print(_summary(encoder, output, time.perf_counter() - begin))


# --- the configuration ---


def _read(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        found: dict[str, Any] = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"{path}: this is no TOML: {error}") from None
    return found


def _tables(path: Path) -> dict[str, dict[str, Any]]:
    """All tables of a file, those that are not there empty; paths are absolute."""
    found = _read(path)
    for name, keys in found.items():
        if name not in _TABLES:
            raise ValueError(f"{path}: there is no table [{name}]; there are {', '.join(_TABLES)}")
        if not isinstance(keys, dict):
            raise ValueError(f"{path}: {name} must be a table, [{name}]")
    tables = {name: dict(found.get(name, {})) for name in _TABLES}
    folder = path.absolute().parent
    for table, key in _PATHS:
        if key in tables[table]:
            tables[table][key] = _absolute(tables[table][key], folder, f"{path}: [{table}] {key}")
    if "teacher" in tables["data"]:
        tables["data"]["teacher"] = _teacher(tables["data"]["teacher"], folder, f"{path}: [data] teacher")
    return tables


def _changed(tables: dict[str, dict[str, Any]], changes: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The tables with what the command line says."""
    for name, value in changes.items():
        table, dot, key = name.rpartition(".")
        table = table if dot else "encoder"
        if table not in _TABLES:
            raise UsageError(f"--set: there is no table [{table}]; there are {', '.join(_TABLES)}")
        if (table, key) in _PATHS:
            value = _absolute(value, Path.cwd(), f"--set {name}")
        elif (table, key) == ("data", "teacher"):
            value = _teacher(value, Path.cwd(), f"--set {name}")
        tables[table][key] = value
    return tables


def _change(text: str) -> tuple[str, Any]:
    """KEY=VALUE or TABLE.KEY=VALUE; a value that is no Python literal is a word."""
    name, equals, value = text.partition("=")
    if not equals or not all(part.isidentifier() for part in name.split(".")) or name.count(".") > 1:
        raise UsageError(f"--set: expected KEY=VALUE or TABLE.KEY=VALUE, got {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _absolute(value: Any, folder: Path, what: str) -> Any:
    if isinstance(value, list) and value:
        return [_absolute(one, folder, what) for one in value]
    if not isinstance(value, str) or not value:
        raise ValueError(f"{what} must be a path, got {value!r}")
    return os.path.normpath(folder / Path(value).expanduser())


def _teacher(value: Any, folder: Path, what: str) -> str:
    """A file or folder, if there is one; else a model's name."""
    path: str = _absolute(value, folder, what) if isinstance(value, str) else ""
    if not path:
        raise ValueError(f"{what} must be a path, or a model's name, got {value!r}")
    return path if os.path.exists(path) else value


def _kinds() -> dict[str, type[NeuralEncoder]]:
    from .. import models

    return {name: getattr(models, name) for name in FAMILIES}


def _kind(name: Any, path: Path) -> type[NeuralEncoder]:
    kinds = _kinds()
    if name is None:
        raise ValueError(f"{path}: [encoder] lacks class, one of {', '.join(sorted(kinds))}")
    if not isinstance(name, str) or name not in kinds:
        raise ValueError(f"{path}: [encoder] class must be one of {', '.join(sorted(kinds))}, got {name!r}")
    return kinds[name]


def _parameters(kind: type[NeuralEncoder]) -> list[str]:
    return [name for name in kind._defaults() if name not in _NOT_WRITTEN]


def _may_be_none(kind: type[NeuralEncoder], name: str) -> bool:
    """Whether a parameter's type has None, and no false: TOML, which has no None, says false for it."""
    from ..training import TrainingOptions

    for one in (*(vars(of).get("__init__") for of in kind.__mro__), TrainingOptions):
        annotation = getattr(one, "__annotations__", {}).get(name)
        if annotation is not None:
            return "None" in str(annotation) and "bool" not in str(annotation)
    default = kind.task_class.parameters.get(name, True)
    return not isinstance(default, bool)


# --- what is there, and what is to be written ---


def _places(config: Config, options: argparse.Namespace) -> tuple[Path, Path]:
    """The output and the folder of checkpoints."""
    if "file" not in config.tables["output"]:
        raise UsageError(f"{options.config} has no [output] file: give it there, or by --output")
    output = Path(config.tables["output"]["file"])
    folder = config.tables["checkpoints"].get("folder", f"{output}.checkpoints")
    return output, Path(folder)


def _prepare(config: Config, folder: Path, options: argparse.Namespace) -> None:
    """The first process looks at what is there before anything is computed, and notes what is trained."""
    from ..training.checkpoints import checkpoint_files, foreign_files, remove_checkpoints

    data = config.tables["data"]
    inputs = [options.config, config.tables["vectors"].get("file"), *_files(data["train"])]
    inputs += [file for name in data if name != "train" for file in _files(data[name])]
    output = Path(config.tables["output"]["file"])
    for written in (output, *_moses_files(config)):
        sources.check_output(written, inputs, options.overwrite)
    for key, place in config.tables["logs"].items():
        log = Path(place)
        for path in (output, *filter(None, inputs)):
            if os.path.realpath(log) == os.path.realpath(path):
                what = "is to be written" if path is output else "is read"
                raise UsageError(f"[logs] {key}: {log} {what} as well; give the log another name")
        if key == "csv" and log.is_dir():
            raise UsageError(f"[logs] csv: {log} is a folder, and must be a file")
        (log.parent if key == "csv" else log).mkdir(parents=True, exist_ok=True)
    for name in ("train", "valid"):
        if name in data:
            _corpus(data[name])  # an error now if there is no such file
    # A folder may be one of models, or of another program: what is not ours is neither removed nor replaced.
    noted = folder / _CONFIG
    before = _read_noted(noted)
    for path in foreign_files(folder):
        raise ValueError(_other_files(path, "no checkpoint"))
    there = checkpoint_files(folder)
    # When torchrun starts its processes anew, what they have left is theirs.
    restarted = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"
    if there and options.fresh and not restarted:
        remove_checkpoints(folder)
        noted.unlink(missing_ok=True)
        there = []
    if options.resume and not there:
        raise FileNotFoundError(2, "--resume: there is no checkpoint", str(folder))
    now = json.loads(json.dumps(_decisive(config)))
    if there and before is not None:
        _check_same(folder, before, now)
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(noted) as file:
        file.write(f"{json.dumps(now, indent=1)}\n".encode())


def _read_noted(path: Path) -> dict[str, Any] | None:
    """What an earlier run noted, if there was one.

    Raises:
        ValueError: The file is another program's: models have one of that name, too.
    """
    if not path.exists():
        return None
    try:
        found = read_json(path)
    except FormatError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(found.get(table), dict) for table in _NOTED):
        raise ValueError(_other_files(path, "not of sentencode train"))
    return found


def _other_files(path: Path, what: str) -> str:
    return f"{path.parent} holds other files: {path.name} is {what}; --checkpoints names another folder"


def _decisive(config: Config) -> dict[str, Any]:
    """All that decides what is trained: parameters with their defaults, vectors and texts."""
    defaults = config.kind._defaults()
    encoder = {"class": config.kind.__name__}
    encoder |= {name: config.parameters.get(name, defaults[name]) for name in _parameters(config.kind)}
    text = {"text": config.tables["text"]} if config.tables["text"] else {}
    return {"encoder": encoder, "vectors": config.tables["vectors"], "data": config.tables["data"], **text}


def _check_same(folder: Path, before: dict[str, Any], now: dict[str, Any]) -> None:
    changes = []
    may_change = set(_MAY_CHANGE)
    if now["encoder"].get("schedule") in ("linear", "cosine"):  # rates depend on where it ends
        may_change -= {"max_steps", "max_epochs"}
    if now["encoder"].get("decay") != 1:  # and on the validations
        may_change -= {"validate_every"}
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


def _files(source: Any) -> list[str]:
    return [] if source is None else [source] if isinstance(source, str) else list(source)


def _corpus(source: Any) -> Any:
    from ..text.corpus import Corpus

    return None if source is None else Corpus.from_files(_files(source))


def _examples(source: Any, head: Any) -> tuple[list[Any], list[Any] | None]:
    """Sentences, pairs or triples, and their labels, of files as `read_labelled` takes them."""
    from ..evaluation.data import read_labelled
    from ..evaluation.data.files import read_lines

    sentences: list[Any] = []
    labels: list[Any] = []
    for file in _files(source):
        if head.labels is None:  # every column is a sentence
            sentences += [tuple(line.split("\t")) for line in read_lines(Path(file))]
            continue
        found = read_labelled(file)
        sentences += found.sentences
        labels += found.labels
        for i, label in enumerate(found.labels if head.labels == "float32" else ()):
            try:
                labels[i - len(found.labels)] = float(label)
            except ValueError:
                raise FormatError(f"{file}: a label is {label!r}, expected a number") from None
    return sentences, labels if head.labels else None


def _check_text(tables: Mapping[str, dict[str, Any]], path: Path) -> None:
    """Refuses a table [text] that does not fit, before anything is read."""
    text = tables["text"]
    if not text:
        return
    if "train_target" not in tables["data"] or tables["encoder"].get("head") is not None:
        raise ValueError(f"{path}: [text] is for encoders that translate: [data] lacks train_target")
    languages = text.get("moses", ["en", "en"])
    if not (
        isinstance(languages, list) and len(languages) == 2 and all(isinstance(x, str) for x in languages)
    ):
        raise ValueError(
            f'{path}: [text] moses must be the languages of both sides, as in ["en", "de"], got {languages!r}'
        )
    size = text.get("bpe", 1)
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ValueError(f"{path}: [text] bpe must be how many pieces there are, as in 4000, got {size!r}")
    for name in ("tokenizer", "target_tokenizer"):
        if "bpe" in text and name in tables["encoder"]:
            raise ValueError(f"{path}: [text] bpe cuts both sides, so that [encoder] can have no {name}")


def _prepared_text(config: Config) -> tuple[Any, dict[str, Any], list[Any]]:
    """Both sides to train and to validate on, as [text] prepares them; parameters; and Moses of each."""
    from ..text import Moses, learn_bpe
    from ..text.corpus import Corpus

    data, text = config.tables["data"], config.tables["text"]
    if "train_target" not in data:
        return (), {}, []
    texts = [[data[name], data[f"{name}_target"]] for name in ("train", "valid") if name in data]
    moses = []
    for side, language in enumerate(text.get("moses", ())):
        try:
            moses.append(Moses(language).learn(texts[0][side]))
        except ValueError as error:
            raise ValueError(f"[text] moses: {texts[0][side]}: {error}") from error
        for both in texts:
            both[side] = moses[side].prepare(Corpus(both[side], keep_empty=True))
    parameters = {"tokenizer": learn_bpe(*texts[0], size=text["bpe"])} if "bpe" in text else {}
    return (texts[0], texts[1] if len(texts) == 2 else None), parameters, moses


def _moses_files(config: Config) -> list[Path]:
    """Where Moses of each side is saved: beside the output."""
    output = Path(config.tables["output"]["file"])
    return [output.with_suffix(f".{side}.moses") for side in _SIDES if "moses" in config.tables["text"]]


def _taught(data: Mapping[str, Any], *, first: bool, show: bool) -> tuple[Any, Any]:
    """Sentences, and a teacher's rows of them, to train on and to validate on."""
    from ..distill import teacher_named, teacher_rows
    from ..text.inputs import is_blank

    if not first:
        _meet()  # what the first process has computed is in the cache then
    try:
        teacher = teacher_named(data["teacher"])
    except (ImportError, OSError, ValueError) as error:
        raise ValueError(f"[data] teacher: {error}") from error
    found: list[Any] = []
    for name in ("train", "valid"):
        texts = [text for text in _corpus(data[name]) if not is_blank(text)] if name in data else None
        if texts == []:
            raise ValueError(f"[data] {name}: there is no sentence for the teacher to read")
        found.append(None if texts is None else (texts, teacher_rows(teacher, texts, progress=show)))
    if first:
        _meet()
    return found[0], found[1]


def _vectors(config: Config) -> Any:
    from ..vectors import WordVectors

    options = dict(config.tables["vectors"])
    if not options and "train_target" in config.tables["data"]:
        return None  # both languages begin by chance
    return WordVectors.load(options.pop("file"), **options) if options else WordVectors.default()


def _logs(config: Config) -> list[Callback]:
    from ..training import CsvLog, TensorBoardLog

    logs = config.tables["logs"]
    found: list[Callback] = []
    if "csv" in logs:
        found.append(CsvLog(logs["csv"]))
    if "tensorboard" in logs:
        found.append(TensorBoardLog(logs["tensorboard"]))
    return found


def _how_to_go_on(folder: Path) -> str:
    from ..training.checkpoints import step_files

    kept = step_files(folder)
    if not kept:
        return f"no step is saved in {folder} yet"
    step = int(kept[-1].stem.removeprefix("step-"))
    return f"step {step:,} is saved in {folder}; the same command resumes there"


def _summary(encoder: Any, output: Path, seconds: float) -> str:
    parts = [f"{output}: {type(encoder).__name__}, {encoder.dim} numbers a sentence"]
    parts.append(f"{encoder.network_parameters():,} parameters")
    history = encoder.history_
    if history.steps:
        parts.append(f"step {history.steps[-1].step:,}, loss {history.steps[-1].loss:.3f}")
    else:
        parts.append("no step was left to do")
    if best := [validation for validation in history.validations if validation.best]:
        parts.append(f"valid {best[-1].loss:.3f} after step {best[-1].step:,}")
    return f"{'; '.join(parts)}; {seconds / 60:.1f} minutes"


# --- several processes ---


@contextmanager
def _processes(config: Config) -> Iterator[bool]:
    """Joins the processes that torchrun has started. Says whether this is the first one, or the only."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        yield True
        return
    import torch
    import torch.distributed as dist

    from ..distributed import init_process_group

    device = config.parameters.get("device", "auto")
    cuda = torch.cuda.is_available() if device == "auto" else str(device).startswith("cuda")
    if cuda:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    init_process_group("nccl" if cuda else "gloo")
    try:
        yield dist.get_rank() == 0
    finally:
        dist.destroy_process_group()


def _meet() -> None:
    """Waits for the others, if there are any."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        import torch.distributed as dist

        dist.barrier()
