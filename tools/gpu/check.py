"""The driver of tools/gpu_check: runs the parts in order, each in a process of its own with a time limit.

Results are in one JSON file, written after each part. A later call skips the parts that are done, so that it
continues where the first one ended.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.append(str(Path(__file__).resolve().parents[2] / "python"))  # if the package is not installed

from common import ROOT, STOPPED, read_json, write_json

TOOLS = Path(__file__).resolve().parent
# Time limit of each part, in seconds; training gets the rest.
LIMITS = {
    "machine": 60.0,
    "build": 240.0,
    "kernels": 60.0,
    "tests": 120.0,
    "families": 150.0,
    "speed": 180.0,
    "laes": 60.0,
    "training": 3600.0,
}
REHEARSED = 20.0  # times as much, on a machine with few processors
LEAST = 10.0  # seconds; with less left, a part is not begun
RESERVE = 12.0  # seconds at the end, for writing results

INSTALLED = """
import importlib.metadata, json, platform, sys, sysconfig
import torch

names = "torch numpy pytest pytest-timeout hypothesis scipy scikit-learn tqdm pybind11 cmake ninja".split()
every = [d for d in importlib.metadata.distributions() if d.metadata["Name"]]
versions = {d.metadata["Name"].lower(): d.version for d in every}
gpu = torch.cuda.get_device_properties(0) if torch.cuda.is_available() else None
facts = {
    "python": platform.python_version(),
    "executable": sys.executable,
    "include": sysconfig.get_paths()["include"],
    "packages": {name: versions.get(name) for name in names},
    "torch": torch.__version__,
    "cuda": torch.version.cuda,
    "cudnn": torch.backends.cudnn.version(),
    "gpu": gpu and gpu.name,
    "gpu_bytes": gpu and gpu.total_memory,
    "gpu_count": torch.cuda.device_count(),
}
print(json.dumps(facts))
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools/gpu_check", description=__doc__)
    parser.add_argument("--minutes", type=float, default=9.5, help="for everything (default 9.5)")
    parser.add_argument("--only", nargs="+", choices=LIMITS, help="these parts, even if they are done")
    parser.add_argument("--skip", nargs="+", choices=LIMITS, default=[], help="not these parts")
    parser.add_argument("--resume", type=Path, help="results of an earlier call, if --work has none")
    parser.add_argument(
        "--work",
        type=Path,
        default=ROOT / "build" / "gpu_check",
        help="folder of the build and trainings",
    )
    parser.add_argument("--out", type=Path, help="folder of the results; default: $OUT, or out in --work")
    parser.add_argument("--kit", type=Path, default=ROOT / "build" / "gpu_kit", help="folder of the inputs")
    parser.add_argument("--build-dir", type=Path, help="a build tree that exists: nothing is compiled")
    parser.add_argument(
        "--define", nargs="+", default=[], help="further options of CMake, as SENTENCODE_WERROR=ON"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument(
        "--rehearse", action="store_true", help="run on the CPU instead of a GPU, with small sizes"
    )
    parser.add_argument("--pack", type=Path, metavar="DATA", help="make the kit from the folder of real data")
    parser.add_argument(
        "--evaluate", type=Path, metavar="OUT", help="evaluate the encoder that was brought back"
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("SENTENCODE_DATA"), help="for --evaluate")
    parser.add_argument("--page", type=Path, nargs="*", metavar="JSON", help="write docs/results/gpu.md")
    args = parser.parse_args()
    if args.pack:
        import kit

        kit.pack(args.pack, args.kit)
    elif args.evaluate:
        import evaluate

        evaluate.evaluate(args)
    elif args.page is not None:
        import page

        page.write(args.page)
    else:
        sys.exit(Check(args).run())


class Check:
    """One call: its budget, its folders and its results."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.begin = args, time.monotonic()
        self.work = args.work.resolve()
        self.out = (args.out or Path(os.environ.get("OUT") or self.work / "out")).resolve()
        self.logs = self.work / "logs"
        for folder in (self.work, self.out, self.logs):
            folder.mkdir(parents=True, exist_ok=True)
        self.kit = self.work / "kit"
        resumed = read_json(self.work / "results.json") or (args.resume and read_json(args.resume))
        self.results: dict[str, Any] = resumed or {"rehearsal": args.rehearse, "parts": {}, "calls": []}
        if self.results["rehearsal"] != args.rehearse:
            raise SystemExit("a rehearsal and a check do not share results: name another --work")
        self.modules = self.work / "modules"

    @property
    def left(self) -> float:
        return self.args.minutes * 60 - (time.monotonic() - self.begin)

    def run(self) -> int:
        started = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
        call = {"started": started, "minutes": self.args.minutes, "parts": []}
        self.results["calls"].append(call)
        failed = False
        for name in LIMITS:
            done = self.results["parts"].get(name, {}).get("status") in ("ok", "no kernels")
            if name in self.args.skip or (self.args.only and name not in self.args.only):
                continue
            if name == "build":
                done = done and self.importable() == ""
            if done and not self.args.only and name != "training":
                print(f"== {name}: done in an earlier call", flush=True)
                failed |= self.results["parts"][name]["status"] != "ok"
                continue
            if self.left - RESERVE < LEAST:
                print(f"== {name}: no time left", flush=True)
                self.results["parts"].setdefault(name, {"status": "no time"})
                failed = True
                continue
            call["parts"].append(name)
            failed |= not self.part(name)
            self.save()
        call["seconds"] = round(time.monotonic() - self.begin, 1)
        self.save()
        import page

        print(page.text([self.results]), flush=True)
        return int(failed)

    def save(self) -> None:
        for folder in (self.work, self.out):
            write_json(folder / "results.json", self.results)

    def part(self, name: str) -> bool:
        limit = LIMITS[name] * (REHEARSED if self.args.rehearse and name != "training" else 1)
        limit = min(limit, self.left - RESERVE)
        print(f"== {name} (at most {limit:.0f} s; {self.left:.0f} s left)", flush=True)
        begin = time.monotonic()
        old, cases = self.results["parts"].get(name, {}), self.work / f"{name}.json"
        if continued := old.get("status") in ("out of time", "interrupted"):  # the part skips finished cases
            if not cases.exists():  # --resume on another machine
                write_json(cases, {"cases": old.get("cases", {})})
        else:
            cases.unlink(missing_ok=True)
        self.results["parts"][name] = {**old, "status": "interrupted"}
        self.save()
        try:
            method = getattr(self, f"part_{name}", None)
            status, facts = method(limit) if method else self.script(name, limit)
        except Exception as error:  # a part must never stop the others
            status, facts = "failed", {"error": f"{type(error).__name__}: {error}"}
        seconds = time.monotonic() - begin + (old.get("seconds", 0) if continued else 0)
        result = {"status": status, "seconds": round(seconds, 1), **facts}
        if status != "ok" and (self.logs / f"{name}.log").exists():
            lines = (self.logs / f"{name}.log").read_text(encoding="utf-8", errors="replace").splitlines()
            result["log"] = lines[-60:]
            print("\n".join(lines[-60:]), flush=True)
        self.results["parts"][name] = result
        print(f"== {name}: {status} in {result['seconds']} s", flush=True)
        return status == "ok"

    def environment(self) -> dict[str, str]:
        """Import path of all parts: the built package, installed packages, those of the kit."""
        variables = dict(os.environ)
        paths = [ROOT / "python", ROOT / "benchmarks", self.kit / "site"]
        variables["PYTHONPATH"] = os.pathsep.join(
            [*map(str, paths), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
        folders = [str(Path(sys.executable).parent), variables.get("PATH", ""), "/usr/local/cuda/bin"]
        variables["PATH"] = os.pathsep.join(folders)
        variables.setdefault("OMP_WAIT_POLICY", "passive")
        variables["PYTHONUNBUFFERED"] = "1"
        variables["XDG_CACHE_HOME"] = str(self.work / "cache")
        variables["SENTENCODE_DATA"] = str(self.kit / "data")
        if self.results.get("libraries"):  # only where the system lacks one of the compression libraries
            old = variables.get("LD_LIBRARY_PATH")
            variables["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [old, self.results["libraries"]]))
        return variables

    def command(
        self, name: str, arguments: Sequence[Any], limit: float, cwd: Path = ROOT, append: bool = False
    ) -> int:
        """Runs a command into the part's log; after `limit` seconds, it and its children are killed: 124."""
        with (self.logs / f"{name}.log").open("ab" if append else "wb") as log:
            log.write(f"$ {' '.join(map(str, arguments))}\n".encode())
            log.flush()
            process = subprocess.Popen(
                [str(argument) for argument in arguments],
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                cwd=cwd,
                env=self.environment(),
                start_new_session=True,
            )
            try:
                return process.wait(timeout=max(1.0, limit))
            except subprocess.TimeoutExpired:
                log.write(f"\nstopped after {limit:.0f} s\n".encode())
                return 124
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()

    def script(self, name: str, limit: float) -> tuple[str, dict[str, Any]]:
        """A part that is a file of this folder."""
        facts = self.work / f"{name}.json"
        options: list[Any] = ["--facts", facts, "--work", self.work, "--out", self.out, "--kit", self.kit]
        options += ["--seconds", limit - 5, *(["--rehearse"] if self.args.rehearse else [])]
        code = self.command(name, [sys.executable, TOOLS / f"{name}.py", *options], limit)
        status = {0: "ok", STOPPED: "out of time"}.get(code, "failed")
        return status, read_json(facts) or {}

    # --- parts of the driver itself ---

    def part_machine(self, limit: float) -> tuple[str, dict[str, Any]]:
        facts: dict[str, Any] = {"processors": os.cpu_count(), "kernel": os.uname().release}
        done = self.output([sys.executable, "-c", INSTALLED])
        try:
            facts.update(json.loads(done.splitlines()[-1]))
        except (IndexError, ValueError):
            facts["error"] = done[-2000:]
        for name, command in {
            "system": ["sh", "-c", ". /etc/os-release; echo $PRETTY_NAME; ldd --version | head -n 1"],
            "processor": ["sh", "-c", "grep -m 1 'model name' /proc/cpuinfo | cut -d: -f2"],
            "memory": ["sh", "-c", "grep MemTotal /proc/meminfo"],
            "nvidia-smi": [
                "nvidia-smi",
                "--query-gpu=name,driver_version,memory.total",
                "--format=csv,noheader",
            ],
            "nvcc": ["nvcc", "--version"],
            "g++": ["g++", "--version"],
            "cmake": ["cmake", "--version"],
            "ninja": ["ninja", "--version"],
            "ccache": ["ccache", "--version"],
        }.items():
            facts[name] = " ".join(self.output(command).split())[:300]
        print(json.dumps(facts, indent=1), flush=True)
        good = facts.get("gpu") or self.args.rehearse
        return ("ok" if good and "error" not in facts else "failed"), facts

    def output(self, command: Sequence[str]) -> str:
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=60, env=self.environment(), cwd=ROOT
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{type(error).__name__}: {error}"
        return done.stdout if done.returncode == 0 else done.stdout + done.stderr

    def importable(self) -> str:
        """Nothing if both extension modules load, else why not."""
        code = "import torch, sentencode._core as c, sentencode.models; print('loaded', c.build_info())"
        output = self.output([sys.executable, "-c", code])
        return "" if output.startswith("loaded") else output[-3000:]

    def part_build(self, limit: float) -> tuple[str, dict[str, Any]]:
        deadline = time.monotonic() + limit
        facts: dict[str, Any] = {}
        archive = self.args.kit / "kit.tar.xz"
        if not (self.kit / "done").exists():
            if not archive.exists():
                return "failed", {"error": f"{archive} is missing: tools/gpu_check --pack DATA makes it"}
            with tarfile.open(archive) as packed:
                packed.extractall(self.kit, filter="data")
            (self.kit / "done").touch()
        if self.args.build_dir:
            self.install(self.args.build_dir)
        elif (self.args.kit / "modules.tar.gz").exists():  # of an earlier call on such a machine
            with tarfile.open(self.args.kit / "modules.tar.gz") as packed:
                packed.extractall(ROOT / "python" / "sentencode", filter="data")
            blas = self.kit / "site" / "scipy_openblas32" / "lib" / "libscipy_openblas.so"
            (ROOT / "python" / "sentencode" / "lib").mkdir(exist_ok=True)
            shutil.copy(blas, ROOT / "python" / "sentencode" / "lib")
            facts["modules"] = "carried"
        why = self.importable()
        if why and not self.args.build_dir:
            facts.update(self.compile(deadline))
            why = self.importable()
        if why and not self.results.get("libraries"):
            self.results["libraries"] = str(self.kit / "prefix" / "lib")
            if again := self.importable():
                why = f"{why}\nwith the kit's libraries: {again}"
                self.results.pop("libraries")
            else:
                why = ""
        if why:
            with (self.logs / "build.log").open("a", encoding="utf-8") as log:
                log.write(why)
            return "failed", {**facts, "error": why[-3000:]}
        self.bring_modules()
        info = "import torch, sentencode._core as c; print(c.build_info())"
        facts["info"] = self.output([sys.executable, "-c", info]).strip()
        # Without kernels, the other parts would compare torch's operators with themselves.
        has_kernels = self.args.rehearse or not re.search("without kernels|neither", facts.get("built", ""))
        return "ok" if has_kernels else "no kernels", facts

    def compile(self, deadline: float) -> dict[str, Any]:
        """Configures, with fewer parts each time that it fails, and builds."""
        tree, prefix = self.work / "cmake", self.kit / "prefix"
        include = Path(
            self.output(
                [sys.executable, "-c", "import sysconfig; print(sysconfig.get_paths()['include'])"]
            ).strip()
        )
        generator = "Ninja" if shutil.which("ninja", path=self.environment()["PATH"]) else "Unix Makefiles"
        options = [
            *("cmake", "-S", ROOT, "-B", tree, "-G", generator, "-DCMAKE_BUILD_TYPE=Release"),
            *(f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_PREFIX_PATH={prefix}"),
            *("-DSENTENCODE_BUILD_PYTHON=ON", "-DSENTENCODE_NN=ON", "-DSENTENCODE_INSTALL=OFF"),
            f"-DSENTENCODE_TORCH_JOBS={self.args.jobs}",
            # Both modules by torch's own copy, whichever version is installed.
            "-DCMAKE_DISABLE_FIND_PACKAGE_pybind11=ON",
            *(f"-D{option}" for option in self.args.define),
        ]
        if not (include / "Python.h").exists():
            folder = self.kit / f"python{sys.version_info[0]}.{sys.version_info[1]}"
            if folder.exists():
                options.append(f"-DPython_INCLUDE_DIR={folder}")
        cuda = "auto" if self.args.rehearse else "ON"
        native = [f"-DSENTENCODE_CUDA={cuda}"]
        if not self.args.rehearse:
            native.append("-DSENTENCODE_CUDA_ARCH=native")  # one architecture compiles faster
        attempts = {
            "all": native,
            "without OpenBLAS": [*native, "-DSENTENCODE_BLAS=eigen"],
            "without kernels": ["-DSENTENCODE_CUDA=OFF"],
            "neither": ["-DSENTENCODE_CUDA=OFF", "-DSENTENCODE_BLAS=eigen"],
        }
        facts: dict[str, Any] = {"generator": generator}
        begin = time.monotonic()
        for name, more in attempts.items():
            shutil.rmtree(tree / "CMakeFiles", ignore_errors=True)
            (tree / "CMakeCache.txt").unlink(missing_ok=True)
            code = self.command("build", [*options, *more], deadline - time.monotonic(), append=True)
            facts[f"configure, {name}"] = code
            if code == 0:
                facts["built"] = name
                break
        else:
            return facts
        facts["configure_seconds"] = round(time.monotonic() - begin, 1)
        build = ["cmake", "--build", tree, "-j", self.args.jobs]
        if generator == "Ninja":
            build += ["--", "-k", "0"]  # one call shows all errors
        code = self.command("build", build, deadline - time.monotonic(), append=True)
        kernels = any(tree.rglob("*.cu.o"))  # with them, the error is elsewhere
        if code not in (0, 124) and facts["built"] in ("all", "without OpenBLAS") and not kernels:
            facts["build with kernels"] = code
            more = attempts["without kernels" if facts["built"] == "all" else "neither"]
            self.command("build", [*options, *more], deadline - time.monotonic(), append=True)
            code = self.command("build", build, deadline - time.monotonic(), append=True)
            facts["built"] += ", without kernels"
        facts["build"] = code
        facts["build_seconds"] = round(time.monotonic() - begin, 1)
        facts["slowest"] = slowest(tree / ".ninja_log")
        if code == 0:
            self.install(tree)
        return facts

    def install(self, tree: Path) -> None:
        options = ["--prefix", ROOT / "python", "--component", "python"]
        self.command("build", ["cmake", "--install", tree, *options], 60, append=True)

    def bring_modules(self) -> None:
        """The built modules, for a call on another machine of this kind, which then compiles nothing."""
        package = ROOT / "python" / "sentencode"
        with tarfile.open(self.out / "modules.tar.gz", "w:gz", compresslevel=6) as packed:
            for path in package.glob("_*.so"):  # the kit has OpenBLAS
                packed.add(path, path.name)

    def part_tests(self, limit: float) -> tuple[str, dict[str, Any]]:
        marked = re.compile(r"pytest\.mark\.gpu\b")
        files = [
            path
            for path in sorted((ROOT / "tests" / "python").rglob("test_*.py"))
            if marked.search(path.read_text(encoding="utf-8"))
        ]
        report = self.work / "tests.xml"
        report.unlink(missing_ok=True)
        # Warnings of other versions of torch and NumPy are no errors here.
        warned = [
            f"-Wdefault::{kind}Warning" for kind in ("Deprecation", "PendingDeprecation", "Future", "User")
        ]
        options = [
            "-m",
            "gpu",
            "-q",
            "--no-header",
            "--tb=short",
            "-p",
            "no:cacheprovider",
            f"--junitxml={report}",
        ]
        code = self.command("tests", [sys.executable, "-m", "pytest", *options, *warned, *files], limit)
        facts: dict[str, Any] = {"files": [str(path.relative_to(ROOT)) for path in files], "code": code}
        if report.exists():
            suite = ElementTree.parse(report).getroot().find("testsuite")
            if suite is not None:
                facts.update(
                    {key: int(suite.get(key, 0)) for key in ("tests", "failures", "errors", "skipped")}
                )
                facts["failed"] = [
                    f"{case.get('classname')}::{case.get('name')}: {failure.get('message', '')[:500]}"
                    for case in suite.iter("testcase")
                    for failure in [*case.findall("failure"), *case.findall("error")]
                ]
        status = {0: "ok", 124: "out of time"}.get(code, "failed")
        if status == "ok" and facts.get("tests", -1) == facts.get("skipped") and not self.args.rehearse:
            status = "all skipped"
        return status, facts


def slowest(log: Path, count: int = 6) -> list[str]:
    """The files that took longest to compile."""
    try:
        rows = [line.split("\t") for line in log.read_text(encoding="utf-8").splitlines()[1:]]
    except OSError:
        return []
    times = sorted(((int(row[1]) - int(row[0])) / 1000, row[3]) for row in rows if len(row) > 3)
    return [f"{seconds:.0f} s {Path(name).name}" for seconds, name in times[: -count - 1 : -1]]


if __name__ == "__main__":
    main()
