"""Fuzzes saved files of every kind: damages them, uses each in another process, and counts outcomes.

usage: python tools/fuzz_files.py [--seconds 60] [--seed 1] [--state build/fuzz-files] [--kinds sif,laes]
                                  [--changes bytes|values]

--changes bytes damages random bytes. A damaged file must raise an error that names it, or yield the same
embeddings as the original. Half of the files get new checksums after the damage, so that the code after the
checksum is tested; their embeddings may differ.

--changes values replaces a value of the configuration or of the parameters, or all values of a tensor, with
new checksums, as an attacker would. The seed decides the order of all these changes.

Each file that loads is used in every way of its kind; a DivergedError is allowed then. A process fails if it
dies, hangs, needs more memory than --memory, or raises another error; its file is kept in the state's folder.
The same command resumes.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import resource
import select
import struct
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

TEXTS = [
    "the cat sat on the mat",
    "a big dog ran",
    "the red cat",
    "a dog sat",
    "the big mat",
    "no such words",
]
WORDS = ["the", "cat", "sat", "on", "mat", "a", "big", "dog", "ran", "red"]
NUMBERS = (0, 1, 2, 3, 7, 255, 4096, 65537, 1 << 20, 1 << 31, (1 << 31) - 1, 1 << 40, 1 << 62, (1 << 63) - 1)
FAILED = ("silent", "unnamed", "memory", "hang", "crash", "odd")
_ROUND = 100
COLUMNS = ("files", "refused", "same", "changed", "unusable", *FAILED)
TENSOR, HEADER = "checksum.tensor.", "checksum.header"


# --- undamaged files, and their outputs


def make(folder: Path, only: Sequence[str] = ()) -> list[str]:
    """Write a file of each kind, neural ones only if they are in `only`; return the kinds."""
    import numpy as np

    import sentencode as se
    from sentencode.evaluation import Report, TaskResult

    rows = np.random.default_rng(1).normal(size=(len(WORDS), 4)).astype(np.float32)
    counts = list(range(10 * len(WORDS), 0, -10))
    tables = {
        storage: se.WordVectors.from_array(WORDS, rows, counts, storage=storage)
        for storage in ("float32", "float16", "int8")
    }
    for storage, table in tables.items():
        table.save(folder / f"vectors-{storage}")
    np.savez(folder / "archive", words=np.array(WORDS), vectors=rows, counts=np.array(counts))
    os.rename(folder / "archive.npz", folder / "archive")
    words = tables["float32"]
    laes: dict[str, Any] = {"hidden": 4, "max_length": 4}
    encoders = {
        "average": se.Average(tables["float16"]),
        "sif": se.SIF(words, components=1).fit(TEXTS),
        "usif": se.USIF(tables["int8"], components=2).fit(TEXTS),
        "laes-hidden": se.LAES(words, mode="hidden", **laes).fit(TEXTS),
        "laes-residual": se.LAES(words, mode="residual", **laes).fit(TEXTS),
    }
    for name, encoder in encoders.items():
        encoder.save(folder / name)
    encoders["laes-hidden"].save(folder / "laes-statistics", statistics=True)
    report = Report("one", {"mine": TaskResult("mine", {"acc": 61.5, "ntest": 3}, {})}, {"other": "no files"})
    report.to_json(folder / "report")
    _make_neural(folder, words, only)
    return sorted(path.name for path in folder.iterdir())


def _make_neural(folder: Path, words: Any, only: Sequence[str]) -> None:
    import sentencode as se

    try:
        from sentencode.text import learn_bpe
    except ImportError:
        return
    attending = {"hidden": 8, "inner": 8, "heads": 2}
    convolving = {"hidden": 8, "filters": 4, "windows": (1, 2)}
    translating = {"features": 4, "hidden": 2, "decoder_hidden": 3, "attention": 3, "heads": 2, "size": 4}
    transformer = {"features": 4, "size": 4, "heads": 2, "attention": 3, "attention_heads": 2, "inner": 4}
    pooling = {"hidden": 3, "heads": 2, "attention_hidden": 3, "character_filters": 2}
    context = {"hidden": 4, "following_words": 3, "channels": 5, "inner": 4}
    small: dict[str, tuple[str, dict[str, Any]]] = {
        "cnnlstmae": ("CNNLSTMAE", convolving),
        "compositecnn": ("CompositeCNN", convolving),
        "hierarchicalcnn": ("HierarchicalCNN", {**convolving, "paragraph_length": 2}),
        "lstmsdae": ("LSTMSDAE", {"hidden": 8}),
        "meanmaxaae": ("MeanMaxAAE", attending),
        "rae": ("RAE", attending),
        "rnncnn": ("RNNCNN", context),
        "fastsent": ("FastSent", {"autoencode": True}),
        "skipthoughts": ("SkipThoughts", {"hidden": 4, "bidirectional": True}),
        "nmt": ("CompoundNMT", translating),
        "nmt-transformer": (
            "CompoundNMT",
            {"architecture": "trf_attn_attn", "layers": 1, **transformer},
        ),
        "classifier": ("GeneralizedPooling", {**pooling, "head": se.Classifier(hidden=3)}),
        "regression": ("RAE", {**attending, "head": se.CosineRegression()}),
        "ranking": ("GeneralizedPooling", {**pooling, "head": se.MultipleNegatives()}),
        "triplet": ("RNNCNN", {**context, "head": se.Triplet()}),
        "imitation": ("LSTMSDAE", {"hidden": 8, "head": se.RowRegression()}),
    }
    bpe = {}
    try:
        bpe = {"tokenizer": learn_bpe(TEXTS, size=40), "target_tokenizer": learn_bpe(TEXTS, size=50)}
        small["nmt-bpe"] = ("CompoundNMT", {**translating, **bpe})
        sif = se.SIF(words, components=1, tokenizer=bpe["tokenizer"])
        sif.partial_fit(TEXTS).save(folder / "sif-bpe")  # `fit` warns, as one text alone has known pieces
    except ImportError:  # tokenizers is not there
        pass
    for name, (kind, options) in small.items():
        if only and name not in only:
            continue
        arguments = () if kind == "CompoundNMT" else (words,)
        encoder = getattr(se, kind)(*arguments, **options, max_steps=4, batch_size=3, device="cpu")
        encoder.fit(*_examples(kind, options.get("head"))).save(folder / name)


def _examples(kind: str, head: Any) -> tuple[Any, ...]:
    """The arguments of fit."""
    import numpy as np

    texts = TEXTS[:-1] * 4
    sides = {"CosineRegression": 2, "MultipleNegatives": 2, "Triplet": 3}.get(type(head).__name__, 1)
    examples = texts if sides == 1 else list(zip(*[texts] * sides, strict=True))
    if type(head).__name__ == "RowRegression":
        return examples, np.ones((len(examples), 8), np.float32)
    if head is None:
        return (examples, texts) if kind == "CompoundNMT" else (examples,)
    return (
        (examples,)
        if sides == 3 or type(head).__name__ == "MultipleNegatives"
        else (examples, [0, 1] * (len(examples) // 2))
    )


def opened(kind: str, path: str) -> Any:
    """Open a file of a kind."""
    import sentencode as se
    from sentencode.evaluation import Report

    if kind == "report":
        return Report.load(path)
    if kind.startswith("vectors") or kind == "archive":
        return se.WordVectors.load(path, verify=True)
    return se.load(path)


def used(model: Any) -> str:
    """Use a model in every way of its kind, and return a digest of the outputs."""
    import numpy as np

    import sentencode as se
    from sentencode.evaluation import Report

    if isinstance(model, Report):
        return model.to_json()
    if isinstance(model, se.WordVectors):
        arrays = [model.matrix(), np.array(list(model.words)), np.array([word in model for word in WORDS])]
    else:
        arrays = [model.encode(TEXTS), *_more_uses(model)]
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(str((array.dtype, array.shape)).encode() + array.tobytes())
    return digest.hexdigest()


def _more_uses(model: Any) -> Iterator[Any]:
    import numpy as np

    if (learnt := getattr(model, "_trained_head", None)) is not None:
        yield model.predict(TEXTS if learnt.sides == 1 else list(zip(*[TEXTS] * learnt.sides, strict=True)))
        return
    for name in ("translate", "reconstruct"):
        if hasattr(model, name):
            yield np.array(getattr(model, name)(TEXTS, beam=1, max_length=9))
            yield np.array(getattr(model, name)(TEXTS, beam=3, max_length=9))
    if hasattr(model, "translate"):
        yield model.score(TEXTS, TEXTS)
        yield np.array(model.translate(TEXTS[0], sample=True, seed=1, max_length=9))
        yield model.alignment(TEXTS[0], TEXTS[0])[-1]
    if hasattr(model, "following"):
        predictions = chain.from_iterable(model.following(TEXTS[:2]))
        yield np.array([word for position in predictions for word in position], str)


# --- damage


def damaged(content: bytes, generator: random.Random) -> bytes:
    """The content with one random damage."""
    data = bytearray(content)
    position = generator.randrange(len(data))
    header = min(len(data), 8 + struct.unpack("<Q", data[:8])[0]) if data[8:9] == b"{" else len(data)
    kind = generator.choice(
        ("bit", "bit", "header bit", "bits", "cut", "insert", "remove", "size", "number", "copy")
    )
    if kind == "bit":
        data[position] ^= 1 << generator.randrange(8)
    elif kind == "header bit":
        data[generator.randrange(header)] ^= 1 << generator.randrange(8)
    elif kind == "bits":
        for _ in range(generator.randrange(2, 9)):
            data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
    elif kind == "cut":
        del data[position:]
    elif kind == "insert":
        data[position:position] = generator.randbytes(generator.randrange(1, 17))
    elif kind == "remove":
        del data[position : position + generator.randrange(1, 17)]
    elif kind == "size":
        data[:8] = struct.pack(
            "<Q", generator.choice((*NUMBERS, header - 8 + generator.randrange(-8, 9))) % (1 << 64)
        )
    elif kind == "number":
        return _other_number(bytes(data), header, generator)
    else:
        begin = generator.randrange(len(data))
        data[position : position + 64] = data[begin : begin + 64]
    return bytes(data)


def _other_number(data: bytes, header: int, generator: random.Random) -> bytes:
    """Replace a number in the header by another one."""
    import re

    numbers = [match.span() for match in re.finditer(rb"[0-9]+", data[8:header])]
    if not numbers:
        return data
    begin, end = generator.choice(numbers)
    new = str(generator.choice(NUMBERS)).encode()
    text = data[8 : 8 + begin] + new + data[8 + end : header]
    if data[8:9] != b"{":
        return data[:8] + text + data[header:]
    return struct.pack("<Q", len(text)) + text + data[header:]


def with_new_checksums(data: bytes) -> bytes:
    """The file with new checksums; unchanged if its header cannot be read."""
    try:
        size = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8 : 8 + size])
        metadata = header["__metadata__"]
        body, tensors = (
            data[8 + size :],
            {name: one for name, one in header.items() if name != "__metadata__"},
        )
        metadata = {key: value for key, value in metadata.items() if not key.startswith("checksum.")}
        for name, one in tensors.items():
            begin, end = one["data_offsets"]
            metadata[TENSOR + name] = f"{zlib.crc32(body[begin:end]):08x}"
        said = [text for key in sorted(metadata, key=str.encode) for text in (key, metadata[key])]
        for name in sorted(tensors, key=str.encode):
            one = tensors[name]
            said += [name, one["dtype"], *map(str, one["shape"]), *map(str, one["data_offsets"])]
        metadata[HEADER] = f"{zlib.crc32(b''.join(text.encode() + bytes(1) for text in said)):08x}"
        text = json.dumps({"__metadata__": metadata, **tensors}, ensure_ascii=False).encode()
    except (ValueError, KeyError, TypeError, AttributeError, struct.error):
        return data
    text += b" " * (-(8 + len(text)) % 64)
    return struct.pack("<Q", len(text)) + text + body


# --- replaced values

_VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        65_537,
        2**31,
        2**63,
        10**30,
        0.5,
        -0.5,
        1e308,
        float("nan"),
        float("inf"),
    ),
    *(
        "",
        "x",
        "words",
        "external",
        "\0",
        "\ud800",
        [],
        {},
        [0],
        ["x"],
        {"x": 0},
        json.loads("[" * 300 + "]" * 300),
    ),
)
_DELETE, _DUPLICATE = object(), object()
_NESTED = "\0json"  # key of JSON that is a string in other JSON


def values_of(content: bytes) -> list[tuple[Any, ...]]:
    """All changes to values that `with_value` makes."""
    header, _ = _parts(content)
    changes: list[tuple[Any, ...]] = [
        ("tensor", name, how)
        for name in header
        if name != "__metadata__"
        for how in ("nan", "one nan", "inf", "3e38", "+-3e38", "0", "-1", "most", "flat", "missing")
    ]
    metadata = {k: v for k, v in header["__metadata__"].items() if not k.startswith("checksum.")}
    tree = _decoded(metadata)
    for path in _paths(tree):
        changes += [("value", path, i) for i in range(len(_VALUES) + 2)]
        number = _at(tree, path)
        if isinstance(number, int | float) and not isinstance(number, bool):
            changes += [("number", path, other) for other in (number + 1, number - 1, number * 2, -number)]
    return changes


def with_value(content: bytes, change: tuple[Any, ...]) -> bytes:
    """The file with one value replaced, and new checksums."""
    header, body = _parts(content)
    what, path, how = change
    if what == "tensor":
        body = _with_tensor(header, bytearray(body), path, how)
    else:
        options = (*_VALUES, _DELETE, _DUPLICATE)
        tree = _decoded(header["__metadata__"])
        _put(tree, path, options[how] if what == "value" else how)
        header["__metadata__"] = _encoded(tree)
    return with_new_checksums(_joined(header, body))


def _parts(content: bytes) -> tuple[dict[str, Any], bytes]:
    size = struct.unpack("<Q", content[:8])[0]
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def _joined(header: dict[str, Any], body: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def _with_tensor(header: dict[str, Any], body: bytearray, name: str, how: str) -> bytes:
    import numpy as np

    if how == "missing":
        del header[name]
        return bytes(body)
    one = header[name]
    begin, end = one["data_offsets"]
    if how == "flat":
        one["shape"] = [int(np.prod(one["shape"]))]
        return bytes(body)
    dtype = {"F32": "<f4", "F16": "<f2", "F64": "<f8", "I64": "<i8", "I32": "<i4", "I8": "<i1"}.get(
        one["dtype"], "<u1"
    )
    values = np.frombuffer(bytes(body[begin:end]), dtype).copy()
    if dtype[1] == "f":
        with np.errstate(over="ignore"):
            most = np.float64(3e38).astype(dtype)
        if how == "one nan":
            values[len(values) // 2 :][:1] = np.nan
        elif how == "+-3e38":
            values[::2], values[1::2] = most, -most
        else:
            values[:] = {"nan": np.nan, "inf": np.inf, "0": 0, "-1": -1}.get(how, most)
    else:
        info = np.iinfo(dtype)
        values[:] = {"0": 0, "-1": -1 if info.min < 0 else info.max, "one nan": info.min, "nan": 1}.get(
            how, info.max
        )
    body[begin:end] = values.tobytes()
    return bytes(body)


def _decoded(value: Any) -> Any:
    """Parses JSON, including JSON within its strings."""
    if isinstance(value, dict):
        return {key: _decoded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_decoded(one) for one in value]
    if isinstance(value, str) and value[:1] in ("{", "["):
        with contextlib.suppress(ValueError):
            return {_NESTED: _decoded(json.loads(value))}
    return value


def _encoded(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {_NESTED}:
            return json.dumps(_encoded(value[_NESTED]))
        return {key: _encoded(one) for key, one in value.items()}
    return [_encoded(one) for one in value] if isinstance(value, list) else value


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values; of long lists, the first two and the last."""
    if path:
        yield path
    if isinstance(value, dict):
        keys = list(value) if len(value) <= 80 else [*list(value)[:2], list(value)[-1]]
        for key in keys:
            yield from _paths(value[key], (*path, key))
    elif isinstance(value, list):
        for i in sorted({0, 1, len(value) - 1} & set(range(len(value)))):
            yield from _paths(value[i], (*path, i))


