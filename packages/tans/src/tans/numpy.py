"""`tans.numpy`: the module `tans_numpy` itself."""

import sys

import tans_numpy

sys.modules[__name__] = tans_numpy
