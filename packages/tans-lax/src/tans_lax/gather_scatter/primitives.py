"""The primitives of this family."""

from tans_core import Primitive

gather_p = Primitive("gather", family=__package__)
scatter_p = Primitive("scatter", family=__package__)
scatter_add_p = Primitive("scatter-add", family=__package__)
scatter_sub_p = Primitive("scatter-sub", family=__package__)
scatter_mul_p = Primitive("scatter-mul", family=__package__)
scatter_min_p = Primitive("scatter-min", family=__package__)
scatter_max_p = Primitive("scatter-max", family=__package__)
