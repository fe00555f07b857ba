"""Public functions whose oracles are not in the tables, each with the file of its comparisons.

The file must name the function; a test looks. Random numbers are compared bit for bit with recorded
vectors and with the distributions of SciPy; collectives with sums over the mapped axis.
"""

_INITIALIZERS = "packages/tans-nn/tests/test_initializers.py"
_COLLECTIVES = "packages/tans-batching/tests/test_collectives.py"
# What no array comes out of.
_FILES = """
    numpy.array_repr numpy.array_str numpy.finfo numpy.from_dlpack numpy.fromfile numpy.fromiter
    numpy.get_printoptions numpy.iinfo numpy.load numpy.printoptions numpy.save numpy.savez
    numpy.set_printoptions lax.canonicalize_precision lax.conv_dimension_numbers
    lax.conv_general_permutations lax.dce_sink nn.get_scaled_dot_general_config
    lax.after_all lax.create_token random.key_dtype random.key_impl random.Key
""".split()
# Other names of functions that are compared: the same objects.
OTHER_NAMES: dict[str, str] = {
    f"nn.initializers.{new}_{kind}": f"nn.initializers.{old}_{kind}"
    for new, old in (("kaiming", "he"), ("xavier", "glorot"))
    for kind in ("normal", "uniform")
}
FUNCTIONS_WITHOUT_VALUES: frozenset[str] = frozenset(_FILES)


def _in(file: str, namespace: str, names: str) -> dict[str, str]:
    return {f"{namespace}.{name}": file for name in names.split()}


ELSEWHERE: dict[str, str] = {
    **_in(_COLLECTIVES, "lax", """
        all_gather all_to_all axis_index axis_size pbroadcast pmax pmean pmin ppermute pshuffle
        psum psum_scatter pswapaxes
    """),
    **_in("packages/tans-lax/tests/test_random_bits.py", "lax", """
        rng_bit_generator rng_uniform threefry2x32
    """),
    **_in("packages/tans-sharding/tests", "lax", "pcast psum_scatter_start ragged_all_to_all"),
    "lax.with_sharding_constraint": "packages/tans-sharding/tests",
    "nn.scaled_dot_general": "packages/tans-nn/tests",
    **_in(_INITIALIZERS, "nn.initializers", """
        constant delta_orthogonal glorot_normal glorot_uniform he_normal he_uniform lecun_normal
        lecun_uniform normal ones orthogonal truncated_normal uniform
        variance_scaling zeros
    """),
    # Kolmogorov-Smirnov and chi-square tests against scipy.stats, for every sampler.
    **_in("packages/tans-random/tests/test_distributions.py", "random", """
        ball bernoulli beta binomial categorical cauchy chisquare choice dirichlet
        double_sided_maxwell exponential f gamma generalized_normal geometric gumbel laplace
        loggamma logistic lognormal maxwell multinomial multivariate_normal normal orthogonal
        pareto permutation poisson rademacher randint rayleigh t triangular truncated_normal
        uniform wald weibull_min
    """),
    **_in("packages/tans-random/tests", "random", """
        PRNGKey bits clone fold_in key key_data split wrap_key_data
    """),
}  # fmt: skip
# Functions whose arguments must be known while a program is traced.
NOT_MAPPED: frozenset[str] = frozenset()
# Functions that are not differentiable, by their definition.
NO_GRADIENT: frozenset[str] = frozenset()
