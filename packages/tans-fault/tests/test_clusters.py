"""The place of a process according to each environment."""

import pytest

from tans_core import config_module as config
from tans_fault import settings
from tans_fault.clusters import ENVIRONMENTS, Place, detect, first_of_nodelist, merge

SLURM = {"SLURM_JOB_ID": "4100", "SLURM_NTASKS": "8", "SLURM_PROCID": "3", "SLURM_LOCALID": "1"}
OMPI = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1"}
CASES = {
    "launcher": (
        {
            "TANS_LAUNCH_ADDRESS": "127.0.0.1:5000",
            "TANS_LAUNCH_NUM_PROCESSES": "4",
            "TANS_LAUNCH_PROCESS_ID": "2",
        },
        Place("127.0.0.1:5000", 4, 2),
    ),
    "slurm": (
        {**SLURM, "SLURM_STEP_NODELIST": "gpu[07-09],big1"},
        Place(f"gpu07:{61441 + 4100 % 4092}", 8, 3, (1,)),
    ),
    "ompi": (
        {**OMPI, "OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911"},
        Place(f"10.96.0.1:{61441 + 1531576320 % 4092}", 2, 1),
    ),
    "k8s": (
        {
            "KUBERNETES_SERVICE_HOST": "10.0.0.1",
            "JOB_COMPLETION_INDEX": "1",
            "TANS_KUBERNETES_NUM_PROCESSES": "2",
            "HOSTNAME": "train-1",
        },
        Place("train-0.train:8476", 2, 1),
    ),
    "tpu": (
        {"TPU_WORKER_ID": "1", "TPU_WORKER_HOSTNAMES": "t0, t1"},
        Place("t0:8476", 2, 1),
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("asked", [True, False], ids=["by name", "found"])
def test_the_place_in_each_environment(name, asked):
    env, place = CASES[name]
    assert detect(name if asked else None, env) == place


def test_no_environment_is_an_empty_place():
    assert detect(None, {}) == Place()
    assert detect(None, {"SLURM_JOB_ID": "1"}) == Place()  # in the shell of an allocation
    assert detect("deactivate", CASES["slurm"][0]) == Place()


def test_an_unknown_environment_is_named():
    with pytest.raises(ValueError, match=r"'sge'.*'slurm'.*'deactivate'"):
        detect("sge", {})


@pytest.mark.parametrize(
    ("name", "changes", "facts"),
    [
        ("launcher", {"TANS_LAUNCH_PROCESS_ID": None}, "TANS_LAUNCH_PROCESS_ID is not set"),
        ("launcher", {"TANS_LAUNCH_NUM_PROCESSES": "two"}, "NUM_PROCESSES is 'two'"),
        ("slurm", {"SLURM_PROCID": "x"}, "SLURM_PROCID is 'x', expected a whole number"),
        ("slurm", {"SLURM_NTASKS": "0"}, "SLURM_NTASKS is '0', expected .* at least 1"),
        ("slurm", {"SLURM_LOCALID": ""}, "SLURM_LOCALID is ''"),
        ("slurm", {"SLURM_STEP_NODELIST": ""}, "NODELIST is '', expected hosts"),
        ("ompi", {"OMPI_COMM_WORLD_RANK": None}, "RANK is not set"),
        ("ompi", {"OMPI_MCA_orte_hnp_uri": "1.0;usock"}, "uri is '1.0;usock', expected 'JOB;tcp"),
        ("k8s", {"JOB_COMPLETION_INDEX": "-1"}, "INDEX is '-1', expected .* at least 0"),
        ("k8s", {"TANS_KUBERNETES_NUM_PROCESSES": "2x"}, "NUM_PROCESSES is '2x'"),
        ("tpu", {"TPU_WORKER_ID": ""}, "TPU_WORKER_ID is ''"),
        ("tpu", {"TPU_WORKER_HOSTNAMES": "a,,b"}, "HOSTNAMES is 'a,,b', expected the host of"),
    ],
)
def test_a_malformed_variable_is_named(name, changes, facts):
    env = {k: v for k, v in (CASES[name][0] | changes).items() if v is not None}
    with pytest.raises(ValueError, match=f"{facts}.*Correct it"):
        detect(name, env)


@pytest.mark.parametrize(
    ("name", "missing"), [("slurm", "SLURM_NTASKS"), ("mpi4py", "the package mpi4py")]
)
def test_an_environment_that_is_asked_for_and_not_there(name, missing):
    with pytest.raises(ValueError, match=f"'{name}'.*{missing}.*expected a job of that kind"):
        detect(name, {"SLURM_JOB_ID": "4"})


def test_an_address_of_version_6_keeps_its_brackets():
    env = CASES["ompi"][0] | {"OMPI_MCA_orte_hnp_uri": "7.0;tcp6://[fd00::7]:34911"}
    assert detect("ompi", env).coordinator_address == f"[fd00::7]:{61441 + 7}"


def test_mpi4py_is_used_only_on_request():
    assert ENVIRONMENTS["mpi4py"].on_request


@pytest.mark.parametrize(
    ("nodes", "first"), [("n1", "n1"), ("n1,n2", "n1"), ("a[3,5-9]", "a3"), ("a-[01-02]", "a-01")]
)
def test_the_first_host_of_a_list(nodes, first):
    assert first_of_nodelist(nodes) == first


def test_what_is_given_wins():
    assert merge(Place("a:1", None, 3), Place("b:2", 4, 0, (1,))) == Place("a:1", 4, 3, (1,))


def test_variables_fill_what_is_not_given(monkeypatch):
    monkeypatch.setenv("JAX_COORDINATOR_ADDRESS", "h:9")
    monkeypatch.setenv("JAX_LOCAL_DEVICE_IDS", "0,2")
    assert settings.complete(None, 2, 1, None, None) == Place("h:9", 2, 1, (0, 2))
    assert settings.complete("g:8", 2, 1, 5, None) == Place("g:8", 2, 1, (5,))


def test_the_devices_of_this_process_are_those_that_its_plugin_is_told():
    all_flags = config.visible_devices.values()
    settings.set_visible_devices(None)
    assert [flag.value for flag in all_flags] == ["all", "all", "all"]
    settings.set_visible_devices((2, 3))
    try:
        assert [flag.value for flag in all_flags] == ["2,3", "2,3", "2,3"]
    finally:
        for flag in all_flags:
            flag.update("all")


def test_a_variable_replaces_the_port_that_was_found(monkeypatch):
    for name, value in CASES["tpu"][0].items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("JAX_COORDINATOR_PORT", "77")
    assert settings.complete(None, None, None, None, "tpu").coordinator_address == "t0:77"


@pytest.mark.parametrize(
    ("host", "given", "bound"),
    [
        ("127.0.0.1", None, "127.0.0.1:80"),
        ("10.0.0.1", None, "[::]:80"),
        ("10.0.0.1", "10.0.0.1:81", "10.0.0.1:81"),
        ("::1", None, "[::1]:80"),
    ],
)
def test_where_process_0_listens(host, given, bound):
    assert settings.bind_address(given, host, 80) == bound


def test_the_collective_timeout_keeps_other_flags_and_the_users(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--a=1")
    settings.set_collective_timeout(None)
    assert settings.os.environ["XLA_FLAGS"] == f"--a=1 {settings.COLLECTIVE_FLAG}=20"
    settings.set_collective_timeout(None)
    settings.set_collective_timeout(7)
    assert settings.os.environ["XLA_FLAGS"] == f"--a=1 {settings.COLLECTIVE_FLAG}=7"


def test_a_proxy_is_warned_of(monkeypatch):
    monkeypatch.setenv("https_proxy", "http://192.0.2.1:1")
    with pytest.warns(UserWarning, match="https_proxy.*expected none"):
        settings.warn_of_proxies()
