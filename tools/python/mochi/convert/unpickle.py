"""Reads a pickle as data: nothing is imported, and only this file's stand-ins are called.

A pickle is a program. This reader knows a fixed list of the names it may use - NumPy's arrays, SciPy's sparse matrices
and containers of the standard library - and gives each a stand-in that only stores its arguments. Any other name is an
error before it has an effect. NumPy's own classes would not be safe: they trust a pickle's description of their memory.
"""

import collections
import pickle
import re

import numpy


class Refused(Exception):
    """Raised if the file asks for something that data does not need, or contradicts itself."""


class DType:
    """Stands in for numpy.dtype: byte order and code, such as "<" and "f4"."""

    def __init__(self, code="", *_):
        self.order, self.code = "|", code

    def __setstate__(self, state):
        self.order = state[1]


def decode(dtype, data):
    """Decodes an array's numbers from its bytes."""
    if not isinstance(dtype, DType) or not re.fullmatch("[<>|=]([fiu][1248]|b1)", f"{dtype.order}{dtype.code}"):
        raise Refused(f"expected an array of numbers, found dtype {getattr(dtype, 'code', dtype)!r}")
    return numpy.frombuffer(data.encode("latin1") if isinstance(data, str) else data, dtype.order + dtype.code)


class Array:
    """Stands in for numpy.ndarray; holds the values as an array of this process."""

    def __setstate__(self, state):
        _, shape, dtype, fortran, data = state
        self.values = decode(dtype, data).reshape(shape, order="F" if fortran else "C")


class Sparse:
    """Stands in for scipy.sparse.csr_matrix or coo_matrix; holds the attributes as the pickle has them."""

    def __setstate__(self, state):
        self.__dict__.update(state)


def _encode(text, encoding):
    if encoding != "latin1":
        raise Refused(f"expected text in latin1, found {encoding!r}")
    return text.encode("latin1")


# The exact names in the pickles of Planetoid.
PLANETOID = {
    ("scipy.sparse.csr", "csr_matrix"): Sparse,
    ("numpy.core.multiarray", "_reconstruct"): lambda *_: Array(),
    ("numpy", "ndarray"): Array,
    ("numpy", "dtype"): DType,
    ("collections", "defaultdict"): collections.defaultdict,
    ("__builtin__", "list"): list,
}

# The names in pickles that newer programs write for the same objects.
MATRICES = {
    **PLANETOID,
    **{(f"scipy.sparse.{_}{kind}", f"{kind}_matrix"): Sparse for kind in ("csr", "coo") for _ in ("", "_")},
    ("numpy._core.multiarray", "_reconstruct"): lambda *_: Array(),
    **{(f"numpy.{core}.multiarray", "scalar"): lambda dtype, data: decode(dtype, data)[0] for core in ("core", "_core")},
    ("_codecs", "encode"): _encode,
}


class _Reader(pickle.Unpickler):
    def __init__(self, file, allowed):
        super().__init__(file, encoding="latin1")
        self.allowed = allowed

    def find_class(self, module, name):
        if (module, name) not in self.allowed:
            raise Refused(f"expected data alone, found a use of {module}.{name}")
        return self.allowed[module, name]


def load(file, allowed):
    """The object in an open pickle file. Raises Refused."""
    try:
        return _Reader(file, allowed).load()
    except Refused:
        raise
    except Exception as error:  # a damaged pickle can raise any error
        raise Refused(f"expected a pickle, found a damaged one ({type(error).__name__}: {error})") from error
