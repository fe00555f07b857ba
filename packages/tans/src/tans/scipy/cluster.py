"""`tans.scipy.cluster`: the package `tans_scipy.cluster` itself."""

import sys

from tans_scipy import cluster
from tans_scipy.cluster import vq

# ``import tans.scipy.cluster.vq`` finds the module here.
sys.modules[f"{__name__}.vq"] = vq
sys.modules[__name__] = cluster
