"""`tans.scipy.integrate`: the module `tans_scipy.integrate` itself."""

import sys

from tans_scipy import integrate

sys.modules[__name__] = integrate
