"""`tans.scipy.optimize`: the module `tans_scipy.optimize` itself."""

import sys

from tans_scipy import optimize

sys.modules[__name__] = optimize
