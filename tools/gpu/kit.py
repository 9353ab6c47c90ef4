"""Packs what a GPU machine with nvcc and torch may lack for tools/gpu_check: headers, libraries and data.

The data are samples, in the layout of the folder of real data, where benchmarks and tests look for them.
"""

from __future__ import annotations

import gzip
import itertools
import json
import lzma
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from common import ROOT, TOKENIZER, WORDS

BOOKS, VALID = 400_000, 4_000  # sentences
PAIRS = 12_000  # of the translations
HEADERS = {
    "eigen3": "include/eigen3",
    "nlohmann": "include/nlohmann",
    "lzma": "include/lzma",
    "lzma.h": "include/lzma.h",
    "utf8proc.h": "include/utf8proc.h",
    "zconf.h": "include/zconf.h",
    "zdict.h": "include/zdict.h",
    "zlib.h": "include/zlib.h",
    "zstd.h": "include/zstd.h",
    "zstd_errors.h": "include/zstd_errors.h",
}
PACKAGES = ("share/eigen3/cmake", "share/cmake/nlohmann_json")
LIBRARIES = ("libz.so", "liblzma.so", "libzstd.so", "libutf8proc.a")
MEBIBYTES = 45


def pack(data: Path, kit: Path) -> None:
    """Writes kit.tar.xz and manifest.json into the folder."""
    folder = kit / "unpacked"
    shutil.rmtree(folder, ignore_errors=True)
    libraries(folder / "prefix")
    python_headers(folder)
    packages(folder / "site")
    sample(data, folder / "data")
    archive = kit / "kit.tar.xz"
    with lzma.open(archive, "wb", preset=6) as stream, tarfile.open(fileobj=stream, mode="w") as packed:
        for path in sorted(folder.iterdir()):
            packed.add(path, path.name)
    sizes = {
        path.name: sum(p.stat().st_size for p in path.rglob("*") if p.is_file()) for path in folder.iterdir()
    }
    shutil.rmtree(folder)
    size = archive.stat().st_size / 2**20
    manifest = {"mebibytes": round(size, 1), "unpacked": sizes, "books": BOOKS, "words": WORDS}
    (kit / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    print(f"{archive}: {size:.1f} MiB; unpacked {sizes}")
    if size > MEBIBYTES:
        raise SystemExit(f"the kit must be at most {MEBIBYTES} MiB")


def libraries(prefix: Path) -> None:
    """Headers, CMake packages and libraries of Debian or Ubuntu (tools/system-packages installs them)."""
    machine = subprocess.run(
        ["gcc", "-print-multiarch"], capture_output=True, text=True, check=True
    ).stdout.strip()
    for name, target in HEADERS.items():
        header = next(
            (
                Path(folder) / name
                for folder in (f"/usr/include/{machine}", "/usr/include")
                if (Path(folder) / name).exists()
            ),
            None,
        )
        if header is None:
            raise SystemExit(f"/usr/include has no {name}: run tools/system-packages first")
        (prefix / target).parent.mkdir(parents=True, exist_ok=True)
        if header.is_dir():
            shutil.copytree(header, prefix / target)
        else:
            shutil.copy(header, prefix / target)
    for name in PACKAGES:
        shutil.copytree(Path("/usr") / name, prefix / name)
    (prefix / "lib").mkdir()
    for name in LIBRARIES:
        source = Path("/usr/lib") / machine / name
        shutil.copy(source.resolve(), prefix / "lib" / name)
        if name.endswith(".so"):  # the name that the loader looks for
            dump = subprocess.run(
                ["objdump", "-p", source], capture_output=True, text=True, check=True
            ).stdout
            soname = next(line.split()[1] for line in dump.splitlines() if "SONAME" in line)
            (prefix / "lib" / soname).symlink_to(name)


def python_headers(folder: Path) -> None:
    """Copy headers of Python 3.12, for an installation without them, from pyenv or the system."""
    sources = sorted(Path.home().glob(".pyenv/versions/3.12.*/include/python3.12"))
    sources += [Path("/usr/include/python3.12")]
    for source in sources:
        if (source / "Python.h").exists():
            shutil.copytree(source, folder / "python3.12")
            return
    print("no headers of Python 3.12 found: the machine must have its own", file=sys.stderr)


def packages(site: Path) -> None:
    """Copy pure Python packages, and OpenBLAS, which works with any Python."""
    import scipy_openblas32
    import tqdm

    for module in (scipy_openblas32, tqdm):
        source = Path(module.__file__).parent
        shutil.copytree(
            source, site / source.name, ignore=shutil.ignore_patterns("__pycache__", "*.a", "tests")
        )


def sample(data: Path, folder: Path) -> None:
    import numpy as np

    import sentencode as se

    def lines_of(path: Path, count: int) -> list[str]:
        with lzma.open(path, "rt", encoding="utf-8", newline="\n") as lines:
            return list(itertools.islice(lines, count))

    (folder / "text").mkdir(parents=True)
    books = lines_of(data / "text" / "books.train.txt.xz", BOOKS)
    for name, lines in {
        "books.train": books,
        "books.valid": lines_of(data / "text" / "books.valid.txt.xz", VALID),
    }.items():
        with lzma.open(
            folder / "text" / f"{name}.txt.xz", "wt", encoding="utf-8", newline="\n", preset=9
        ) as file:
            file.writelines(lines)

    with np.load(data / "vectors" / "glove.local.300d.f16.npz") as arrays:
        words = bytes(arrays["words"]).decode("utf-8").split("\n")
        counts, rows = arrays["counts"], arrays["vectors"]
    row_of = {word: i for i, word in enumerate(words)}
    text = [line.rstrip("\n") for line in books if line.strip()]
    seen = se.Vocabulary.from_corpus(text, se.Tokenizer("words", lowercase=TOKENIZER["lowercase"]))
    vocabulary = se.Vocabulary({w: n for w, n in seen.items() if w in row_of}, max_size=WORDS)
    chosen = sorted(row_of[word] for word in vocabulary.words)
    (folder / "vectors").mkdir()
    np.savez(
        folder / "vectors" / "glove.local.300d.f16.npz",
        words=np.frombuffer("\n".join(words[i] for i in chosen).encode("utf-8"), np.uint8),
        counts=counts[chosen],
        vectors=rows[chosen],
    )
    copied = ["frequencies/enwiki_vocab_min200.txt.gz"]
    for name in ("SICK", "STS/STSBenchmark", "SNLI"):
        root = data / "senteval" / "downstream" / name
        copied += [
            str(p.relative_to(data))
            for p in sorted(root.rglob("*"))
            if p.is_file() and (name != "SNLI" or "test" not in p.name.lower())
        ]
    for name in dict.fromkeys(copied):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(data / name, folder / name)
    (folder / "multi30k").mkdir()
    for language in ("en", "de"):
        for name, count in (("train", PAIRS), ("test_2016_flickr", 1000)):
            with gzip.open(data / "multi30k" / f"{name}.{language}.gz", "rt", encoding="utf-8") as file:
                lines = list(itertools.islice(file, count))
            with gzip.open(folder / "multi30k" / f"{name}.{language}.gz", "wt", encoding="utf-8") as file:
                file.writelines(lines)


if __name__ == "__main__":
    pack(Path(sys.argv[1]), ROOT / "build" / "gpu_kit")
