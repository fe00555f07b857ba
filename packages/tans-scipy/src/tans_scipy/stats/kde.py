"""Densities estimated from samples by kernels."""

from collections.abc import Callable
from typing import Any

import numpy as np

import tans_lax as lax
import tans_numpy as jnp
import tans_random
from tans_core import tree_util
from tans_numpy.operands import ArrayLike, check_arraylike, promote_dtypes_inexact
from tans_scipy.linalg import cho_solve
from tans_scipy.special import logsumexp, ndtr

type Array = Any


@tree_util.register_pytree_node_class
class gaussian_kde:  # noqa: N801  (SciPy's name)
    """A density as a sum of normal ones around the samples.

    Args:
      dataset: samples [d, n], or [n] for one dimension.
      bw_method: "scott" or None, "silverman", a number, or a function of the object that returns
        one: the factor by which the covariance of the samples is scaled.
      weights: weights [n] of the samples; equal if None.

    Raises:
      ValueError: fewer than two samples, weights of another shape, or an unknown method.

    Example:
      >>> density = gaussian_kde(jnp.array([0.0, 1.0]))
      >>> bool(density(0.5)[0] > density(2.0)[0])
      True

    References:
      Scott, "Multivariate density estimation", 1992.
    """

    neff: Any = None
    dataset: Any = None
    weights: Any = None
    covariance: Any = None
    inv_cov: Any = None

    def __init__(
        self,
        dataset: ArrayLike,
        bw_method: str | float | Callable[[Any], Array] | None = None,
        weights: ArrayLike | None = None,
    ) -> None:
        check_arraylike("gaussian_kde", dataset)
        (dataset,) = promote_dtypes_inexact("gaussian_kde", jnp.atleast_2d(dataset))
        self.dataset = jnp.asarray(dataset)
        if self.dataset.ndim != 2 or self.dataset.shape[1] < 2:
            raise ValueError(
                f"gaussian_kde: given samples of shape {self.dataset.shape}, expected (d, n) "
                "with n of at least 2."
            )
        n = self.dataset.shape[1]
        if weights is None:
            self.weights = jnp.full(n, 1 / n, self.dataset.dtype)
        else:
            (weights,) = promote_dtypes_inexact("gaussian_kde", jnp.atleast_1d(weights))
            if weights.shape != (n,):
                raise ValueError(
                    f"gaussian_kde: given weights of shape {weights.shape}, expected one for each "
                    f"sample: ({n},)."
                )
            self.weights = weights / jnp.sum(weights)
        self.neff = 1 / jnp.sum(self.weights**2)
        factor = self._factor(bw_method)
        covariance = jnp.atleast_2d(jnp.cov(self.dataset, aweights=self.weights, bias=False))
        self.covariance = covariance.astype(self.dataset.dtype) * factor**2
        self.inv_cov = jnp.linalg.inv(self.covariance)

    def _factor(self, bw_method: Any) -> Any:
        if bw_method is None or bw_method == "scott":
            return self.neff ** (-1 / (self.d + 4))
        if isinstance(bw_method, str):
            if bw_method == "silverman":
                return (self.neff * (self.d + 2) / 4) ** (-1 / (self.d + 4))
            raise ValueError(
                f"gaussian_kde: given bw_method={bw_method!r}, expected 'scott', 'silverman', a "
                "number or a function."
            )
        return bw_method(self) if callable(bw_method) else bw_method

    @property
    def d(self) -> int:
        """Number of dimensions."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.dataset.shape[1]

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Refuse: objects do not change; make another one.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(
            f"gaussian_kde.set_bandwidth: given {bw_method!r}, but objects do not change. Make "
            "another one: gaussian_kde(samples, bw_method)."
        )

    def evaluate(self, points: ArrayLike) -> Array:
        """Return the density at some places.

        Args:
          points: [d, m]; [m] for one dimension, [d] for one place.

        Returns:
          Array [m].
        """
        return jnp.exp(self.logpdf(points))

    __call__ = evaluate

    def pdf(self, x: ArrayLike) -> Array:
        """Return the density at some places; see `evaluate`."""
        return self.evaluate(x)

    def logpdf(self, x: ArrayLike) -> Array:
        """Return the logarithm of the density at some places; see `evaluate`."""
        check_arraylike("gaussian_kde.logpdf", x)
        places = self._places("logpdf", x)
        factor = jnp.linalg.cholesky(self.covariance)
        gaps = (places[:, None, :] - self.dataset[:, :, None]).reshape(self.d, -1)
        white = lax.linalg.triangular_solve(factor, gaps, left_side=True, lower=True)
        energy = 0.5 * jnp.sum(white**2, 0).reshape(self.n, -1)
        log_norm = jnp.sum(jnp.log(jnp.diagonal(factor))) + 0.5 * self.d * np.log(2 * np.pi)
        return logsumexp(-energy, 0, b=self.weights[:, None]) - log_norm

    def _places(self, name: str, x: ArrayLike) -> Array:
        places = jnp.atleast_2d(jnp.asarray(x))
        if places.shape[0] == 1 and places.shape[1] == self.d and self.d > 1:
            places = places.T
        if places.ndim != 2 or places.shape[0] != self.d:
            raise ValueError(
                f"gaussian_kde.{name}: given places of shape {places.shape}, expected "
                f"({self.d}, m)."
            )
        return places.astype(self.dataset.dtype)

    def integrate_gaussian(self, mean: ArrayLike, cov: ArrayLike) -> Array:
        """Return the integral of the density times a normal one.

        Args:
          mean: [d], or a number for one dimension.
          cov: [d, d], or a number.

        Raises:
          ValueError: other shapes.
        """
        mean, cov = jnp.atleast_1d(jnp.squeeze(mean)), jnp.atleast_2d(jnp.asarray(cov))
        if mean.shape != (self.d,) or cov.shape != (self.d, self.d):
            raise ValueError(
                f"gaussian_kde.integrate_gaussian: given a mean of shape {mean.shape} and a "
                f"covariance of shape {cov.shape}, expected ({self.d},) and ({self.d}, {self.d})."
            )
        return self._overlap(mean[:, None], jnp.ones(1), self.covariance + cov)

    def _overlap(self, centres: Array, weights: Array, covariance: Array) -> Array:
        """Return the weighted sum of normal densities at all differences of centres."""
        factor = jnp.linalg.cholesky(covariance)
        gaps = (self.dataset[:, :, None] - centres[:, None, :]).reshape(self.d, -1)
        energy = 0.5 * jnp.sum(gaps * cho_solve((factor, True), gaps), 0)
        norm = jnp.prod(jnp.diagonal(factor)) * (2 * np.pi) ** (self.d / 2)
        pairs = (self.weights[:, None] * weights[None]).reshape(-1)
        return jnp.sum(jnp.exp(-energy) * pairs) / norm

    def integrate_box_1d(self, low: ArrayLike, high: ArrayLike) -> Array:
        """Return the probability of an interval, in one dimension.

        Args:
          low, high: ends.

        Raises:
          ValueError: several dimensions.
        """
        if self.d != 1:
            raise ValueError(
                f"gaussian_kde.integrate_box_1d: given {self.d} dimensions, expected one."
            )
        scale = jnp.sqrt(self.covariance[0, 0])
        upper, lower = ((jnp.asarray(v) - self.dataset[0]) / scale for v in (high, low))
        return jnp.sum(self.weights * (ndtr(upper) - ndtr(lower)))

    def integrate_kde(self, other: "gaussian_kde") -> Array:
        """Return the integral of the product with another density.

        Args:
          other: density of as many dimensions.

        Raises:
          ValueError: another number of dimensions.
        """
        if other.d != self.d:
            raise ValueError(
                f"gaussian_kde.integrate_kde: given densities of {self.d} and {other.d} "
                "dimensions, expected as many."
            )
        return self._overlap(other.dataset, other.weights, self.covariance + other.covariance)

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Array:
        """Refuse: probabilities of boxes have no closed form in several dimensions.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(
            f"gaussian_kde.integrate_box: given {low_bounds!r}, {high_bounds!r} and {maxpts!r}; "
            "there is no closed form. Use integrate_box_1d, or samples from resample."
        )

    def resample(self, key: Any, shape: tuple[int, ...] = ()) -> Array:
        """Draw from the density.

        Args:
          key: random key.
          shape: number of draws.

        Returns:
          Array [d, *shape].
        """
        index_key, noise_key = tans_random.split(key)
        index = tans_random.choice(index_key, self.n, shape, p=self.weights)
        noise = tans_random.multivariate_normal(
            noise_key, jnp.zeros(self.d, self.dataset.dtype), self.covariance, shape
        )
        return self.dataset[:, index] + jnp.moveaxis(noise, -1, 0)

    def tree_flatten(self) -> tuple[tuple, None]:
        """Return the arrays."""
        return (self.neff, self.dataset, self.weights, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: Any) -> "gaussian_kde":
        """Return an object of given arrays."""
        del aux_data
        out = object.__new__(cls)
        out.neff, out.dataset, out.weights, out.covariance, out.inv_cov = children
        return out
