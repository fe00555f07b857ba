"""`tans.nn`: the module `tans_nn` itself."""

import sys

import tans_nn

sys.modules[f"{__name__}.initializers"] = tans_nn.initializers
sys.modules[__name__] = tans_nn
