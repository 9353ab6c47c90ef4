"""What we start listens on the loopback address alone: whoever reaches its ports can run code, or join in."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import shutil
import socket
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="sockets are read from /proc")

MARK = "SENTENCODE_TEST_SOCKETS"
_LISTENS = "0A"


def listening(process: int, *, alone: bool = False) -> list[str]:
    """Addresses, with ports, on which a process listens, and, unless alone, those that it started."""
    addresses = {}
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(FileNotFoundError):
            for line in Path("/proc/net", name).read_text().splitlines()[1:]:
                local, state, inode = (line.split()[i] for i in (1, 3, 9))
                if state == _LISTENS:
                    addresses[f"socket:[{inode}]"] = local
    family = {process} if alone else started_by(process)
    names = {addresses[link] for each in family for link in links_of(each) if link in addresses}
    return sorted(map(readable, names))


def started_by(process: int) -> set[int]:
    """A process and all below it; also those that have left its tree, known by their environment."""
    parents, mark = {}, f"{MARK}={os.environ[MARK]}".encode()
    family = {process}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if mark in (folder / "environ").read_bytes():
                family.add(int(folder.name))
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    return family


def links_of(process: int) -> list[str]:
    with contextlib.suppress(OSError):
        return [os.readlink(entry) for entry in os.scandir(f"/proc/{process}/fd")]
    return []


def readable(local: str) -> str:
    """An address as the kernel writes it, in words of the processor's byte order."""
    digits, port = local.split(":")
    words = [int(digits[i : i + 8], 16).to_bytes(4, sys.byteorder) for i in range(0, len(digits), 8)]
    address = ipaddress.ip_address(b"".join(words))
    address = getattr(address, "ipv4_mapped", None) or address
    return f"{address} {int(port, 16)}"


def open_to_others(addresses: list[str]) -> list[str]:
    return [one for one in addresses if not ipaddress.ip_address(one.split()[0]).is_loopback]


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::", "::1"])
def test_listening_sockets_are_detected(address, monkeypatch):
    monkeypatch.setenv(MARK, uuid.uuid4().hex)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        server = socket.create_server((address, 0), family=family)
    except OSError as error:
        pytest.skip(f"this machine has no {address}: {error}")
    with server:
        shown = f"{address} {server.getsockname()[1]}"
        assert shown in listening(os.getpid())
        assert (shown in open_to_others([shown])) == (address in ("0.0.0.0", "::"))


# --- engines

ENGINE = """
import json, os, sys
sys.path.insert(0, sys.argv[2])
import test_sockets
from sentencode.scale.engines import engine_of

runner = engine_of(sys.argv[1], workers=2)
seen = set()
for _, result in runner.run(test_sockets.listening, [os.getpid()] * 4):  # while a worker works
    seen |= set(result)
seen |= set(test_sockets.listening(os.getpid()))
print("sockets", json.dumps(sorted(seen)), flush=True)
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "name", ["local", *(pytest.param(name, marks=pytest.mark.engine) for name in ("dask", "ray", "spark"))]
)
def test_engines(name, tmp_path):
    pytest.importorskip("pyarrow")
    if name != "local":
        pytest.importorskip({"dask": "distributed", "spark": "pyspark"}.get(name, name))
    if name == "spark" and shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs a Java runtime, and there is no java")
    addresses = sockets_of([sys.executable, "-c", ENGINE, name, str(Path(__file__).parent)], tmp_path)
    assert bool(addresses) == (name != "local")  # that one has pipes
    assert open_to_others(addresses) == []


# --- processes that train together

GROUP = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
import test_sockets, torch
from sentencode.distributed import communicator, init_process_group

OF_TORCH = sys.argv[2] == "torch"
(torch.distributed.init_process_group if OF_TORCH else init_process_group)("gloo")
mine = torch.tensor([float(torch.distributed.get_rank())])
communicator().all_reduce_mean([mine])
assert float(mine) == 0.5
if torch.distributed.get_rank() == 0:
    print("sockets", json.dumps(test_sockets.listening(os.getppid())), flush=True)
torch.distributed.barrier()
torch.distributed.destroy_process_group()
"""
OURS, THEIRS = "sentencode.distributed.torchrun", "torch.distributed.run"


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("module", "options", "group"),
    [
        (OURS, ["--standalone"], "ours"),
        (OURS, ["--standalone"], "torch"),  # a program that knows nothing of us
        (OURS, [], "ours"),
        (OURS, ["--master-addr=127.0.0.1", "--master-port=PORT"], "ours"),
        (OURS, ["--nnodes=1:2", "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:PORT"], "ours"),
    ],
    ids=["standalone", "standalone-torch", "default", "static", "c10d"],
)
def test_torchrun(module, options, group, tmp_path):
    pytest.importorskip("torch")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    program = tmp_path / "program.py"
    program.write_text(GROUP)
    options = [option.replace("PORT", port) for option in options]
    if "--nnodes=1:2" in options:
        options += ["--local-addr=127.0.0.1", "--rdzv-conf=last_call_timeout=1"]
    command = [sys.executable, "-m", module, *options, "--nproc-per-node=2", str(program)]
    addresses = sockets_of([*command, str(Path(__file__).parent), group], tmp_path)
    assert addresses
    assert open_to_others(addresses) == []


def test_groups_of_the_torchrun_of_torch(tmp_path):
    """Only the connections between processes are ours, not torch's store."""
    pytest.importorskip("torch")
    program = tmp_path / "program.py"
    program.write_text(GROUP.replace("os.getppid()", "os.getpid(), alone=True"))
    command = [sys.executable, "-m", THEIRS, "--standalone", "--nproc-per-node=2", str(program)]
    addresses = sockets_of(
        [*command, str(Path(__file__).parent), "ours"], tmp_path, TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1"
    )
    assert addresses
    assert open_to_others(addresses) == []


def sockets_of(command: list[str], folder: Path, **variables: str) -> list[str]:
    """What a program prints of its sockets."""
    package = str(Path(__import__("sentencode").__file__).parents[1])
    path = os.pathsep.join([package, str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    hidden = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "SPARK_LOCAL_IP", "RAY_ADDRESS")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment |= {MARK: uuid.uuid4().hex, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **variables}
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stderr
    (line,) = [one for one in done.stdout.splitlines() if one.startswith("sockets ")]
    return list(json.loads(line.removeprefix("sockets ")))
