"""Four virtual CPU devices, for sharded keys; set before the first one is used."""

from tans_core import config_module as config

config.update("jax_num_cpu_devices", 4)
