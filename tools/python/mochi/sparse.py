"""Sparse matrices, for `spmm`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import checked, errors
from ._library import ffi, lib
from .arrays import number_of
from .context import Context, default_context
from .handle import Handle
from .tensor import Tensor


class Sparse(Handle):
    """A sparse matrix (CSR), copied from a SciPy matrix or from its parts.

    Parameters
    ----------
    matrix : scipy.sparse matrix or (indptr, indices, data)
        data None: ones.
    shape : (int, int)
        The shape, if parts are given.
    symmetric : bool
        Declares that the matrix equals its transpose, which is checked; adjoints then need no second copy.
    """

    release = lib.gate_mo_csr_release

    def __init__(
        self, matrix: Any, shape: tuple[int, int] | None = None, symmetric: bool = False, context: Context | None = None
    ) -> None:
        if not isinstance(matrix, tuple):
            matrix, shape = matrix.tocsr(), matrix.shape
            matrix.sum_duplicates()
            matrix = (matrix.indptr, matrix.indices, matrix.data)
        if shape is None:
            raise errors.InvalidError("Sparse: the parts of a matrix (indptr, indices, data) without its shape")
        context = context or default_context()
        indptr, columns = (checked.indices(f"Sparse: {name}", matrix[i]) for i, name in enumerate(("indptr", "indices")))
        if columns.size and not 0 <= columns.min() <= columns.max() < shape[1]:
            raise errors.InvalidError(f"Sparse: columns {columns.min()} to {columns.max()}, expected 0 .. {shape[1] - 1}")
        indptr, indices = np.ascontiguousarray(indptr), np.ascontiguousarray(columns, np.int32)
        data = None if matrix[2] is None else np.ascontiguousarray(matrix[2])
        if data is not None and data.dtype.kind != "f":
            data = data.astype(np.float32)
        fits = len(indptr) == shape[0] + 1 and indptr[-1] == len(indices)
        if not fits or (data is not None and len(data) != len(indices)):
            raise ValueError(f"{len(indptr)} row pointers, {len(indices)} columns: not those of a matrix {tuple(shape)}")
        self.shape, self.nnz = tuple(shape), len(indices)
        values = ffi.NULL if data is None else ffi.cast("void *", data.ctypes.data)
        made = context.call(
            lib.gate_mo_csr_create, context._pointer, *self.shape, ffi.from_buffer("int64_t[]", indptr),
            ffi.from_buffer("int32_t[]", indices), number_of(np.float32 if data is None else data.dtype), values,
        )  # fmt: skip
        super().__init__(context, made)
        if symmetric:
            context.call(lib.gate_mo_csr_declare_symmetric, made)

    def __matmul__(self, X: ArrayLike) -> Tensor:
        from .ops import spmm

        return spmm(self, X)
