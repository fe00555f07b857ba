"""`tans.scipy.signal`: the module `tans_scipy.signal` itself."""

import sys

from tans_scipy import signal

sys.modules[__name__] = signal
