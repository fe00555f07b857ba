import os

import pytest


def test_import_starts_no_client_and_no_thread(run_python):
    out = run_python(
        """
        import threading
        import tans_xla
        from tans_xla import backend
        print(backend.is_started(), threading.active_count())
        """
    )
    assert out == "False 1\n"


def test_import_leaves_no_jax_module_behind(run_python):
    out = run_python(
        """
        import sys
        import tans_xla
        tans_xla.device_put(1.0).addressable_shards
        print([name for name in sys.modules if name.split(".")[0] == "jax"])
        """
    )
    assert out == "[]\n"


def test_import_after_jax_names_the_remedy(run_python):
    out = run_python(
        """
        import sys, types
        fake = types.ModuleType("jax")
        fake.__version__ = "0.12.0"
        sys.modules["jax"] = fake
        try:
            import tans_xla
        except ImportError as error:
            print(error)
        """
    )
    assert "jax 0.12.0 is already imported" in out
    assert "tans-jax" in out


def test_import_after_another_owner_of_the_array_class(run_python):
    out = run_python(
        """
        from jaxlib import xla_client
        xla_client.ArrayImpl.shape = property(lambda self: ())
        try:
            import tans_xla
        except ImportError as error:
            print(error)
        """
    )
    assert "already attached" in out


FAKE_JAX = '__version__ = "0.12.0"\n'


@pytest.mark.parametrize("first", ["tans_core", "tans_xla"])
def test_import_of_jax_afterwards_is_refused(run_python, tmp_path, first):
    (tmp_path / "jax.py").write_text(FAKE_JAX)
    out = run_python(
        f"""
        import importlib.util
        import {first}
        print(importlib.util.find_spec("jax") is not None)
        try:
            import jax
        except ImportError as error:
            print(error)
        """,
        PYTHONPATH=str(tmp_path),
    )
    found, message = out.splitlines()
    assert found == "True"
    assert "tans-jax" in message


def test_missing_jax_stays_missing(run_python):
    out = run_python(
        """
        import sys
        sys.path = [p for p in sys.path if "fake" not in p]
        import importlib.util
        import tans_xla
        try:
            print(importlib.util.find_spec("jax"))
            import jax
        except ImportError as error:
            print(type(error).__name__)
        """
    )
    assert out.splitlines()[-1] in ("ModuleNotFoundError", "ImportError")


def test_environment_variable_allows_both(run_python, tmp_path):
    (tmp_path / "jax.py").write_text(FAKE_JAX)
    out = run_python(
        """
        import jax
        import tans_xla
        print("both")
        """,
        PYTHONPATH=str(tmp_path),
        TANS_ALLOW_JAX="1",
    )
    assert out == "both\n"


def test_pieces_have_our_types(run_python):
    out = run_python(
        """
        from tans_core.types import ShapedArray
        import tans_xla
        (shard,) = tans_xla.device_put(1.0).addressable_shards
        print(isinstance(shard.data.aval, ShapedArray), shard.data.sharding.memory_kind)
        """,
        JAX_NUM_CPU_DEVICES="1",
    )
    assert out == "True device\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.parametrize("started", [False, True])
def test_forked_processes(run_python, started):
    out = run_python(
        f"""
        import os
        import tans_xla
        f = tans_xla.jit(lambda x: x)
        if {started}:
            f(1.0)
        if os.fork() == 0:
            try:
                print(f(1.0), flush=True)
            except RuntimeError as error:
                print(error, flush=True)
            os._exit(0)
        print(os.wait()[1], tans_xla.jit(lambda x: x)(2.0))
        """,
        PYTHONWARNINGS="ignore",
    )
    child, parent = out.splitlines()
    assert parent == "0 2.0"
    if started:
        assert child.startswith("<lambda>: given a process that was forked")
        assert "'spawn' or 'forkserver'" in child
    else:
        assert child == "1.0"
