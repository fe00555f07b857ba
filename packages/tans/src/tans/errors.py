"""`tans.errors`: the module `tans_core.errors` itself."""

import sys

from tans_core import errors

sys.modules[__name__] = errors
