"""Four virtual CPU devices, set before the first one is used; tables of vectors importable."""

import sys
from pathlib import Path

from tans_core import config_module as config

config.update("jax_num_cpu_devices", 4)
sys.path.insert(0, str(Path(__file__).parent))
