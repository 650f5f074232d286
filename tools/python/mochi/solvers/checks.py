"""Derivatives against central differences."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import arrays, errors
from .._library import ffi, lib
from ..context import default_context
from ..tape import Tape
from ..tensor import Tensor, constant, parameter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from ..context import Context


@dataclasses.dataclass
class Check:
    """What a check of derivatives found; true if it passed.

    Attributes
    ----------
    passed : bool
        Whether `error` is within the tolerance.
    error : float
        The largest relative error of a directional derivative.
    samples : int
        How many were compared.
    worst : str
        Sample, input and values at the largest error, or why the check failed.
    """

    passed: bool
    error: float
    samples: int
    worst: str

    @classmethod
    def run(cls, context: Context, function: Callable[..., Any], *arguments: Any) -> Check:
        """Calls a checker of the library, which may meet exceptions of Python functions where they need not work."""
        result = context.call(function, *arguments)
        errors.drop(context.address)
        return cls(getattr(result, "pass"), result.error, result.samples, _text(result))

    def __bool__(self) -> bool:
        return self.passed


def _text(result):
    return ffi.string(result.worst).decode(errors="replace")


def gradcheck(
    f: Callable[..., Tensor | Sequence[Tensor]],
    xs: Sequence[ArrayLike],
    order: int = 2,
    tolerance: float | None = None,
    seed: int = 0,
    context: Context | None = None,
) -> Check:
    """Compares derivatives of f with central differences in float64, along random directions.

    They are compared at xs and near them, for each output and each choice of inputs that need a gradient; and at two
    points in a batch, where f takes one.

    Parameters
    ----------
    f : callable
        f(*xs) -> a tensor or several, written with ops. It is called often.
    xs : sequence of array_like
        Real ones are perturbed, as float64; integers are held fixed.
    order : int
        1: the gradient; 2: the gradient, then the gradient of the gradient.
    tolerance : float
        Of the relative error; at order 2 the gradient must hold to a tenth of it. None: 1e-6 at order 1, 1e-5 at order 2.

    Returns
    -------
    Check
        True if all agree; false also if none of xs is real.
    """
    context = context or default_context()
    arrays_of = [arrays.array_of(x, "float64") for x in xs]
    leaves = [
        parameter(a.astype(np.float64), context=context) if a.dtype.kind == "f" else constant(a, context=context)
        for a in arrays_of
    ]
    with Tape(context=context):
        results = f(*leaves)
    n_out = len(results) if isinstance(results, (list, tuple)) else 1
    tolerance = tolerance if tolerance is not None else (1e-6 if order == 1 else 1e-5)
    pointers = ffi.new("mo_tensor *[]", [leaf.pointer() for leaf in leaves])
    state = ffi.new_handle(f)
    return Check.run(
        context,
        lib.gate_mo_check_function,
        context.pointer,
        lib.door_function,
        state,
        pointers,
        len(leaves),
        n_out,
        order,
        tolerance,
        seed,
    )
