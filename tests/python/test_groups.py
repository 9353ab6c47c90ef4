from __future__ import annotations

import numpy as np

from sentencode.groups import groups_of, held_out_masks, key_of


def choose(labels, n):
    return [np.random.default_rng(0).permutation(n)[: n // 8]]


def test_pairs_have_no_order():
    assert key_of((b"a", b"b")) == key_of((b"b", b"a")) != key_of((b"a", b"c"))
    assert key_of((b"a", b"b", b"c")) != key_of((b"a", b"c", b"b"))


def test_equal_examples_are_on_one_side_and_are_held_out_as_often_as_others():
    # Half of the examples are there twice, in the other order.
    keys = [key_of(pair) for i in range(100) for pair in ((b"%d" % i, b"x"), (b"x", b"%d" % i))]
    groups = groups_of([*keys, *(f"{i}" for i in range(200))])
    (held_out,) = held_out_masks(choose, groups, None)
    assert not set(groups[held_out]) & set(groups[~held_out])
    assert 30 <= held_out.sum() <= 70
    assert 0.3 < held_out[:200].sum() / held_out.sum() < 0.7


def test_a_few_equal_examples_are_trained_on():
    groups = np.array([0, 0, 0, *range(1, 398)])
    (held_out,) = held_out_masks(choose, groups, None)
    assert not held_out[:3].any()
    (chosen,) = choose(None, 400)
    np.testing.assert_array_equal(np.flatnonzero(held_out), np.sort(chosen[chosen > 2]))
