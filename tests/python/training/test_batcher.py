from __future__ import annotations

import itertools
import os
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sentencode as se
from sentencode.training import Batcher, Examples

VOCABULARY = se.Vocabulary({chr(ord("a") + i): 26 - i for i in range(26)})
MODES = ["plain", "equal_length", "buckets", "sorted_buffer", "token_budget"]


def built(path, lengths, **options):
    """Example i has `lengths[i]` tokens, all i % 26, a second field of another length, and the label i."""
    rows = [
        (" ".join([chr(ord("a") + i % 26)] * length), " ".join("z" * (1 + i % 3)), i)
        for i, length in enumerate(lengths)
    ]
    return Examples.build(
        rows,
        VOCABULARY,
        "whitespace",
        path=path,
        fields=("first", "second"),
        labels="int64",
        min_length=0,
        **options,
    )


def options_of(mode, size, longest):
    if mode == "buckets":
        return {"mode": mode, "batch_size": size, "bounds": [2, 5, 6]}
    if mode == "token_budget":
        return {"mode": mode, "batch_size": None, "max_tokens": max(size, longest)}
    if mode == "sorted_buffer":
        return {"mode": mode, "batch_size": size, "buffer_batches": 3}
    return {"mode": mode, "batch_size": size}


@pytest.fixture(scope="module")
def some(tmp_path_factory):
    lengths = np.random.default_rng(0).integers(1, 30, 997).tolist()
    return built(tmp_path_factory.mktemp("some") / "file", lengths)


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 9), min_size=1, max_size=60),
    mode=st.sampled_from(MODES),
    size=st.integers(1, 12),
    shuffle=st.booleans(),
    drop_short=st.booleans(),
    seed=st.integers(0, 2**64 - 1),
    epoch=st.integers(0, 2**40),
    world=st.integers(1, 4),
)
def test_an_epoch_has_every_example_once(
    tmp_path_factory, lengths, mode, size, shuffle, drop_short, seed, epoch, world
):
    examples = built(tmp_path_factory.mktemp("batches") / "file", lengths)
    drop_short = drop_short and mode != "token_budget"
    options = {
        **options_of(mode, size, max(lengths)),
        "shuffle": shuffle,
        "drop_short": drop_short,
        "seed": seed,
    }
    groups = {"equal_length": lengths, "buckets": np.searchsorted([2, 5, 6], lengths)}.get(
        mode, [0] * len(lengths)
    )
    if drop_short and np.unique(groups, return_counts=True)[1].max() < size:
        with pytest.raises(ValueError, match="no batch can be made"):
            Batcher(examples, pad=-1, **options)
        return
    batcher = Batcher(examples, pad=-1, **options)
    ranks = [Batcher(examples, rank=rank, world=world, pad=-1, **options) for rank in range(world)]
    seen = []
    for step in range(len(batcher)):
        batch = batcher.batch(epoch, step)
        numbers = batch.numbers.tolist()
        seen += numbers
        assert (batch.epoch, batch.step, batch.total) == (epoch, step, len(numbers))
        held = [lengths[i] for i in numbers]
        assert batch.lengths["first"].tolist() == held
        assert batch.labels.tolist() == numbers
        assert batch.tokens == {"first": sum(held), "second": sum(1 + i % 3 for i in numbers)}
        for field, width in (("first", max(held)), ("second", max(1 + i % 3 for i in numbers))):
            ids = batch.ids[field]
            assert (ids.dtype, ids.shape) == (np.int64, (len(numbers), width))
            for row, i in zip(ids.tolist(), numbers, strict=True):
                tokens = examples[i][field].tolist()
                assert row == tokens + [-1] * (width - len(tokens))
        if mode == "equal_length":
            assert len(set(held)) == 1
        if mode == "buckets":
            assert len({np.searchsorted([2, 5, 6], length) for length in held}) == 1
        if mode == "token_budget":
            assert len(held) * max(held) <= options["max_tokens"]
        else:
            assert len(held) == size if drop_short else len(held) <= size
        parts = [other.batch(epoch, step) for other in ranks]
        assert [part.numbers.tolist() for part in parts] == [numbers[rank::world] for rank in range(world)]
        assert {(part.total, part.tokens["first"]) for part in parts} == {(len(numbers), sum(held))}
    if drop_short:
        assert len(set(seen)) == len(seen) == len(batcher) * size
    else:
        assert sorted(seen) == list(range(len(lengths)))


