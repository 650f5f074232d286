"""Functions to functions: gradients, as arrays of arrays, or as tensors of tensors inside another gradient."""

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
    """A function that gives (f(*args), its gradient in args[argnums]).

    Parameters
    ----------
    f : callable
        f(*args, **options) -> a tensor with one element, written with ops. Those of args in which it is differentiated are
        arrays, numbers or tensors; others are given on as they are.
    argnums : int or sequence of int
        The arguments to differentiate in; of a sequence the gradients are a tuple.

    Returns
    -------
    callable
        Of arrays it gives arrays, on a tape of its own. Where an argument is a tensor it gives tensors, which can be
        differentiated again: ``grad(grad(f))``.

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
    """A function that gives the gradient of f in args[argnums], as `value_and_grad` has it.

    Examples
    --------
    >>> cube = lambda x: x**3
    >>> float(mochi.grad(cube)(2.0)), float(mochi.grad(mochi.grad(cube))(2.0))
    (12.0, 12.0)
    """
    both = value_and_grad(f, argnums)

    @functools.wraps(f)
    def gradient(*args: Any, **options: Any) -> Any:
        return both(*args, **options)[1]

    return gradient


def _one(value):
    if not isinstance(value, Tensor) or value.size != 1:
        shape = list(value.shape) if isinstance(value, (Tensor, np.ndarray)) else type(value).__name__
        raise errors.InvalidError(f"grad: the function gave {shape}, expected a tensor with one element")
    return value.sum()
