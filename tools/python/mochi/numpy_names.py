"""NumPy's names for compositions of ops, and NumPy's functions on tensors: ``np.exp(A)``, ``np.sum(A, 0)``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import errors, ops
from .tensor import Tensor


def greater(a, b):
    """1 where a > b, else 0, also for NaN."""
    return ops.mul(ops.greater_equal(a, b), ops.scale(ops.greater_equal(b, a), -1.0, 1.0))


def equal(a, b):
    """1 where a = b, else 0, also for NaN."""
    return ops.mul(ops.greater_equal(a, b), ops.greater_equal(b, a))


def minimum_over(x, axis=None, keepdims=False):
    """The least entries over axes; None: all. Ties: the gradient goes to the first."""
    return ops.neg(ops.max(ops.neg(x), axis, keepdims))


def std(x, axis=None, keepdims=False, ddof=0):
    """The standard deviation over axes; None: all."""
    return ops.sqrt(ops.var(x, axis, keepdims, ddof))


def prod(x, axis=None, keepdims=False):
    """The product over one axis, or over all."""
    if axis is None:
        found = prod(flatten(x), 0)
        return ops.reshape(found, (1,) * x.ndim) if keepdims else found
    axis = _axis(x, axis)
    while (n := x.shape[axis]) > 1:
        halves = ops.mul(ops.slice(x, axis, 0, n // 2), ops.slice(x, axis, n // 2, n // 2 * 2))
        x = ops.concat([halves, ops.slice(x, axis, n - 1, n)], axis) if n % 2 else halves
    if not n:
        x = ops.scale(ops.sum(x, axis, keepdims=True), 1.0, 1.0)
    return x if keepdims else squeeze(x, axis)


def flatten(x):
    """All entries along one axis, in the order of rows."""
    return reshape(x, -1)


def reshape(x, *shape):
    """Gives x in another shape, ``reshape(4, 3)`` or ``reshape((4, 3))``; one size may be -1."""
    sizes = shape[0] if len(shape) == 1 else shape
    return ops.reshape(x if x.size < 2 else ops.contiguous(x), sizes)


def squeeze(x, axis=None):
    """Gives x without axes of size 1: those that are named, or all."""
    named = range(x.ndim) if axis is None else [_axis(x, i) for i in ((axis,) if isinstance(axis, (int, np.integer)) else axis)]
    if axis is not None and any(x.shape[i] != 1 for i in named):
        raise ValueError(f"squeeze: axis {axis} of a tensor {list(x.shape)}, expected axes of size 1")
    return reshape(x, tuple(n for i, n in enumerate(x.shape) if i not in named or n != 1))


def expand_dims(x, axis):
    """Gives x with a new axis of size 1 there."""
    axis = axis + x.ndim + 1 if axis < 0 else axis
    if not 0 <= axis <= x.ndim:
        raise ValueError(f"expand_dims: axis {axis} of a tensor with {x.ndim} axes")
    return reshape(x, (*x.shape[:axis], 1, *x.shape[axis:]))


def _axis(x, axis):
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis {axis} of a tensor with {x.ndim} axes")
    return axis % x.ndim


def _order(x, letters, wanted):
    axes = [letters.index(letter) for letter in wanted]
    return x if axes == sorted(axes) else ops.permute(x, [*axes, *range(len(axes), 6)])


def einsum(spec, *xs):
    """NumPy's einsum for tensors, by matrix products from left to right. No letter may occur twice in one input, and no "..."."""
    inputs, arrow, out = spec.replace(" ", "").partition("->")
    named = inputs.split(",")
    letters = "".join(named)
    if not arrow:
        out = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    fine = all(len(set(n)) == len(n) and (n.isalpha() or not n) for n in [*named, out])
    if not fine or len(named) != len(xs) or not set(out) <= set(letters):
        raise ValueError(f"einsum: {spec!r} of {len(xs)} inputs, expected a name for each, letters that differ in each")
    sizes: dict[str, int] = {}
    for name, x in zip(named, xs, strict=True):
        if np.ndim(x) != len(name) or any(sizes.setdefault(a, n) != n for a, n in zip(name, np.shape(x), strict=False)):
            raise ValueError(f"einsum: {spec!r} of shapes {[list(np.shape(x)) for x in xs]}")
    a, x = named[0], xs[0]
    for i, (b, y) in enumerate(zip(named[1:], xs[1:], strict=True)):
        a, x = _contracted(a, x, b, y, set(out).union(*named[i + 2 :]), sizes)
    a, x = _summed(a, x, set(out))
    return _order(x, a, out)


def _summed(letters, x, kept):
    axes = tuple(i for i, letter in enumerate(letters) if letter not in kept)
    return ("".join(letter for letter in letters if letter in kept), ops.sum(x, axes)) if axes else (letters, x)