def _at(tree: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def _put(tree: Any, path: tuple[Any, ...], value: Any) -> None:
    owner, key = _at(tree, path[:-1]), path[-1]
    if value is _DELETE:
        del owner[key]
    elif value is not _DUPLICATE:
        owner[key] = value
    elif isinstance(owner, list):
        owner.append(owner[key])
    else:
        owner[f"{key}x"] = owner[key]


# --- the process that loads files


def serve(memory: int) -> None:
    """Main loop of the process: reads requests, one per line, and answers with outcomes."""
    import sentencode as se  # before memory is limited

    se.set_num_threads(1)
    for kind, path in map(str.split, sys.stdin):
        if kind == "load":  # load dependencies of a kind once
            with contextlib.suppress(Exception):
                used(opened(*path.split(":", 1)))
            now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (now + memory, resource.RLIM_INFINITY))
            answer = ["ready", ""]
        else:
            answer = _outcome(kind, path)
        print(json.dumps(answer), flush=True)


def _outcome(kind: str, path: str) -> list[str]:
    right: tuple[type[Exception], ...] = (ValueError, OSError)
    loaded = False
    try:
        model = opened(kind, path)
        loaded, right = True, (ValueError, FloatingPointError)
        return ["read", used(model)]
    except MemoryError as error:
        return ["memory", repr(error)]
    except right as error:
        if loaded:
            return ["unusable", repr(error)]
        return ["refused" if path in str(error) else "unnamed", repr(error)]
    except BaseException as error:
        return ["odd", ("" if not loaded else "in use: ") + repr(error)]


