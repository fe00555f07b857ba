"""`tans.scipy.special`: the module `tans_scipy.special` itself."""

import sys

from tans_scipy import special

sys.modules[__name__] = special
