"""Devices for the combined tests: 8 CPU devices unless ``--device`` says otherwise."""

import os

import pytest

DEVICES = ("cpu", "gpu", "tpu")
CPU_DEVICES = 8


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--device", choices=DEVICES, default="cpu", help="platform to run on")


def pytest_configure(config: pytest.Config) -> None:
    # Before tans is imported: the platform and the number of devices are read when the client
    # is made, and subprocesses that a test starts inherit them.
    platform = {"cpu": "cpu", "gpu": "cuda", "tpu": "tpu"}[config.getoption("--device")]
    os.environ["JAX_PLATFORMS"] = platform
    if platform == "cpu":
        os.environ["JAX_NUM_CPU_DEVICES"] = str(CPU_DEVICES)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    device = config.getoption("--device")
    for item in items:
        for other in ("gpu", "tpu"):
            if item.get_closest_marker(other) and other != device:
                item.add_marker(pytest.mark.skip(reason=f"needs --device {other}"))


@pytest.fixture
def eight_devices() -> list[object]:
    """The first eight devices; skips where there are fewer."""
    import tans

    devices = tans.devices()
    if len(devices) < CPU_DEVICES:
        pytest.skip(f"needs {CPU_DEVICES} devices, found {len(devices)}")
    return list(devices[:CPU_DEVICES])


@pytest.fixture(params=[1, CPU_DEVICES], ids=["1-device", "8-devices"])
def some_devices(request: pytest.FixtureRequest) -> list[object]:
    """One device, then eight."""
    import tans

    devices = tans.devices()
    if len(devices) < request.param:
        pytest.skip(f"needs {request.param} devices, found {len(devices)}")
    return list(devices[: request.param])
