"""A GCC that compiles for an older glibc: for wheels that run on any Linux of the last years.

GCC is installed: the native one or a cross compiler. The rest is:

- Headers and link-time stubs of glibc, of any version and processor, from the package `ziglang` of the index.
- A link-time stub of libstdc++ whose symbols end at the version that old systems have. The linker takes newer
  functions from GCC's static library, and hides them. Red Hat's toolsets do the same.

usage: python tools/wheels/toolchain.py FOLDER [x86_64|aarch64]   # writes cc, c++ and toolchain.cmake
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import ziglang

GLIBC = "2.28"  # RHEL 8 (2019), Debian 10, Ubuntu 18.10
# What manylinux_2_28 allows of libstdc++: GCC 8's, and of its C++ runtime.
NEWEST = {"GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11)}

# Kinds of zig's folders of headers, general ones last.
HEADERS = ("{family}-linux-gnu", "generic-glibc", "{family}-linux-any", "any-linux-any")
STUBS = ("libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1")
SECTIONS = {"OBJECT": (".data", "object"), "TLS": ('.tdata,"awT",%progbits', "tls_object")}
LOADER = {"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1"}


def run(*command: object, **options: object) -> str:
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)  # type: ignore[call-overload]
    if result.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{result.stderr}")
    return str(result.stdout)


def compiler(machine: str) -> str:
    """Name of the C++ compiler for a processor; that for C has gcc in place of g++."""
    native = os.uname().machine == machine
    names = ["g++"] if native else [f"{machine}-linux-gnu-g++{v}" for v in ("", "-14", "-13", "-12")]
    for name in names:
        if shutil.which(name):
            return name
    raise SystemExit(f"there is no {names[0]}: apt install g++{'' if native else f'-{machine}-linux-gnu'}")


def toolchain(folder: Path, machine: str) -> Path:
    """Writes the compilers `cc` and `c++` and a CMake toolchain file; returns that file."""
    cxx = compiler(machine)
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "lib").mkdir(parents=True)
    _copy_headers(folder / "include", machine)
    _copy_stubs(folder / "lib", machine)
    _write_stub_of_libstdcxx(folder / "lib", cxx)
    # GCC's C++ headers and its own; <...> and #include_next follow this order.
    searched = subprocess.run(
        [cxx, "-x", "c++", "-E", "-v", os.devnull], capture_output=True, text=True, check=True
    ).stderr
    listed = (
        searched.partition("search starts here:\n#include <...>")[2].partition("End of search")[0].split()
    )
    gcc_headers = [p for p in listed if "/c++/" in p or re.search(r"/gcc(-cross)?/", os.path.normpath(p))]
    gcc_headers = list(dict.fromkeys(os.path.normpath(p) for p in gcc_headers if Path(p).is_dir()))
    for name, program in (("c++", cxx), ("cc", cxx.replace("g++", "gcc"))):
        headers = [p for p in gcc_headers if name == "c++" or "/c++/" not in p] + ["$here/include"]
        script = folder / name
        script.write_text(
            # The same text in every folder, for ccache.
            '#!/bin/sh\nhere=$(dirname "$0")\n'
            f"exec {shutil.which(program)} -nostdinc {'-nostdinc++ ' if name == 'c++' else ''}"
            f"-D__GLIBC_MINOR__={GLIBC.partition('.')[2]} "
            f'"$@" {" ".join(f"-isystem {h}" for h in headers)} -B$here/lib/ -L$here/lib '
            "-Wl,-rpath-link,$here/lib\n",
            encoding="utf-8",
        )
        script.chmod(0o755)
    file = folder / "toolchain.cmake"
    file.write_text(
        f"set(CMAKE_C_COMPILER {folder}/cc)\nset(CMAKE_CXX_COMPILER {folder}/c++)\n"
        + (
            ""
            if os.uname().machine == machine
            else f"set(CMAKE_SYSTEM_NAME Linux)\nset(CMAKE_SYSTEM_PROCESSOR {machine})\n"
            f"set(CMAKE_AR {cxx.replace('g++', 'gcc-ar')})\n"
            f"set(CMAKE_RANLIB {cxx.replace('g++', 'gcc-ranlib')})\n"
        ),
        encoding="utf-8",
    )
    return file


def _copy_headers(folder: Path, machine: str) -> None:
    source = Path(ziglang.__file__).parent / "lib" / "libc" / "include"
    family = {"x86_64": "x86"}.get(machine, machine)
    for kind in reversed(HEADERS):
        shutil.copytree(source / kind.format(family=family), folder, dirs_exist_ok=True)
    for header in folder.rglob("*.h"):  # C++ headers look whether they exist
        later = re.search(r'#error ".* did not exist before glibc 2\.(\d+)"', header.read_text("latin-1"))
        if later and int(later[1]) > int(GLIBC.partition(".")[2]):
            header.unlink()


def _copy_stubs(folder: Path, machine: str) -> None:
    """Lets zig make its stubs of glibc, and copies them."""
    with tempfile.TemporaryDirectory() as scratch:
        empty = Path(scratch, "empty.c")
        empty.touch()
        zig = [sys.executable, "-m", "ziglang", "cc", "-target", f"{machine}-linux-gnu.{GLIBC}"]
        caches = {"ZIG_GLOBAL_CACHE_DIR": scratch, "ZIG_LOCAL_CACHE_DIR": scratch}
        run(*zig, "-shared", "-fPIC", empty, "-o", Path(scratch, "empty.so"), env={**os.environ, **caches})
        (libc,) = Path(scratch).glob("o/*/libc.so.6")
        for name in STUBS:
            shutil.copy(libc.parent / name, folder / name)
            (folder / name.partition(".so")[0]).with_suffix(".so").symlink_to(name)
        shutil.copy(libc.parent / "libld.so.2", folder / LOADER[machine])
        (nonshared,) = Path(scratch).glob("o/*/libc_nonshared.a")
        shutil.copy(nonshared, folder)
    (folder / "libc.so").unlink()
    (folder / "libc.so").write_text(
        f"GROUP ( {folder}/libc.so.6 {folder}/libc_nonshared.a AS_NEEDED ( {folder}/{LOADER[machine]} ) )\n"
    )


def _write_stub_of_libstdcxx(folder: Path, cxx: str) -> None:
    """Writes a libstdc++.so.6 without code, with the symbols of GCC's up to the newest allowed version."""
    real = Path(run(cxx, "-print-file-name=libstdc++.so").strip()).resolve()
    static = run(cxx, "-print-file-name=libstdc++.a").strip()
    versions = set()
    lines = []
    for index, line in enumerate(run("readelf", "--dyn-syms", "--wide", real).splitlines()):
        fields = line.split()
        if len(fields) < 8 or fields[6] == "UND" or "@@" not in fields[7]:
            continue
        kind, (symbol, _, version) = fields[3], fields[7].partition("@@")
        family, _, number = version.partition("_")
        if family not in NEWEST or not number[:1].isdigit() or _numbers(number) > NEWEST[family]:
            continue
        versions.add(version)
        section, what = SECTIONS.get(kind, (".text", "function"))
        lines.append(
            f".section {section}\n.globl s{index}\n.type s{index}, %{what}\n"
            f"s{index}: .byte 0\n.size s{index}, 1\n"
            f".symver s{index}, {symbol}@@{version}, remove\n"
        )
    with tempfile.TemporaryDirectory() as scratch:
        source, script = Path(scratch, "stub.s"), Path(scratch, "versions")
        source.write_text("".join(lines) + '.section .note.GNU-stack,"",%progbits\n')
        script.write_text("".join(f"{v} {{}};\n" for v in sorted(versions)))
        link = [cxx, "-shared", "-nostdlib", "-Wl,-soname,libstdc++.so.6", f"-Wl,--version-script={script}"]
        run(*link, source, "-o", folder / "libstdc++.so.6")
    (folder / "libstdc++_nonshared.a").symlink_to(static)
    (folder / "libstdc++.so").write_text(
        f"INPUT ( {folder}/libstdc++.so.6 {folder}/libstdc++_nonshared.a )\n"
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in version.split("."))


if __name__ == "__main__":
    print(toolchain(Path(sys.argv[1]).absolute(), *(sys.argv[2:] or [os.uname().machine])))
