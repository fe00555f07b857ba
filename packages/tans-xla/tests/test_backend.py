import pathlib

import pytest

from tans_core import config
from tans_xla import backend, plugins


def test_virtual_devices():
    assert len(backend.devices()) == 8
    assert backend.device_count() == backend.local_device_count() == 8
    assert backend.default_backend() == "cpu"
    assert repr(backend.devices("cpu")[1]) == "CpuDevice(id=1)"


def test_one_process():
    assert backend.process_index() == 0
    assert backend.process_count() == 1
    assert backend.process_indices() == [0]
    assert backend.local_devices(0) == backend.devices()
    with pytest.raises(ValueError, match="process_index=1"):
        backend.local_devices(1)


def test_unknown_platform_names_the_known_ones():
    with pytest.raises(RuntimeError, match=r"'nope'.*cpu"):
        backend.devices("nope")


def test_client_is_accepted_as_backend():
    client = backend.get_client("cpu")
    assert backend.get_client(client) is client
    assert backend.devices(client) == backend.devices()


def test_number_of_devices_is_fixed_once_started():
    backend.devices()
    config.update("jax_num_cpu_devices", 8)
    with pytest.raises(RuntimeError, match="start of the program"):
        config.update("jax_num_cpu_devices", 3)
    assert config.num_cpu_devices.value == 8


def test_default_device_is_configurable():
    second = backend.devices()[1]
    with config.default_device(second):
        assert backend.default_device() == second
    assert backend.default_device() == backend.devices()[0]


def test_dropped_backend_is_made_anew(run_python):
    out = run_python(
        """
        import numpy as np
        import tans_xla
        from tans_xla import backend
        x = tans_xla.device_put(np.arange(3.0))
        before = backend.devices()[0]
        tans_xla.jit(lambda x: x)(x)
        backend.drop_backend()
        print(backend.is_started(), backend.generation())
        y = tans_xla.device_put(np.arange(3.0))
        print(before == backend.devices()[0], tans_xla.jit(lambda x: x)(y), np.asarray(x))
        """
    )
    assert out == "False 1\nFalse [0. 1. 2.] [0. 1. 2.]\n"


def test_asked_platform_without_plugin_raises(run_python):
    out = run_python(
        """
        from tans_core import config
        config.update("jax_platforms", "nope")
        import tans_xla
        try:
            tans_xla.devices()
        except RuntimeError as error:
            print(error)
        """
    )
    assert "'nope'" in out
    assert "cpu" in out


def test_plugins_of_the_environment_variable(monkeypatch):
    monkeypatch.setenv(plugins.PATHS_VARIABLE, "mine:/opt/mine.so, other:/opt/other.so")
    found = plugins.find_plugins()
    assert found["mine"].library == pathlib.Path("/opt/mine.so")
    assert found["other"].platform == "other"
    monkeypatch.setenv(plugins.PATHS_VARIABLE, "/opt/mine.so")
    with pytest.raises(ValueError, match="name:path"):
        plugins.find_plugins()


def test_plugin_module_is_found_but_not_imported(run_python, tmp_path):
    package = tmp_path / "jax_plugins" / "xla_cuda13"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "xla_cuda_plugin.so").write_bytes(b"")
    out = run_python(
        """
        from tans_xla import plugins
        print(plugins.find_plugins()["cuda"].library.name)
        """,
        PYTHONPATH=str(tmp_path),
    )
    assert out == "xla_cuda_plugin.so\n"


def test_broken_plugin_falls_back_to_cpu(run_python, tmp_path):
    library = tmp_path / "broken.so"
    library.write_bytes(b"")
    out = run_python(
        """
        from tans_core import config
        config.update("jax_platforms", None)
        import tans_xla
        print(tans_xla.default_backend())
        try:
            tans_xla.devices("broken")
        except RuntimeError as error:
            print(error)
        """,
        TANS_PJRT_PLUGINS=f"broken:{library}",
        JAX_PLATFORMS="",
    )
    first, second = out.splitlines()[:2]
    assert first == "cpu"
    assert "broken did not start" in second


def test_client_options_accept_text():
    assert plugins._parse_options("a:1;b:true;c:x") == {"a": 1, "b": True, "c": "x"}
    assert plugins._parse_options({"a": 1}) == {"a": 1}
    assert plugins._parse_options(None) == {}


def test_a_plugin_is_told_which_devices_to_use(monkeypatch):
    asked = []
    monkeypatch.setattr(plugins, "load", lambda plugin: None)
    monkeypatch.setattr(plugins._jaxlib, "make_c_api_client", lambda *args: asked.append(args))
    plugin = plugins.Plugin("rocm", pathlib.Path("x.so"), 1)
    plugins.make_client(plugin, {}, None)
    with config.visible_devices["rocm"]("2, 0"):
        plugins.make_client(plugin, {}, {"memory_fraction": 0.5})
    assert [options for _, options, _ in asked] == [
        {},
        {"visible_devices": [2, 0], "memory_fraction": 0.5},
    ]
    with config.visible_devices["rocm"]("0,x"), pytest.raises(ValueError, match="'0,x', expected"):
        plugins.make_client(plugin, {}, None)


def test_no_cpu_device_at_all_is_refused(run_python):
    out = run_python(
        """
        import tans_xla
        try:
            tans_xla.devices()
        except Exception as error:
            print(error)
        """,
        JAX_NUM_CPU_DEVICES="0",
    )
    assert "jax_num_cpu_devices: given 0, expected at least 1" in out
