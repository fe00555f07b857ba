"""Caches: eviction, weakness, context, threads and clearing."""

import gc
import threading

import pytest

from tans_core import cache, config


def test_lru_remembers_and_evicts_the_oldest():
    calls = []

    @cache.lru(maxsize=2)
    def double(x):
        calls.append(x)
        return 2 * x

    assert [double(1), double(1), double(2), double(1), double(3), double(1)] == [2, 2, 4, 2, 6, 2]
    assert calls == [1, 2, 3]
    assert len(double) == 2


def test_context_is_part_of_the_key_on_request():
    @cache.lru(context=True)
    def width():
        return 64 if config.enable_x64.value else 32

    assert width() == 32
    with config.enable_x64(True):
        assert width() == 64


def test_an_exception_is_not_remembered():
    results = iter([ValueError, 1])

    @cache.lru()
    def sometimes():
        value = next(results)
        if value is ValueError:
            raise ValueError
        return value

    with pytest.raises(ValueError):  # noqa: PT011
        sometimes()
    assert sometimes() == 1


def test_first_insert_wins_between_threads():
    barrier = threading.Barrier(8)

    @cache.lru()
    def make():
        barrier.wait()
        return object()

    found = []
    threads = [threading.Thread(target=lambda: found.append(make())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(value) for value in found}) == 1


def test_a_cached_function_may_call_itself():
    @cache.lru()
    def factorial(n):
        return n * factorial(n - 1) if n else 1

    assert factorial(5) == 120


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


def test_weak_identity_map():
    table = cache.WeakIdentityMap()
    key = Key()
    assert table.setdefault(key, 1) == 1
    assert table.setdefault(key, 2) == 1
    assert table.get(key) == 1
    del key
    gc.collect()
    assert len(table) == 0


def test_clearing_all_and_only_what_holds_a_backend():
    @cache.lru()
    def plain():
        return object()

    @cache.lru(holds_backend=True)
    def backend():
        return object()

    first, device = plain(), backend()
    cache.drop_backend()
    assert plain() is first
    assert backend() is not device
    cache.clear_caches()
    assert plain() is not first
