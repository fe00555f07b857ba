"""Makers of the functions of a distribution from those of its standard form.

A distribution of location `loc` and scale `scale` is its standard form at ``(x - loc) / scale``;
densities are divided by the scale, quantiles are mapped back. The `error` of a maker is what shapes
of one rank raise that do not broadcast.
"""

import inspect
from collections.abc import Callable
from typing import Any

import tans_lax as lax
import tans_numpy as jnp
from tans_scipy.special.operands import broadcast, refuse_complex
from tans_xla import composite

type Array = Any
type Standard = Callable[..., Array]  # of a point and the shape parameters, all of one shape

_ARGS = """

    Args:
      {first}: {what}, real; broadcasts with the other operands, integers become floats.
{params}
    Returns:
      Array of the common shape.
"""
_PARAMETERS = {"loc": "location.", "scale": "scale, positive."}


def _public(
    compute: Callable[..., Array], name: str, summary: str, parameters: dict[str, Any], what: str,
    error: type[Exception] = TypeError,
) -> Any:  # fmt: skip
    """Return `compute` with a signature of its own: positional or keyword, some with defaults."""
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature(
        [inspect.Parameter(n, kinds, default=d) for n, d in parameters.items()]
    )

    def function(*args: Any, **kwargs: Any) -> Array:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        operands = broadcast(name, *bound.arguments.values(), error=error)
        refuse_complex(name, operands[0], error=TypeError)
        return compute(*operands)

    first = next(iter(parameters))
    listed = "".join(
        f"      {n}: {_PARAMETERS.get(n, 'parameter of the shape.')}\n"
        for n in parameters
        if n != first
    )
    function.__name__ = function.__qualname__ = name.split(".")[-1]
    function.__module__ = f"tans_scipy.stats.{name.split('.')[0]}"
    function.__doc__ = summary + _ARGS.format(first=first, what=what, params=listed)
    public = composite(function)
    public.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
    return public


def _parameters(first: str, shapes: str, located: bool, scaled: bool) -> dict[str, Any]:
    names: dict[str, Any] = dict.fromkeys((first, *shapes.split()), inspect.Parameter.empty)
    if located:
        names["loc"] = 0
    if scaled:
        names["scale"] = 1
    return names


def log_density(
    name: str, standard: Standard, shapes: str = "", located: bool = True,
    error: type[Exception] = TypeError,
) -> Any:  # fmt: skip
    """Return ``logpdf(x, *shapes, loc, scale)``, or without location and scale."""

    def compute(x: Array, *rest: Array) -> Array:
        if not located:
            return standard(x, *rest)
        *given, loc, scale = rest
        return standard((x - loc) / scale, *given) - jnp.log(scale)

    parameters = _parameters("x", shapes, located, located)
    return _public(compute, f"{name}.logpdf", "Compute the logarithm of the density.", parameters,
                   "where to evaluate", error)  # fmt: skip


def density(
    name: str, standard: Standard, shapes: str = "", located: bool = True,
    error: type[Exception] = TypeError,
) -> Any:  # fmt: skip
    """Return ``pdf(x, *shapes, loc, scale)`` from the logarithm of the standard density."""

    def compute(x: Array, *rest: Array) -> Array:
        if not located:
            return lax.exp(standard(x, *rest))
        *given, loc, scale = rest
        return lax.exp(standard((x - loc) / scale, *given) - jnp.log(scale))

    parameters = _parameters("x", shapes, located, located)
    return _public(compute, f"{name}.pdf", "Compute the density.", parameters, "where to evaluate",
                   error)  # fmt: skip


_CUMULATIVE = {
    "cdf": "Compute the probability of at most `{first}`.",
    "logcdf": "Compute the logarithm of the probability of at most `{first}`.",
    "sf": "Compute the probability of more than `{first}`.",
    "logsf": "Compute the logarithm of the probability of more than `{first}`.",
}


def cumulative(
    name: str, standard: Standard, shapes: str = "", located: bool = True, *, first: str = "x",
    scaled: bool = True, error: type[Exception] = TypeError,
) -> Any:  # fmt: skip
    """Return a probability as a function of a point; `name` ends in cdf, logcdf, sf or logsf."""

    def compute(x: Array, *rest: Array) -> Array:
        if not located:
            return standard(x, *rest)
        if not scaled:
            *given, loc = rest
            return standard(x - loc, *given)
        *given, loc, scale = rest
        return standard((x - loc) / scale, *given)

    parameters = _parameters(first, shapes, located, located and scaled)
    summary = _CUMULATIVE[name.split(".")[-1]].format(first=first)
    return _public(compute, name, summary, parameters, "where to evaluate", error)


def quantile(
    name: str, standard: Standard, shapes: str = "", first: str = "q", located: bool = True
) -> Any:
    """Return the inverse of a probability; `name` ends in ppf or isf."""

    def compute(q: Array, *rest: Array) -> Array:
        if not located:
            return standard(q, *rest)
        *given, loc, scale = rest
        return standard(q, *given) * scale + loc

    inverse = "sf" if name.endswith("isf") else "cdf"
    parameters = _parameters(first, shapes, located, located)
    return _public(compute, name, f"Compute the inverse of `{inverse}`.", parameters,
                   "probability, 0 to 1")  # fmt: skip


def log_mass(name: str, standard: Standard, shapes: str) -> Any:
    """Return ``logpmf(k, *shapes, loc)`` of a distribution of integers."""

    def compute(k: Array, *rest: Array) -> Array:
        *given, loc = rest
        return standard(k - loc, *given)

    parameters = _parameters("k", shapes, True, False)
    return _public(compute, f"{name}.logpmf", "Compute the logarithm of the probability of `k`.",
                   parameters, "where to evaluate")  # fmt: skip


def mass(name: str, standard: Standard, shapes: str) -> Any:
    """Return ``pmf(k, *shapes, loc)`` from the logarithm of the standard probability."""

    def compute(k: Array, *rest: Array) -> Array:
        *given, loc = rest
        return lax.exp(standard(k - loc, *given))

    parameters = _parameters("k", shapes, True, False)
    return _public(compute, f"{name}.pmf", "Compute the probability of `k`.", parameters,
                   "where to evaluate")  # fmt: skip


def log_of(standard: Standard) -> Standard:
    """Return the logarithm of a probability, without a slope of nan where it is 0."""

    def logarithm(*args: Array) -> Array:
        value = standard(*args)
        is_zero = value == 0
        return jnp.where(is_zero, -jnp.inf, jnp.log(jnp.where(is_zero, 1, value)))

    return logarithm


def within(inside: Any, value: Callable[..., Array], x: Array, at: float, outside: Any) -> Array:
    """Return ``value(x)`` where `inside` holds; elsewhere `outside`, and no nan in derivatives.

    Args:
      inside: booleans of the shape of `x`.
      value: a function of points of the support.
      x: any shape.
      at: a point of the support, used in place of points outside.
      outside: the result outside.
    """
    return jnp.where(inside, value(jnp.where(inside, x, at)), outside)
