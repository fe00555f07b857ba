"""`tans.scipy.spatial`: the package `tans_scipy.spatial` itself."""

import sys

from tans_scipy import spatial
from tans_scipy.spatial import transform

# ``import tans.scipy.spatial.transform`` finds the module here.
sys.modules[f"{__name__}.transform"] = transform
sys.modules[__name__] = spatial