def _contracted(a, x, b, y, kept, sizes):
    """Both inputs as batches of matrices: axes of both that are kept, axes that are summed, axes of one input."""
    a, x = _summed(a, x, kept | set(b))
    b, y = _summed(b, y, kept | set(a))
    both = [letter for letter in a if letter in b]
    batch, over = ("".join(n for n in both if (n in kept) == of) for of in (True, False))
    left, right = ("".join(n for n in own if n not in both) for own in (a, b))
    size = [math.prod(sizes[n] for n in group) for group in (batch, left, over, right)]
    x = reshape(_order(_tensor(x, y), a, batch + left + over), (size[0], size[1], size[2]))
    y = reshape(_order(_tensor(y, x), b, batch + over + right), (size[0], size[2], size[3]))
    found = batch + left + right
    return found, reshape(ops.matmul(x, y), tuple(sizes[n] for n in found))


def _tensor(x, like):
    return x if isinstance(x, Tensor) else ops.add(ops.scale(ops.sum(like), 0.0), x)


UFUNCS: dict[str, Any] = {
    "add": ops.add, "subtract": ops.sub, "multiply": ops.mul, "divide": ops.div, "matmul": ops.matmul, "power": ops.pow_entries,
    "negative": ops.neg, "exp": ops.exp, "log": ops.log, "sqrt": ops.sqrt, "square": ops.square, "absolute": ops.abs,
    "tanh": ops.tanh, "sin": ops.sin, "cos": ops.cos, "log1p": ops.log1p, "maximum": ops.larger, "minimum": ops.smaller,
    "greater_equal": ops.greater_equal, "less_equal": lambda a, b: ops.greater_equal(b, a), "greater": greater,
    "less": lambda a, b: greater(b, a), "equal": equal, "not_equal": lambda a, b: ops.scale(equal(a, b), -1.0, 1.0),
}  # fmt: skip
FUNCTIONS: dict[str, Any] = {
    "sum": ops.sum, "mean": ops.mean, "var": lambda x, axis=None, keepdims=False, ddof=0: ops.var(x, axis, keepdims, ddof),
    "max": ops.max, "amax": ops.max, "min": minimum_over, "amin": minimum_over, "std": std, "prod": prod, "einsum": einsum,
    "squeeze": squeeze, "expand_dims": expand_dims, "reshape": reshape, "where": ops.where, "trace": ops.trace,
    "cumsum": ops.cumsum, "concatenate": lambda xs, axis=0: ops.concat(xs, axis), "stack": lambda xs, axis=0: ops.stack(xs, axis),
    "clip": ops.clamp, "tril": ops.tril, "triu": ops.triu, "argmax": ops.argmax,
}  # fmt: skip
def reversed_axes(x):
    """The transpose of a matrix. NumPy's reverses all axes, PyTorch's and `mT` swap two: above rank 2 they would differ."""
    if x.ndim > 2:
        raise errors.InvalidError(f"T of a tensor of {x.ndim} axes: x.mT swaps the last two, x.permute orders all")
    return x if x.ndim < 2 else ops.transpose(x)


METHODS = {
    "min": minimum_over, "std": std, "prod": prod, "flatten": flatten, "reshape": reshape, "squeeze": squeeze,
    "expand_dims": expand_dims, "astype": ops.cast,
}  # fmt: skip


def array_ufunc(self, ufunc, method, *inputs, **options):
    """A NumPy ufunc as the op of the same name; a ufunc without an op acts on the values, if no gradient is lost."""
    own = UFUNCS.get(ufunc.__name__)
    if own and method == "__call__" and not options:
        return own(*(x.item() if isinstance(x, np.generic) else x for x in inputs))
    if any(isinstance(x, Tensor) and x.requires_grad for x in inputs):
        name = ufunc.__name__
        raise TypeError(f"np.{name} of a tensor that needs a gradient: it is none of mochi.ops; of its values: x.numpy()")
    return getattr(ufunc, method)(*(x.numpy() if isinstance(x, Tensor) else x for x in inputs), **options)


def array_function(self, function, types, args, options):
    """A NumPy function as the op of the same name; a function without an op acts on the values."""
    own = FUNCTIONS.get(function.__name__)
    given = {name: value for name, value in options.items() if value is not None and value is not np._NoValue}
    if own and not {"out", "dtype", "where", "initial"} & set(given):
        return own(*args, **given)
    return function(*_values(args), **{name: _values(value) for name, value in options.items()})


def _values(x):
    if isinstance(x, Tensor):
        return x.numpy()
    return type(x)(map(_values, x)) if type(x) in (tuple, list) else x