class Reader:
    """A server process, which is restarted when it dies."""

    def __init__(self, memory: int, seconds: float) -> None:
        self._command = [sys.executable, __file__, "--serve", str(memory)]
        self._seconds = seconds
        self._process: subprocess.Popen[str] | None = None

    def __call__(self, kind: str, path: Path, whole: Path) -> tuple[str, str]:
        if self._process is None:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            self._ask(f"load {kind}:{whole}", 300)
        return self._ask(f"{kind} {path}", self._seconds)

    def _ask(self, line: str, seconds: float) -> tuple[str, str]:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            print(line, file=process.stdin, flush=True)
        ready, _, _ = select.select([process.stdout], [], [], seconds)
        answer = process.stdout.readline() if ready else ""
        if answer:
            what, why = json.loads(answer)
            return what, why
        self.close()
        return ("crash", f"exit status {process.returncode}") if ready else ("hang", f"{seconds} seconds")

    def close(self) -> None:
        if self._process is not None:
            with contextlib.suppress(BrokenPipeError), self._process:  # closes its pipes, and waits
                self._process.kill()
        self._process = None


# --- the run


def mutants(
    seed: int, kind: str, content: bytes, first: int, changes: str
) -> Iterator[tuple[int, bool, bytes]]:
    """Yield damaged files from a number on: the number, whether checksums are old, and the content."""
    if changes == "values":
        every = values_of(content)
        random.Random(f"{seed} {kind}").shuffle(every)
        for number in range(first, len(every)):
            yield number, False, with_value(content, every[number])
        return
    for number in count(first):
        generator = random.Random(f"{seed} {kind} {number}")
        data = damaged(content, generator)
        old_checksums = number % 2 == 0
        yield number, old_checksums, data if old_checksums else with_new_checksums(data)


