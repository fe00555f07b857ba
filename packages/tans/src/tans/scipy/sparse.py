"""`tans.scipy.sparse`: the package `tans_scipy.sparse` itself."""

import sys

from tans_scipy import sparse
from tans_scipy.sparse import linalg

# ``import tans.scipy.sparse.linalg`` finds the module here.
sys.modules[f"{__name__}.linalg"] = linalg
sys.modules[__name__] = sparse
