"""`tans.scipy.fft`: the module `tans_scipy.fft` itself."""

import sys

from tans_scipy import fft

sys.modules[__name__] = fft
