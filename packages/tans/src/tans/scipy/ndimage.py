"""`tans.scipy.ndimage`: the module `tans_scipy.ndimage` itself."""

import sys

from tans_scipy import ndimage

sys.modules[__name__] = ndimage
