"""Random numbers from explicit keys: typed and raw keys, and samplers.

Samplers load when they are first used, so that importing this package costs little.
"""

from importlib import import_module
from typing import Any, Final

from tans_core import require_interface

_INTERFACE_BUILT_FOR: Final = 1
require_interface("tans-random", built_for=_INTERFACE_BUILT_FOR)

from tans_random import key_methods, key_programs  # noqa: E402  (after the handshake)

key_methods.install()
key_programs.install()

# Module below this package, and the public names it defines.
_PUBLIC: Final = {
    "keys": """
        Key PRNGKey clone fold_in key key_data key_dtype key_impl split wrap_key_data
    """,
    "samplers.bernoulli": "bernoulli geometric rademacher",
    "samplers.binomial": "binomial multinomial",
    "samplers.categorical": "categorical gumbel",
    "random_gamma": "random_gamma_p",
    "samplers.gamma_distribution": "gamma loggamma",
    "samplers.gamma_ratios": "beta chisquare dirichlet f t",
    "samplers.generalized_normal": "ball generalized_normal",
    "samplers.integers": "randint",
    "samplers.inverse_transform": """
        cauchy exponential laplace logistic pareto rayleigh triangular weibull_min
    """,
    "samplers.multivariate": "multivariate_normal orthogonal",
    "samplers.normal": "double_sided_maxwell lognormal maxwell normal truncated_normal",
    "samplers.permutations": "choice permutation",
    "samplers.poisson": "poisson",
    "samplers.uniform": "bits uniform",
    "samplers.wald": "wald",
}

_MODULE_OF: Final = {name: module for module, names in _PUBLIC.items() for name in names.split()}

__all__ = sorted(_MODULE_OF)  # noqa: PLE0605  (computed from the table above)


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}; expected one of its public names. "
            f"See dir({__name__})."
        )
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
