"""What is free: of the machine, and of a container with a limit."""

from __future__ import annotations

import pytest

from sentencode import memory


def write(root, **files):
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def root(tmp_path):
    write(tmp_path, proc__meminfo="MemTotal:  9000 kB\nMemAvailable:   4000 kB\nHugePages_Total:   0\n")
    return tmp_path


def test_the_machine(root):
    assert memory.free_memory(root) == 4000 * 1024
    assert 1e6 < memory.free_memory() < 1e15


@pytest.mark.parametrize(
    ("folder", "names", "inactive"),
    [
        ("sys__fs__cgroup__", ("memory_dot_max", "memory_dot_current"), "inactive_file"),
        (
            "sys__fs__cgroup__memory__",
            ("memory_dot_limit_in_bytes", "memory_dot_usage_in_bytes"),
            "total_inactive_file",
        ),
    ],
)
def test_a_container(root, folder, names, inactive):
    limit, usage = (folder + name for name in names)
    write(
        root,
        **{limit: "1000000\n", usage: "700000\n", f"{folder}memory_dot_stat": f"anon 5\n{inactive} 200000\n"},
    )
    assert memory.free_memory(root) == 500000
    write(root, **{usage: "1900000\n"})
    assert memory.free_memory(root) == 0
    write(root, **{limit: "max\n" if "max" in limit else "9223372036854771712\n"})
    assert memory.free_memory(root) == 4000 * 1024


def test_groups_within_groups(root):
    write(root, proc__self__cgroup="0::/batch/job\n")
    for group, most in (("batch__", "2000000\n"), ("batch__job__", "max\n")):
        folder = f"sys__fs__cgroup__{group}memory_dot_"
        write(
            root,
            **{folder + "max": most, folder + "current": "500000\n", folder + "stat": "inactive_file 7\n"},
        )
    assert memory.free_memory(root) == 1500007
    write(root, sys__fs__cgroup__batch__job__memory_dot_max="600000\n")
    assert memory.free_memory(root) == 100007
    write(root, proc__self__cgroup="11:cpu:/x\n9:memory:/slurm/7\n")
    folder = "sys__fs__cgroup__memory__slurm__7__memory_dot_"
    write(
        root,
        **{
            folder + "limit_in_bytes": "900000\n",
            folder + "usage_in_bytes": "400000\n",
            folder + "stat": "total_inactive_file 0\n",
        },
    )
    assert memory.free_memory(root) == 500000


def test_without_proc_and_sys(tmp_path, monkeypatch):
    assert memory.free_memory(tmp_path) == memory._machine_memory() > 1e6
    monkeypatch.delattr("os.sysconf")
    assert memory.free_memory(tmp_path) == float("inf")
