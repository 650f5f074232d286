"""What +, -, *, /, @, **, and [] mean for tensors."""

import numbers

import numpy as np

from . import errors, ops
from .tensor import Tensor


def _is_number(x):
    return not isinstance(x, Tensor) and isinstance(x, numbers.Real)


def _add(a, b):
    return ops.scale(a, 1.0, b) if _is_number(b) else ops.add(a, b)


def _sub(a, b):
    return ops.scale(a, 1.0, -b) if _is_number(b) else ops.sub(a, b)


def _rsub(a, b):
    return ops.scale(a, -1.0, b) if _is_number(b) else ops.sub(b, a)


def _mul(a, b):
    return ops.scale(a, b) if _is_number(b) else ops.mul(a, b)


def _pow(a, b):
    if not _is_number(b):
        return ops.power(a, b)
    return ops.square(a) if b == 2 else ops.pow(a, b)


def _greater_equal(a, b):
    return ops.greater_equal(a, b)


def _item(x, index):
    """x[index]: integers, slices of step 1, None, ..., and one list of row numbers."""
    if isinstance(index, (list, np.ndarray, Tensor)):
        return ops.gather_rows(x, index)
    parts = index if isinstance(index, tuple) else (index,)
    named = sum(part is not None and part is not Ellipsis for part in parts)
    if named > x.ndim:
        raise IndexError(f"{named} indices of a tensor with {x.ndim} axes")
    if Ellipsis in parts:
        at = parts.index(Ellipsis)
        parts = (*parts[:at], *[slice(None)] * (x.ndim - named), *parts[at + 1 :])
    axis, shape = 0, []
    for part in parts:
        if part is None:
            shape.append(1)
            continue
        size = x.shape[axis]
        start, stop = _bounds(part, size)
        if (start, stop) != (0, size):
            x = ops.slice(x, axis, start, stop)
        if isinstance(part, slice):
            shape.append(stop - start)
        axis += 1
    shape += x.shape[axis:]
    return x if tuple(shape) == x.shape else _reshaped(x, shape)


def _reshaped(x, shape):
    try:
        return ops.reshape(x, shape)
    except errors.Error:
        return ops.reshape(ops.contiguous(x), shape)


def _bounds(part, size):
    if isinstance(part, slice):
        start, stop, step = part.indices(size)
        if step != 1:
            raise IndexError(f"a step of {step}, expected 1")
        return start, max(start, stop)
    if not isinstance(part, (int, np.integer)) or isinstance(part, bool):
        raise IndexError(f"an index of type {type(part).__name__}, expected integers, slices, None or ...")
    if not -size <= part < size:
        raise IndexError(f"index {part} of an axis of size {size}")
    return int(part) % size, int(part) % size + 1


def attach():
    """Gives Tensor its operators and its methods."""
    for name in ops.METHODS:
        setattr(Tensor, name, getattr(ops, name))
    Tensor.__add__ = Tensor.__radd__ = _add
    Tensor.__sub__, Tensor.__rsub__ = _sub, _rsub
    Tensor.__mul__ = Tensor.__rmul__ = _mul
    Tensor.__truediv__ = lambda a, b: ops.div(a, b)
    Tensor.__rtruediv__ = lambda a, b: ops.div(b, a)
    Tensor.__matmul__ = lambda a, b: ops.matmul(a, b)
    Tensor.__rmatmul__ = lambda a, b: ops.matmul(b, a)
    Tensor.__pow__ = _pow
    Tensor.__rpow__ = lambda a, b: ops.power(b, a)
    Tensor.__neg__ = lambda a: ops.neg(a)
    Tensor.__abs__ = lambda a: ops.abs(a)
    Tensor.__ge__ = _greater_equal
    Tensor.__le__ = lambda a, b: ops.greater_equal(b, a)
    Tensor.__getitem__ = _item
    Tensor.T = property(ops.transpose)
