"""`tans.scipy.interpolate`: the module `tans_scipy.interpolate` itself."""

import sys

from tans_scipy import interpolate

sys.modules[__name__] = interpolate
