"""What +, -, *, /, @, **, and [] mean for tensors."""

import numbers

import numpy as np

from . import arrays, errors, ops
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
        return ops.pow_entries(a, b)
    return ops.square(a) if b == 2 else ops.pow(a, b)


def _greater_equal(a, b):
    return ops.greater_equal(a, b)


def _equal(a, b):
    """1 or 0, as `>=` gives them, and 0 beside NaN. A tensor is a key of sets and dicts by its identity."""
    if b is None:
        return NotImplemented
    return ops.mul(ops.greater_equal(a, b), ops.greater_equal(b, a))


def _unequal(a, b):
    return NotImplemented if b is None else ops.scale(_equal(a, b), -1.0, 1.0)


def _contains(a, b):
    return bool((a.numpy() == (b.numpy() if isinstance(b, Tensor) else b)).any())


def _rows_of(x, index):
    """x[index] of a list or array of row numbers, or of a mask of the rows."""
    rows = np.zeros(0, np.int64) if isinstance(index, list) and not index else arrays.array_of(index)
    if rows.dtype != bool:
        return ops.gather_rows(x, rows)
    if not x.ndim or rows.shape != x.shape[:1]:
        raise IndexError(f"a mask {list(rows.shape)} of a tensor {list(x.shape)}, expected one of its first axis")
    return ops.gather_rows(x, np.flatnonzero(rows))


def _item(x, index):
    """x[index]: integers, slices of step 1, None, ..., and one list of row numbers, or mask of the rows."""
    if isinstance(index, Tensor):
        return ops.gather_rows(x, index)
    if isinstance(index, list) or (hasattr(index, "__array__") and not isinstance(index, (np.generic, int))):
        return _rows_of(x, index)
    parts = index if isinstance(index, tuple) else (index,)
    named = sum(part is not None and part is not Ellipsis for part in parts)
    if named > x.ndim:
        raise IndexError(f"{named} indices of a tensor with {x.ndim} axes")
    at = next((i for i, part in enumerate(parts) if part is Ellipsis), None)
    if at is not None:
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
    Tensor.__rpow__ = lambda a, b: ops.pow_entries(b, a)
    Tensor.__neg__ = lambda a: ops.neg(a)
    Tensor.__abs__ = lambda a: ops.abs(a)
    Tensor.__ge__ = _greater_equal
    Tensor.__le__ = lambda a, b: ops.greater_equal(b, a)
    Tensor.__eq__ = _equal
    Tensor.__ne__ = _unequal
    Tensor.__contains__ = _contains
    Tensor.__getitem__ = _item
    Tensor.T = property(ops.transpose)
