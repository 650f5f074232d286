"""A pickle read as data: nothing is imported, and nothing is called but the stand-ins of this file.

A pickle is a program. This reader knows a fixed list of the names it may use - those of NumPy's arrays, SciPy's sparse
matrices, the containers of the standard library and PyTorch's tensors - and gives each a stand-in that only keeps what it
is told. Any other name is an error, before anything of it happens. Needs the standard library alone.
"""

import array
import collections
import pickle
import sys
import zipfile


class Refused(Exception):
    """The file asks for something that data does not need, or contradicts itself."""


class DType:
    """numpy.dtype: byte order and code, such as ("<", "f4")."""

    def __init__(self, code="", *_):
        self.order, self.code = ("|", code) if isinstance(code, str) else ("|", "")

    def __setstate__(self, state):
        self.order = state[1]


# array.array's codes; complex numbers, objects and texts have none.
CODES = {"f4": "f", "f8": "d", "i1": "b", "i2": "h", "i4": "i", "i8": "q",
         "u1": "B", "u2": "H", "u4": "I", "u8": "Q", "b1": "B"}


def decode(dtype, data):
    """The numbers in the bytes of an array."""
    if not isinstance(dtype, DType) or dtype.code not in CODES:
        raise Refused(f"expected an array of numbers, found dtype {getattr(dtype, 'code', dtype)!r}")
    values = array.array(CODES[dtype.code])
    data = data.encode("latin1") if isinstance(data, str) else data
    if not isinstance(data, (bytes, bytearray)) or len(data) % values.itemsize:
        raise Refused("expected the bytes of an array, found others")
    values.frombytes(data)
    if {"<": "little", ">": "big"}.get(dtype.order, sys.byteorder) != sys.byteorder:
        values.byteswap()
    return values


class Array:
    """numpy.ndarray: shape and, in row-major order, values (an array.array)."""

    def __setstate__(self, state):
        _, shape, dtype, fortran, data = state
        self.shape, self.values = tuple(shape), decode(dtype, data)
        count = 1
        for n in self.shape:
            count *= n
        if count != len(self.values):
            raise Refused(f"expected {count} numbers in an array of shape {self.shape}, found {len(self.values)}")
        if fortran and len(self.shape) == 2:
            rows, columns = self.shape
            self.values = array.array(self.values.typecode,
                                      (self.values[c * rows + r] for r in range(rows) for c in range(columns)))
        elif fortran and len(self.shape) > 2:
            raise Refused("expected an array of at most two axes in Fortran order, found more")


class Sparse:
    """scipy.sparse.csr_matrix or coo_matrix: the attributes as they were kept."""

    def __setstate__(self, state):
        self.__dict__.update(state)


class Csr(Sparse):
    pass


class Coo(Sparse):
    pass


class Storage:
    """A torch storage class: its dtype, as safetensors names it."""

    def __init__(self, code):
        self.code = code


class Tensor:
    """A torch tensor: storage (dtype, key), offset, shape, strides."""

    def __init__(self, storage, offset, shape, stride, *_):
        self.storage, self.offset, self.shape, self.stride = storage, offset, tuple(shape), tuple(stride)


def _array(*_):
    return Array()


def _scalar(dtype, data):
    return decode(dtype, data)[0]


def _encode(text, encoding):
    if encoding != "latin1" or not isinstance(text, str):
        raise Refused(f"expected text in latin1, found {encoding!r}")
    return text.encode("latin1")


def _parameter(tensor, *_):
    return tensor


def _names(modules, name, stand_in):
    return {(module, name): stand_in for module in modules}


_MULTIARRAY = ("numpy.core.multiarray", "numpy._core.multiarray")

# What Planetoid's files have, exactly.
PLANETOID = {
    ("scipy.sparse.csr", "csr_matrix"): Csr,
    ("numpy.core.multiarray", "_reconstruct"): _array,
    ("numpy", "ndarray"): Array,
    ("numpy", "dtype"): DType,
    ("collections", "defaultdict"): collections.defaultdict,
    ("__builtin__", "list"): list,
}