def outcome_of(answer: tuple[str, str], whole: str, may_change: bool) -> str:
    """The column of an answer."""
    if answer[0] != "read":
        return answer[0]
    return "same" if answer[1] == whole else "changed" if may_change else "silent"


def table(counts: dict[str, Counter[str]]) -> str:
    """The table of outcomes, one kind per line."""
    lines = [("kind", *COLUMNS)]
    for kind, outcomes in [*sorted(counts.items()), ("all", sum(counts.values(), Counter()))]:
        lines.append((kind, *(f"{outcomes[column]:,}" for column in COLUMNS)))
    text = [f"| {' | '.join(line)} |" for line in lines]
    text.insert(1, "| --- |" + " ---: |" * len(COLUMNS))
    return "\n".join(text)


def run(folder: Path, seed: int, seconds: float, memory: int, only: list[str], changes: str) -> int:
    """Tests damaged files for some time; returns the number of failures, including earlier runs."""
    whole, state = folder / "whole", folder / f"{changes}-{seed}.json"
    if not whole.is_dir():
        whole.mkdir(parents=True)
        make(whole)
    kinds = [path.name for path in sorted(whole.iterdir()) if not only or path.name in only]
    if changes == "values":
        kinds = [kind for kind in kinds if (whole / kind).read_bytes()[8:9] == b"{"]
    known = json.loads(state.read_text()) if state.exists() else {}
    counts = {kind: Counter(known.get(kind, {})) for kind in kinds}
    end = time.monotonic() + seconds
    done = False
    while time.monotonic() < end and not done:
        before = sum(outcomes["files"] for outcomes in counts.values())
        for kind in kinds:
            _round(folder, whole / kind, seed, memory, counts[kind], end, changes)
            state.write_text(json.dumps({**known, **counts}))
        done = before == sum(outcomes["files"] for outcomes in counts.values())
    print(table(counts))
    return sum(outcomes[column] for outcomes in counts.values() for column in FAILED)


