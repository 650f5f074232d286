"""Losses of real targets, composed of ops: gradients of every order exist, in all they are given.

>>> slope = mochi.grad(lambda w: mochi.losses.huber(w, np.zeros(3)))  # the errors, within -1 .. 1, by their number
>>> slope(np.array([0.75, -3.0, 9.0])).tolist()
[0.25, -0.3333333333333333, 0.3333333333333333]
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from . import checked, errors, ops
from .tensor import Tensor


def mean_squared_error(prediction: Tensor, target: ArrayLike, weight: ArrayLike | None = None) -> Tensor:
    """The mean of (prediction - target)^2; of weighted entries, 0 or more, the weighted mean.

    Examples
    --------
    >>> with mochi.Tape():
    ...     mochi.losses.mean_squared_error(mochi.parameter([1.0, 4.0]), [1.0, 2.0]).item()
    2.0
    """
    return _mean(ops.square(_errors(prediction, target)), weight)


def huber(prediction: Tensor, target: ArrayLike, delta: float = 1.0, weight: ArrayLike | None = None) -> Tensor:
    """The mean of e^2 / 2 where |e| <= delta, else delta (|e| - delta / 2), for e = prediction - target (Huber 1964).

    Examples
    --------
    >>> with mochi.Tape():
    ...     mochi.losses.huber(mochi.parameter([1.0, 4.0]), [0.0, 0.0]).item()
    2.0
    """
    delta = checked.real("huber: delta", delta, 1e-300)
    off = _errors(prediction, target)
    near = ops.clamp(off, -delta, delta)
    return _mean(near * (off - near * 0.5), weight)


def gaussian_nll(mean: Tensor, variance: ArrayLike, target: ArrayLike, weight: ArrayLike | None = None) -> Tensor:
    """The mean of -log N(target; mean, variance) = (log(2 pi variance) + (target - mean)^2 / variance) / 2, variance above 0.

    Examples
    --------
    >>> with mochi.Tape():
    ...     round(mochi.losses.gaussian_nll(mochi.parameter([0.0]), mochi.parameter([1.0]), [0.0]).item(), 4)
    0.9189
    """
    off = _errors(mean, target)
    variance = variance if isinstance(variance, Tensor) else np.asarray(variance, mean.dtype)
    return _mean((ops.log(variance) + ops.square(off) / variance + math.log(2 * math.pi)) * 0.5, weight)


def _errors(prediction, target):
    """prediction - target, of one shape, so that nothing is broadcast by mistake."""
    if np.shape(prediction) != np.shape(target):
        shapes = [list(np.shape(x)) for x in (prediction, target)]
        raise errors.InvalidError(f"losses: predictions {shapes[0]} and targets {shapes[1]}, expected one shape")
    return ops.sub(prediction, target if isinstance(target, Tensor) else np.asarray(target, prediction.dtype))


def _mean(loss, weight):
    if weight is None:
        return ops.mean(loss)
    if not isinstance(weight, Tensor):
        weight = np.broadcast_to(np.asarray(weight, loss.dtype), loss.shape).copy()
    return ops.sum(ops.mul(loss, weight)) / ops.sum(weight)


__all__ = ["gaussian_nll", "huber", "mean_squared_error"]