# What newer programs write for the same kinds of things.
MATRICES = {
    **PLANETOID,
    **_names(("scipy.sparse.csr", "scipy.sparse._csr"), "csr_matrix", Csr),
    **_names(("scipy.sparse.coo", "scipy.sparse._coo"), "coo_matrix", Coo),
    **_names(_MULTIARRAY, "_reconstruct", _array),
    **_names(_MULTIARRAY, "scalar", _scalar),
    ("_codecs", "encode"): _encode,
}

# What a state dict has.
TENSORS = {
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): Tensor,
    ("torch._utils", "_rebuild_parameter"): _parameter,
    **{("torch", name + "Storage"): Storage(code)
       for name, code in (("Float", "F32"), ("Double", "F64"), ("Half", "F16"), ("BFloat16", "BF16"),
                          ("Long", "I64"), ("Int", "I32"), ("Byte", "U8"))},
}


class _Reader(pickle.Unpickler):
    def __init__(self, file, allowed):
        super().__init__(file, encoding="latin1")
        self.allowed = allowed

    def find_class(self, module, name):
        if (module, name) not in self.allowed:
            raise Refused(f"expected data alone, found a use of {module}.{name}")
        return self.allowed[module, name]

    def persistent_load(self, key):
        """PyTorch's reference to the bytes of a storage: ("storage", class, key, device, count)."""
        if not (isinstance(key, tuple) and len(key) == 5 and key[0] == "storage" and isinstance(key[1], Storage)
                and isinstance(key[2], str)):
            raise Refused("expected the storage of a tensor, found another reference")
        return key[1].code, key[2]


def load(file, allowed):
    """The object in an open pickle file. Raises Refused."""
    try:
        return _Reader(file, allowed).load()
    except Refused:
        raise
    except Exception as error:  # any error that a damaged pickle causes
        raise Refused(f"expected a pickle, found a damaged one ({type(error).__name__}: {error})") from error


_SIZES = {"F32": 4, "F64": 8, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "U8": 1}


def _contiguous(shape, stride):
    expected = 1
    for n, s in zip(reversed(shape), reversed(stride)):
        if n != 1 and s != expected:
            return False
        expected *= n
    return True


def load_state_dict(path):
    """{name: (dtype, shape, bytes)} of a state dict written by torch.save. Raises Refused."""
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise Refused("expected a zip, as torch.save writes since PyTorch 1.6, found none") from error
    with archive:
        members = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        if len(members) != 1:
            raise Refused(f"expected one member data.pkl, found {len(members)}")
        folder = members[0][:-len("data.pkl")]
        order = folder + "byteorder"
        if order in archive.namelist() and archive.read(order) != b"little":
            raise Refused("expected little-endian numbers, found others")
        with archive.open(members[0]) as file:
            state = load(file, TENSORS)
        if not isinstance(state, dict):
            raise Refused(f"expected a state dict, found a {type(state).__name__}")
        return {name: _tensor_bytes(archive, folder, name, tensor) for name, tensor in state.items()}


def _tensor_bytes(archive, folder, name, tensor):
    if not isinstance(name, str) or not isinstance(tensor, Tensor):
        raise Refused(f"expected tensors alone in the state dict, found {name!r}: {type(tensor).__name__}")
    code, key = tensor.storage
    count = 1
    for n in tensor.shape:
        count *= n
    if not _contiguous(tensor.shape, tensor.stride):
        raise Refused(f"expected {name} to be contiguous, found strides {tensor.stride}")
    try:
        data = archive.read(f"{folder}data/{key}")
    except (KeyError, zipfile.BadZipFile) as error:
        raise Refused(f"expected the bytes of {name} in the archive, found none") from error
    start, size = tensor.offset * _SIZES[code], count * _SIZES[code]
    if start < 0 or start + size > len(data):
        raise Refused(f"expected {start + size} bytes for {name}, found {len(data)}")
    return code, tensor.shape, data[start:start + size]