def _round(
    folder: Path, whole: Path, seed: int, memory: int, counts: Counter[str], end: float, changes: str
) -> None:
    """Tests damaged files of one kind in one process, which is restarted when it dies."""
    kind, mutant = whole.name, folder / "mutant"
    files = islice(mutants(seed, kind, whole.read_bytes(), counts["files"], changes), _ROUND)
    reader = Reader(memory, 60)
    what, before = reader(kind, whole, whole)
    if what != "read":
        raise SystemExit(f"{kind}: the whole file is not read: {what}, {before}")
    for number, old_checksums, data in files:
        mutant.write_bytes(data)
        answer = reader(kind, mutant, whole)
        # Reports have no checksums.
        outcome = outcome_of(answer, before, may_change=not old_checksums or kind == "report")
        counts.update(["files", outcome])
        if outcome in FAILED:
            failed = folder / f"{outcome}-{kind}-{changes}-{seed}-{number}"
            mutant.replace(failed)
            print(f"{outcome}: {failed}: {answer[1]:.200}", file=sys.stderr)
        if time.monotonic() > end:
            break
    reader.close()


def main() -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--state", type=Path, default=Path("build/fuzz-files"))
    parser.add_argument("--kinds", default="")
    parser.add_argument("--changes", choices=("bytes", "values"), default="bytes")
    parser.add_argument(
        "--memory", type=int, default=256, metavar="MB", help="above what the whole file takes"
    )
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        serve(options.serve)
        return 0
    only = [kind for kind in options.kinds.split(",") if kind]
    failed = run(
        options.state.absolute(), options.seed, options.seconds, options.memory << 20, only, options.changes
    )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
