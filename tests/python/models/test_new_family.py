"""A family is added as docs/new_family.md says: a module, and one line in a table."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sentencode
from sentencode.families import FAMILIES

pytest.importorskip("torch")

ROOT = Path(__file__).parents[3]
TOY = '''
"""A toy: the mean of words' vectors, times a factor that brings rows near the length one."""

import torch

from .neural_encoder import NeuralEncoder

__all__ = ["ToyEncoder"]


class ToyNetwork(torch.nn.Module):
    def __init__(self, words, features, factor=1.0):
        super().__init__()
        self.words, self.features, self.dim = words, features, features
        self.table = torch.nn.Embedding(words, features)
        self.table.weight.requires_grad_(False)
        self.factor = torch.nn.Parameter(torch.tensor(factor))

    def load_words(self, rows):
        self.table.weight.copy_(rows)

    def encode(self, inputs):
        return self.factor * inputs.x.sum(1) / inputs.lengths.clamp_min(1)[:, None]

    def loss(self, batch):
        x = self.table(batch.ids["tokens"]) * batch.mask["tokens"][..., None]
        z = self.factor * x.sum(1) / batch.lengths["tokens"][:, None]
        return (z.norm(dim=1) - 1).square().sum(), len(batch)


class ToyEncoder(NeuralEncoder):
    network_class = ToyNetwork
'''
USE = """
import sys, json
import numpy as np
import sentencode as se
from sentencode.cli import main

folder = sys.argv[1]
words = ["a", "b", "c", "d"]
se.WordVectors.from_array(words, np.eye(4, dtype=np.float32)).save(folder + "/vectors.sentencode")
open(folder + "/text.txt", "w").write("a b\\nb c d\\nc d\\na d c\\n" * 5)
open(folder + "/toy.toml", "w").write('''
[encoder]
class = "ToyEncoder"
factor = 3.0
max_steps = 30
max_epochs = false
learning_rate = 0.1
device = "cpu"
[vectors]
file = "vectors.sentencode"
[data]
train = "text.txt"
[output]
file = "toy.sentencode"
''')
assert main(["train", folder + "/toy.toml", "--quiet"]) == 0
toy = se.load(folder + "/toy.sentencode")
assert type(toy) is se.ToyEncoder is se.models.ToyEncoder
assert se.models.ToyNetwork is type(toy.network)
lengths = np.linalg.norm(toy.encode(["a b", "c d"]), axis=1)
assert abs(lengths - 1).max() < 0.3, lengths
print("works")
"""


def test_a_toy_family_touches_one_file(tmp_path):
    installed = Path(sentencode.__file__).parent
    package = tmp_path / "copy" / "sentencode"
    shutil.copytree(installed, package, ignore=shutil.ignore_patterns("__pycache__", "*.pyi"))
    before = {path: path.read_bytes() for path in package.rglob("*.py")}

    (package / "models" / "toy.py").write_text(TOY)
    names = package / "families.py"
    line = '    "RAE": "autoencoders",\n'
    assert names.read_text().count(line) == 1
    names.write_text(names.read_text().replace(line, line + '    "ToyEncoder": "toy",\n'))

    import torch

    libraries = Path(torch.__file__).parent / "lib"  # the copy is not next to torch
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "LD_LIBRARY_PATH": str(libraries)}
    done = subprocess.run(
        [sys.executable, "-c", USE, str(tmp_path)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        timeout=300,
    )
    assert done.stdout.splitlines()[-1:] == ["works"], done.stderr
    touched = [path for path, content in before.items() if path.read_bytes() != content]
    assert touched == [names]


# Files that may name a family's encoder besides its module: tables of names, reproductions of papers,
# and generated data.
ELSEWHERE = re.compile(r"families\.py|models/networks\.h|reproduce/|data/")


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_no_other_file_names_a_family(name):
    if not (ROOT / "cpp").is_dir():
        pytest.skip("needs the sources")
    module = f"models/{FAMILIES[name]}.py"
    sources = [
        path
        for folder in ("cpp", "bindings", "python")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".h", ".cpp"} and "__pycache__" not in path.parts
    ]
    assert len(sources) > 300
    quoted = re.compile(rf"""["']{name}["']|\b{name}\(|import [^\n]*\b{name}\b""")
    files = [
        str(path.relative_to(ROOT))
        for path in sources
        if quoted.search(path.read_text(encoding="utf-8")) and not str(path).endswith(module)
    ]
    assert [path for path in files if not ELSEWHERE.search(path)] == []
