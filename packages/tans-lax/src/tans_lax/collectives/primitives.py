"""The primitives that communicate along named axes.

Each has one operand and one result. `axes` and `axis_name` are tuples of names; sizes that the
result type depends on are params, so that the type is a function of types and params alone.
"""

from typing import Final

from tans_core.manual_mode import preduced_p as preduced_p
from tans_core.manual_mode import pvary_p as pvary_p
from tans_core.manual_mode import reduced_vary_cast_p as reduced_vary_cast_p
from tans_core.manual_mode import vary_unreduced_cast_p as vary_unreduced_cast_p
from tans_core.primitive import Primitive
from tans_lax.collectives.names import FAMILY

psum_p: Final = Primitive("psum", family=FAMILY)
pmax_p: Final = Primitive("pmax", family=FAMILY)
pmin_p: Final = Primitive("pmin", family=FAMILY)
ppermute_p: Final = Primitive("ppermute", family=FAMILY)
pbroadcast_p: Final = Primitive("pbroadcast", family=FAMILY)
all_gather_p: Final = Primitive("all_gather", family=FAMILY)
all_to_all_p: Final = Primitive("all_to_all", family=FAMILY)
reduce_scatter_p: Final = Primitive("reduce_scatter", family=FAMILY)
axis_index_p: Final = Primitive("axis_index", family=FAMILY, custom_staging=True)
ragged_all_to_all_p: Final = Primitive("ragged_all_to_all", family=FAMILY)

# Over manual axes, where types say how values vary.
psum_invariant_p: Final = Primitive("psum_invariant", family=FAMILY)
"""From varying to invarying: the sum."""
unreduced_psum_p: Final = Primitive("unreduced_psum", family=FAMILY)
"""From unreduced to invarying: the sum of the addends."""
all_gather_invariant_p: Final = Primitive("all_gather_invariant", family=FAMILY)
all_gather_reduced_p: Final = Primitive("all_gather_reduced", family=FAMILY)
unreduced_reduce_scatter_p: Final = Primitive("unreduced_reduce_scatter", family=FAMILY)
