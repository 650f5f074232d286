"""What +, -, *, /, @, **, and [] mean for tensors."""

import numbers

import numpy as np

from . import arrays, errors, numpy_names, ops
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


def _equal(a, b):
    """A tensor is a key of sets and dicts by its identity."""
    return NotImplemented if b is None else numpy_names.equal(a, b)


def _unequal(a, b):
    return NotImplemented if b is None else ops.scale(_equal(a, b), -1.0, 1.0)


def _contains(a, b):
    return bool((a.numpy() == (b.numpy() if isinstance(b, Tensor) else b)).any())


def _is_list(part):
    """Whether a part of an index lists positions along an axis: a list, an array, a mask, a tensor."""
    return isinstance(part, list) or (hasattr(part, "__array__") and not isinstance(part, (np.generic, int)))


def _taken(x, axis, index):
    """x at positions along an axis: numbers, also negative ones, or a mask of the axis."""
    if not isinstance(index, Tensor):
        places = np.zeros(0, np.int64) if isinstance(index, list) and not index else arrays.array_of(index)
        size = x.shape[axis] if x.ndim else 0
        if places.dtype == bool:
            if not x.ndim or places.shape != (size,):
                raise IndexError(f"a mask {list(places.shape)} of a tensor {list(x.shape)}, expected one of axis {axis}")
            places = np.flatnonzero(places)
        elif places.dtype.kind in "iu" and places.size and places.min() < 0:
            if places.min() < -size:
                raise IndexError(f"index {places.min()} of an axis of size {size}")
            places = np.where(places < 0, places + size, places)
        index = places
    if axis == 0:
        return ops.gather_rows(x, index)
    if np.ndim(index) != 1:
        raise IndexError(f"an index with {np.ndim(index)} axes along axis {axis}, expected one axis")
    order = list(range(6))
    order[0], order[axis] = axis, 0
    return ops.permute(ops.gather_rows(ops.permute(x, order), index), order)


def _item(x, index):
    """x[index]: integers, slices, None, ..., and along one axis a list of positions or a mask."""
    parts = index if isinstance(index, tuple) else (index,)
    if len(parts) == 1 and _is_list(parts[0]):
        return _taken(x, 0, parts[0])
    named = sum(part is not None and part is not Ellipsis for part in parts)
    if named > x.ndim:
        raise IndexError(f"{named} indices of a tensor with {x.ndim} axes")
    at = next((i for i, part in enumerate(parts) if part is Ellipsis), None)
    if at is not None:
        parts = (*parts[:at], *[slice(None)] * (x.ndim - named), *parts[at + 1 :])
    _check_lists(parts)
    axis, shape = 0, []
    for part in parts:
        if part is None:
            shape.append(1)
            continue
        size = x.shape[axis]
        if _is_list(part) or (isinstance(part, slice) and part.step not in (None, 1)):
            x = _taken(x, axis, part if _is_list(part) else np.arange(size)[part])
            shape.append(x.shape[axis])
            axis += 1
            continue
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


def _check_lists(parts):
    """Refuses two lists, whose entries NumPy would pair, and a list apart from a number, whose axis NumPy would move to the
    front."""
    lists = [i for i, part in enumerate(parts) if _is_list(part)]
    numbers = [i for i, part in enumerate(parts) if isinstance(part, (int, np.integer))]
    if len(lists) > 1:
        raise IndexError(f"{len(lists)} lists in an index, expected one")
    if lists and numbers and max(*lists, *numbers) - min(*lists, *numbers) > len(numbers):
        raise IndexError("a list and a number apart in an index, expected them side by side: index twice")


def _bounds(part, size):
    if isinstance(part, slice):
        start, stop, _ = part.indices(size)
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
    for name, method in numpy_names.METHODS.items():
        setattr(Tensor, name, method)
    Tensor.__array_ufunc__ = numpy_names.array_ufunc
    Tensor.__array_function__ = numpy_names.array_function
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
    Tensor.__ge__ = lambda a, b: ops.greater_equal(a, b)
    Tensor.__gt__ = numpy_names.greater
    Tensor.__lt__ = lambda a, b: numpy_names.greater(b, a)
    Tensor.__le__ = lambda a, b: ops.greater_equal(b, a)
    Tensor.__eq__ = _equal
    Tensor.__ne__ = _unequal
    Tensor.__contains__ = _contains
    Tensor.__getitem__ = _item
    Tensor.T, Tensor.mT = property(numpy_names.reversed_axes), property(ops.transpose)
