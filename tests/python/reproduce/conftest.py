"""Fixtures of the tests of tables."""

from __future__ import annotations

import pytest

import sentencode as se


@pytest.fixture(autouse=True, scope="module")
def cache_of_tests(tmp_path_factory):
    before = se.cache_dir()
    se.set_cache_dir(tmp_path_factory.mktemp("cache"))
    yield
    se.set_cache_dir(before)
