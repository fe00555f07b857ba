"""Communication along named axes: sums, gathers and permutations over a mapped axis."""

from tans_lax.collectives.moves import (
    all_gather,
    all_to_all,
    axis_index,
    pbroadcast,
    ppermute,
    pshuffle,
    pswapaxes,
)
from tans_lax.collectives.names import axis_size, bound_size, names_in, uses_axis
from tans_lax.collectives.primitives import (
    all_gather_p,
    all_to_all_p,
    axis_index_p,
    pbroadcast_p,
    pmax_p,
    pmin_p,
    ppermute_p,
    psum_p,
    reduce_scatter_p,
)
from tans_lax.collectives.sums import pmax, pmean, pmin, psum, psum_scatter

__all__ = [
    "all_gather",
    "all_gather_p",
    "all_to_all",
    "all_to_all_p",
    "axis_index",
    "axis_index_p",
    "axis_size",
    "bound_size",
    "names_in",
    "pbroadcast",
    "pbroadcast_p",
    "pmax",
    "pmax_p",
    "pmean",
    "pmin",
    "pmin_p",
    "ppermute",
    "ppermute_p",
    "pshuffle",
    "psum",
    "psum_p",
    "psum_scatter",
    "pswapaxes",
    "reduce_scatter_p",
    "uses_axis",
]
