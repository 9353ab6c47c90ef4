from __future__ import annotations

import ast
from pathlib import Path

import pytest

import sentencode as se

torch = pytest.importorskip("torch")
models = pytest.importorskip("sentencode.models")

from sentencode.generators import isolated_generators

SOURCE = Path(se.__file__).parent
SENTENCES = ["the old man sat by the fire", "a ship was lost that night", "she wrote him a letter"] * 4


@pytest.fixture
def gpus(monkeypatch):
    """Two GPUs that are generators and nothing else, and that this process uses."""
    generators = tuple(torch.Generator().manual_seed(seed) for seed in (11, 12))
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "default_generators", generators)
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda device: generators[device].get_state())
    monkeypatch.setattr(
        torch.cuda, "set_rng_state", lambda state, device: generators[device].set_state(state)
    )
    return generators


def states(generators=()):
    return [torch.get_rng_state(), *(generator.get_state() for generator in generators)]


def test_all_devices_of_a_process_are_restored(gpus):
    before = states(gpus)
    samples = []
    for _ in range(2):
        with isolated_generators(seed=3):
            samples.append([torch.rand(2)] + [torch.rand(2, generator=generator) for generator in gpus])
    assert all(map(torch.equal, states(gpus), before))
    assert all(map(torch.equal, *samples))
    with pytest.raises(RuntimeError, match="must match"), isolated_generators():
        torch.rand(2, generator=gpus[1]) + torch.rand(3, generator=gpus[0])
    assert all(map(torch.equal, states(gpus), before))


def encoder(**options):
    return se.MeanMaxAAE(
        se.WordVectors.default(), hidden=8, heads=2, max_steps=2, device="cpu", unit_words=True, **options
    )


def test_nothing_is_seeded_for_a_gpu_that_is_used_later(tmp_path):
    """What torch.manual_seed was called with before CUDA is initialised waits for that moment."""
    waiting, before = torch.cuda._lazy_seed_tracker.get_calls(), states()
    fitted = encoder(seed=5).fit(SENTENCES)
    fitted.save(tmp_path / "model")
    se.load(tmp_path / "model").encode(SENTENCES)
    assert torch.cuda._lazy_seed_tracker.get_calls() == waiting
    assert not torch.cuda.is_initialized()
    assert torch.equal(torch.get_rng_state(), before[0])


def test_no_other_code_seeds_or_forks_generators():
    others = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and path.name != "generators.py":
                name = ast.unparse(node)
                if node.attr == "fork_rng" or name in ("torch.manual_seed", "torch.cuda.manual_seed_all"):
                    others.append(f"{path.relative_to(SOURCE)}:{node.lineno}: {name}")
    assert not others
