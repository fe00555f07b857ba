"""Dead-code elimination in custom calls."""

from typing import Final

from tans_autodiff.custom import remat_opt_p
from tans_autodiff.custom.optimized import remat_opt_dce

DCE: Final = {remat_opt_p: remat_opt_dce}
