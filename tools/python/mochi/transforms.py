"""Turns functions into gradient functions: arrays to arrays or, inside another gradient, tensors to tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import errors
from .inputs import tape_of
from .tape import Tape
from .tensor import Tensor, parameter


def value_and_grad(f: Callable[..., Tensor], argnums: int | Sequence[int] = 0) -> Callable[..., tuple[Any, Any]]:
    """A function that returns (f(*args), its gradient with respect to args[argnums]).

    Parameters
    ----------
    f : callable
        f(*args, **options) -> a tensor with one element, written with ops. Differentiated arguments are arrays, numbers or
        tensors; others are passed on unchanged.
    argnums : int or sequence of int
        The arguments to differentiate; for a sequence the gradients are a tuple.

    Returns
    -------
    callable
        For arrays it returns arrays, on its own tape. If an argument is a tensor it returns tensors, which can be differentiated
        again: ``grad(grad(f))``.

    Examples
    --------
    >>> value, gradient = mochi.value_and_grad(lambda w: (w * w).sum())(np.array([1.0, 2.0]))
    >>> float(value), gradient.tolist()
    (5.0, [2.0, 4.0])
    """
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    @functools.wraps(f)
    def differentiated(*args: Any, **options: Any) -> tuple[Any, Any]:
        xs = [args[i] for i in numbers]
        if any(isinstance(x, Tensor) for x in xs):
            tape = tape_of(*(x for x in args if isinstance(x, Tensor)))
            value = _one(f(*args, **options))
            found = tape.grad(value, xs, create_graph=True, allow_unused=True)
            return value, found[0] if isinstance(argnums, int) else tuple(found)
        given = list(args)
        for i in numbers:
            given[i] = parameter(args[i], dtype=None if hasattr(args[i], "dtype") else "float64")
        with Tape() as tape:
            value = _one(f(*given, **options))
            found = tape.grad(value, [given[i] for i in numbers], allow_unused=True)
        gradients = tuple(x.numpy() for x in found)
        return value.numpy(), gradients[0] if isinstance(argnums, int) else gradients

    return differentiated


def grad(f: Callable[..., Tensor], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """A function that returns the gradient of f with respect to args[argnums], as in `value_and_grad`.

    Examples
    --------
    >>> cube = lambda x: x**3
    >>> float(mochi.grad(cube)(2.0)), float(mochi.grad(mochi.grad(cube))(2.0))
    (12.0, 12.0)
    """
    both = value_and_grad(f, argnums)
    return functools.wraps(f)(lambda *args, **options: both(*args, **options)[1])


def _one(value):
    if not isinstance(value, Tensor) or value.size != 1:
        raise errors.InvalidError(f"grad: the function gave {list(np.shape(value))}, expected a tensor with one element")
    return value.sum()
