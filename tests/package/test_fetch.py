"""CMake's fetching of missing dependencies, from a local folder: no network is used."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")


@pytest.fixture
def archive(tmp_path):
    """A mirror that holds one archive, and the archive's hash."""
    source = tmp_path / "thing-1.0"
    source.mkdir()
    (source / "thing.h").write_text("#define THING 1\n", encoding="utf-8")
    path = tmp_path / "mirror" / "thing_1.0.orig.tar.gz"
    path.parent.mkdir()
    with tarfile.open(path, "w:gz") as tar:
        tar.add(source, "thing-1.0")
    return path, hashlib.sha256(path.read_bytes()).hexdigest()


def fetch(folder, mirror, digest):
    script = folder / "fetch.cmake"
    script.write_text(
        f"""
        set(CMAKE_BINARY_DIR "{folder}/build")
        set(SENTENCODE_DEPS_MIRROR "{mirror}")
        set(SENTENCODE_DEPS_SERVERS "file://{folder}/no-such-server")
        include("{ROOT}/cmake/Fetch.cmake")
        sentencode_fetch(found t/thing/thing_1.0.orig.tar.gz {digest})
        message(NOTICE "found=${{found}}")
        """,
        encoding="utf-8",
    )
    return subprocess.run(["cmake", "-P", str(script)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_an_archive_of_the_mirror_is_unpacked_once(archive, tmp_path, scheme):
    path, digest = archive
    for _ in range(2):
        done = fetch(tmp_path, f"{scheme}{path.parent}", digest)
        assert done.returncode == 0, done.stderr
        folder = Path(done.stderr.partition("found=")[2].strip())
        assert (folder / "thing.h").read_text(encoding="utf-8") == "#define THING 1\n"
        path.unlink(missing_ok=True)  # the second time, nothing is fetched


def test_another_content_is_refused(archive, tmp_path):
    path, digest = archive
    with path.open("ab") as file:
        file.write(b"changed")
    done = fetch(tmp_path, path.parent, digest)
    assert done.returncode != 0
    assert f"not {digest}" in " ".join(done.stderr.split())
    assert not list(tmp_path.glob("build/_deps/*/thing-1.0"))


def test_a_missing_archive_names_every_location(tmp_path):
    done = fetch(tmp_path, tmp_path / "mirror", "0" * 64)
    message = " ".join(done.stderr.split())
    assert done.returncode != 0
    assert "Cannot fetch thing_1.0.orig.tar.gz" in message
    assert f"{tmp_path}/mirror/thing_1.0.orig.tar.gz: there is no such file" in message
    assert "no-such-server/t/thing/thing_1.0.orig.tar.gz" in message
    assert "SENTENCODE_DEPS_MIRROR" in message


@pytest.mark.slow
@pytest.mark.skipif("SENTENCODE_DEPS_MIRROR" not in os.environ, reason="needs SENTENCODE_DEPS_MIRROR")
def test_the_core_builds_of_fetched_archives_alone(tmp_path):
    mirror = os.environ["SENTENCODE_DEPS_MIRROR"]
    options = ["-DSENTENCODE_DEPS=fetch", f"-DSENTENCODE_DEPS_MIRROR={mirror}", "-DSENTENCODE_BUILD_TESTS=ON"]
    subprocess.run(["cmake", "-S", str(ROOT), "-B", str(tmp_path), *options], check=True)
    subprocess.run(["cmake", "--build", str(tmp_path), "--parallel", "2"], check=True)
    subprocess.run([tmp_path / "tests/cpp/core_tests", "--gtest_brief=1"], check=True)
