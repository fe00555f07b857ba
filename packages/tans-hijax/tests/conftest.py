"""Eight virtual CPU devices, and the worked examples as modules."""

import sys
from pathlib import Path

from tans_core import config_module as config

config.update("jax_num_cpu_devices", 8)
sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
