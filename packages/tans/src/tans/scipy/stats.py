"""`tans.scipy.stats`: the module `tans_scipy.stats` itself."""

import sys

from tans_scipy import stats

sys.modules[__name__] = stats
