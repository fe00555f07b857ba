"""Every public module is an attribute of the package, without an import of its own."""

import pkgutil
import subprocess
import sys
import textwrap

import tans

INTERNAL = {"removed"}


def test_each_module_is_reached_by_its_name():
    found = {m.name for m in pkgutil.iter_modules(tans.__path__)} - INTERNAL
    assert found <= set(tans.__all__)
    code = f"import tans\nfor name in {sorted(found)!r}: getattr(tans, name)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_no_module_makes_what_was_traced_stale():
    code = """
        import pkgutil
        import tans
        from tans_core.config import trace_context

        calls = []

        @tans.jit
        def f(x):
            calls.append(1)
            return x

        f(1.0)
        before = trace_context()
        for found in pkgutil.walk_packages(tans.__path__, "tans."):
            __import__(found.name)
        for name in tans.__all__:
            getattr(tans, name)
        f(1.0)
        assert trace_context() == before
        assert calls == [1]
        """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=120)
