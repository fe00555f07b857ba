"""`tans.scipy.linalg`: the module `tans_scipy.linalg` itself."""

import sys

from tans_scipy import linalg

sys.modules[__name__] = linalg
