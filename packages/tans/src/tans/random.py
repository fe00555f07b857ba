"""`tans.random`: the module `tans_random` itself."""

import sys

import tans_random

sys.modules[__name__] = tans_random