@pytest.mark.parametrize("mode", MODES)
def test_order_depends_only_on_seed_epoch_and_step(some, mode):
    options = options_of(mode, 16, 40)
    first, second = (Batcher(some, seed=5, **options) for _ in range(2))
    steps = list(range(len(first)))
    orders = {}
    for epoch in (0, 1):
        orders[epoch] = [first.batch(epoch, step).numbers.tolist() for step in steps]
        backwards = [second.batch(epoch, step).numbers.tolist() for step in reversed(steps)]
        assert orders[epoch] == backwards[::-1]
    other = Batcher(some, seed=6, **options)
    assert orders[0] != orders[1]
    assert orders[0] != [other.batch(0, step).numbers.tolist() for step in steps]
    still = Batcher(some, shuffle=False, **options)
    assert [still.batch(0, step).numbers.tolist() for step in steps] == [
        still.batch(9, step).numbers.tolist() for step in steps
    ]


def test_modes_without_shuffling(some):
    lengths = some.lengths("first")
    plain = np.concatenate([b.numbers for b in Batcher(some, mode="plain", batch_size=10, shuffle=False)])
    assert plain.tolist() == list(range(len(some)))
    sorted_ = np.concatenate([b.numbers for b in Batcher(some, batch_size=10, shuffle=False)])
    assert sorted_.tolist() == np.argsort(lengths, kind="stable").tolist()
    buffered = Batcher(some, mode="sorted_buffer", batch_size=10, buffer_batches=7, shuffle=False)
    expected = [
        number
        for begin in range(0, len(some), 70)
        for number in sorted(range(begin, min(begin + 70, len(some))), key=lambda i: (lengths[i], i))
    ]
    assert np.concatenate([b.numbers for b in buffered]).tolist() == expected


def test_sorted_buffers_follow_the_shuffled_order(some):
    plain = Batcher(some, mode="plain", batch_size=70, seed=3)
    buffered = Batcher(some, mode="sorted_buffer", batch_size=10, buffer_batches=7, seed=3)
    steps = iter(range(len(buffered)))
    for whole in plain:
        parts = [buffered.batch(0, step).numbers for step in itertools.islice(steps, 7)]
        assert sorted(np.concatenate(parts).tolist()) == sorted(whole.numbers.tolist())
        ranges = sorted((some.lengths()[p].min(), some.lengths()[p].max()) for p in parts)
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(ranges))


def test_token_budgets_are_used(some):
    batcher = Batcher(some, mode="token_budget", batch_size=None, max_tokens=300)
    used = sorted(b.ids["first"].size for b in batcher)
    assert used[1] > 300 - 2 * 29  # all but the last are full up to about one example
    assert max(used) <= 300
    limited = Batcher(some, mode="token_budget", batch_size=20, max_tokens=300)
    assert max(len(batch) for batch in limited) == 20


def test_shuffling_is_fair(tmp_path):
    # Where example 3 of 12 comes, in 6,000 epochs: chi-square with 11 degrees of freedom, 1e-5 beyond 45.
    examples = built(tmp_path / "file", [4] * 12)
    for mode in ("plain", "equal_length", "sorted_buffer", "buckets"):
        batcher = Batcher(examples, **options_of(mode, 1, 4))
        positions = np.zeros(12)
        for epoch in range(6000):
            positions[next(s for s in range(12) if batcher.batch(epoch, s).numbers[0] == 3)] += 1
        assert ((positions - 500) ** 2 / 500).sum() < 45, mode


