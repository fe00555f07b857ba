"""Caches: weakness, context and clearing."""

import gc

import pytest

from tans_core import cache, config


class Key:
    pass


def test_weakref_cache_drops_entries_with_their_key():
    @cache.weakref_cache()
    def make(key, n):
        return [n]

    key = Key()
    assert make(key, 1) is make(key, 1)
    assert make(key, 2) is not make(key, 1)
    del key
    gc.collect()
    assert make.cache_info().currsize == 0


def test_context_is_part_of_the_key():
    @cache.weakref_cache()
    def width(key):
        return 64 if config.enable_x64.value else 32

    key = Key()
    assert width(key) == 32
    with config.enable_x64(True):
        assert width(key) == 64
    assert width(key) == 32


def test_an_exception_is_not_remembered():
    results = iter([ValueError, 1])

    @cache.weakref_cache()
    def sometimes(key):
        value = next(results)
        if value is ValueError:
            raise ValueError("first call")
        return value

    key = Key()
    with pytest.raises(ValueError, match="first call"):
        sometimes(key)
    assert sometimes(key) == 1


def test_a_cached_function_may_call_itself():
    keys = [Key() for _ in range(6)]

    @cache.weakref_cache()
    def depth(key):
        index = keys.index(key)
        return index and 1 + depth(keys[index - 1])

    assert depth(keys[5]) == 5


def test_clearing_all_and_only_what_holds_a_backend():
    key = Key()

    @cache.weakref_cache()
    def plain(key):
        return object()

    @cache.weakref_cache(holds_backend=True)
    def backend(key):
        return object()

    first, device = plain(key), backend(key)
    cache.drop_backend()
    assert plain(key) is first
    assert backend(key) is not device
    cache.clear_caches()
    assert plain(key) is not first


def test_a_cache_of_any_kind_may_be_registered():
    table = {1: 2}
    cache.register_cache("a table", table.clear)
    cache.clear_caches()
    assert not table