@pytest.mark.parametrize("mode", MODES)
def test_resuming_from_a_state(some, mode):
    options = {**options_of(mode, 16, 40), "seed": 11}
    whole = Batcher(some, threads=2, ahead=3, **options)
    assert whole.state == {"epoch": 0, "step": 0}
    handed_out = [(batch.epoch, batch.step, batch.numbers.tolist()) for _ in range(3) for batch in whole]
    assert whole.state == {"epoch": 3, "step": 0}
    part = Batcher(some, **options)
    stop = len(part) + 4
    rest = []
    stream = itertools.chain.from_iterable(part for _ in range(2))
    for batch in itertools.islice(stream, stop):
        rest.append((batch.epoch, batch.step, batch.numbers.tolist()))
    state = part.state
    assert state == {"epoch": 1, "step": 4}
    resumed = Batcher(some, **options)
    resumed.resume(state)
    assert resumed.state == state
    for _ in range(2):
        rest += [(batch.epoch, batch.step, batch.numbers.tolist()) for batch in resumed]
    assert rest == handed_out


def test_invalid_states(some):
    batcher = Batcher(some)
    with pytest.raises(ValueError, match=r"state\['step'\] must be at most"):
        batcher.resume({"epoch": 0, "step": len(batcher)})
    with pytest.raises(ValueError, match="must have 'epoch' and 'step'"):
        batcher.resume({"epoch": 0})
    with pytest.raises(ValueError, match="step must be at most"):
        batcher.batch(0, len(batcher))


def test_batches_outlive_the_batcher(some):
    batcher = Batcher(some, batch_size=4)
    batch = batcher.batch(0, 0)
    copied = batch.ids["first"].copy()
    del batcher
    assert batch.ids["first"].flags.writeable
    np.testing.assert_array_equal(batch.ids["first"], copied)
    batch.ids["first"][:] = -5


def test_threads_begin_and_end(some):
    def threads():
        return len(os.listdir("/proc/self/task"))

    before = threads()
    batcher = Batcher(some, threads=3)
    assert threads() == before
    next(iter(batcher))
    assert threads() == before + 3
    batcher.close()
    assert threads() == before
    next(iter(batcher))
    del batcher
    assert threads() == before


def test_a_consumer_on_another_thread(some):
    batcher = Batcher(some, mode="plain", batch_size=7)
    batches = []
    consumer = threading.Thread(target=lambda: batches.extend(batch.numbers.tolist() for batch in batcher))
    consumer.start()
    consumer.join(timeout=60)
    assert sorted(itertools.chain.from_iterable(batches)) == list(range(len(some)))


def test_lengths_are_those_of_the_first_field_by_default(some):
    for mode in MODES:
        options = options_of(mode, 16, 40)
        default, named = Batcher(some, **options), Batcher(some, length_fields=["first"], **options)
        assert [b.numbers.tolist() for b in default] == [b.numbers.tolist() for b in named]


def test_invalid_length_fields(some):
    for names, message in (
        (["third"], "some of 'first', 'second', each once; got 'third' at 0"),
        (["second", "second"], "got 'second' at 1"),
        ([], "must name a field"),
    ):
        with pytest.raises(ValueError, match=message):
            Batcher(some, length_fields=names)
    with pytest.raises(TypeError, match="sequence of names, got 'first'"):
        Batcher(some, length_fields="first")
    with pytest.raises(ValueError, match="at least 32, the length of the longest example"):
        Batcher(some, mode="token_budget", max_tokens=31, length_fields=["first", "second"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "random"}, "'token_budget', got 'random'"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"batch_size": None}, "batch_size may be None for the mode 'token_budget' alone"),
        ({"mode": "token_budget", "max_tokens": 28}, "at least 29, the length of the longest.*; got 28"),
        ({"mode": "token_budget"}, "at least 29, the length of the longest example; got 0"),
        ({"mode": "token_budget", "max_tokens": 99, "drop_short": True}, "no fixed size"),
        ({"mode": "buckets"}, "needs bounds"),
        ({"mode": "buckets", "bounds": [3, 2]}, "bounds must be ascending"),
        ({"bounds": [3]}, "bounds are for the mode buckets"),
        ({"rank": 1}, "got rank 1 of world 1"),
        ({"mode": "sorted_buffer", "batch_size": 2**31}, "below 2\\^31"),
        ({"batch_size": 998, "drop_short": True}, "no batch can be made of 997 examples"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_wrong_options(some, options, message):
    with pytest.raises(ValueError, match=message):
        Batcher(some, **options)
    with pytest.raises(TypeError, match="examples must be Examples"):
        Batcher([1, 2])  # type: ignore[arg-type]
