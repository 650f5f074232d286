"""DLPack both ways: our tensors as capsules for PyTorch, JAX, NumPy and others, and their GPU memory as our leaves.

On a GPU two libraries queue their work in two streams. Neither host waits: the consumer names its stream, which then waits for
the producer's (the standard of the array API for ``__dlpack__(stream=..)``).
"""

import ctypes

import numpy as np

from . import arrays, errors
from ._library import address, ffi, lib
from .context import _exiting, again

CPU, CUDA = 1, 2
LEGACY_DEFAULT_STREAM = 1
_of_capsules = ("New", "IsValid", "GetPointer", "SetName")
_new, _valid, _pointer, _rename = (getattr(ctypes.pythonapi, f"PyCapsule_{name}") for name in _of_capsules)
_new.restype, _new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
# The capsule is passed by its address: while it is being freed, Python may not hold it as an object.
_valid.argtypes = _pointer.argtypes = _rename.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
_pointer.restype = ctypes.c_void_p
# A capsule's name, by whether it is versioned: before a consumer takes it over, and after. Capsules point to these
# texts.
NAMES = {False: b"dltensor", True: b"dltensor_versioned"}
USED = {False: b"used_dltensor", True: b"used_dltensor_versioned"}
STRUCTS = {False: "binding_dl_managed", True: "binding_dl_versioned"}
READ_ONLY = 1
# kDLInt, kDLUInt, kDLFloat and kDLBfloat, with the bits, by the library's dtype.
CODES = {
    lib.MO_F32: (2, 32), lib.MO_F64: (2, 64), lib.MO_F16: (2, 16), lib.MO_BF16: (4, 16),
    lib.MO_I32: (0, 32), lib.MO_I64: (0, 64), lib.MO_U8: (1, 8),
}  # fmt: skip
DTYPES = {code: dtype for dtype, code in CODES.items()}


def device_named(device):
    """(kind, number) of "cpu", "cuda" or "cuda:1"."""
    name, _, index = device.partition(":")
    return (CPU if name == "cpu" else CUDA), int(index or 0)


class Shared:
    """Held by a consumer on a GPU: at its release our stream waits for the work then queued in the consumer's stream."""

    def __init__(self, lent, context, stream):
        self.lent, self.context, self.stream = lent, context, stream

    def __del__(self):
        try:
            self.context._leave(_follow, (self.context._pointer, self.stream), self.lent)
        except KeyboardInterrupt:
            again()


def _follow(gate, streams):
    lib.gate_mo_context_order(gate, *streams, True)


def _order(context, stream):
    """Makes the consumer's stream wait for ours; returns the consumer's stream as the library's handle."""
    if stream == 0:
        raise BufferError("stream 0 is two streams of CUDA: 1 is the device's default one, 2 the thread's")
    handle = ffi.cast("void *", LEGACY_DEFAULT_STREAM if stream is None else stream)
    context.call(lib.gate_mo_context_order, context._pointer, handle, False)
    return handle


def capsule_of(tensor, max_version=None, dl_device=None, copy=None, stream=None):
    """A capsule that shares the tensor's memory: versioned and marked read-only if the consumer knows DLPack 1.

    stream: of a tensor on a GPU, where the consumer will read it: None or 1, the device's default stream; 2, the thread's; -1:
    the consumer orders the streams itself; else a cudaStream_t as a number, which lives as long as the capsule.
    """
    if copy or (dl_device is not None and tuple(dl_device) != device_named(tensor.context.device)):
        raise BufferError("a tensor is given as it is: no copy, and no other device")
    context, lent = tensor.context, tensor._lent()
    if device_named(context.device)[0] == CUDA and stream != -1:
        lent = Shared(lent, context, _order(context, stream))
    view = context.call(lib.gate_mo_tensor_view, tensor._live())
    versioned = max_version is not None and max_version[0] >= 1
    managed = ffi.new(STRUCTS[versioned] + " *")
    if versioned:
        managed.major, managed.flags, managed.deleter = 1, READ_ONLY, lib.binding_dl_free_versioned
    else:
        managed.deleter = lib.binding_dl_free
    T, shape, strides = managed.tensor, ffi.new("int64_t[]", list(view.shape)), ffi.new("int64_t[]", list(view.stride))
    T.data, T.ndim, T.shape, T.strides, T.lanes = view.data, view.ndim, shape, strides, 1
    (T.device_type, T.device_id), (T.code, T.bits) = device_named(context.device), CODES[view.dtype]
    managed.state = arrays.lend((lent, managed, shape, strides))
    return _new(address(managed), NAMES[versioned], address(lib.binding_dl_drop))


@ffi.def_extern("binding_dl_free")
@ffi.def_extern("binding_dl_free_versioned")
def _free(managed):
    """Called when a consumer no longer needs the memory."""
    arrays.binding_done(managed.state)


@ffi.def_extern()
def binding_dl_drop(capsule):
    """Called when a capsule is freed: releases its memory unless a consumer has taken it over and so renamed it."""
    at = address(capsule)
    for versioned, name in NAMES.items():
        if _valid(at, name):
            arrays.binding_done(ffi.cast(STRUCTS[versioned] + " *", _pointer(at, name)).state)


class Guest:
    """Memory of another library, returned when this object is freed; work queued in the context can still read it."""

    def __init__(self, context, managed):
        self.context, self.managed = context, managed

    def __del__(self):
        try:
            if not _exiting:  # at exit, the owner may be gone already
                lib.mo_context_wait(self.context._pointer)
                self.managed.deleter(self.managed)
        except KeyboardInterrupt:
            again()


def is_on_gpu(value):
    """Whether a value is memory of a GPU."""
    device = getattr(value, "__dlpack_device__", None)
    return device is not None and not isinstance(value, np.ndarray) and device()[0] == CUDA


def imported(value, context, dtype=None):
    """A tensor outside any tape that shares another library's GPU memory; it is read after that library's queued work.

    The owner gets it back once nothing of ours reads it; the host waits for that.
    """
    if dtype is not None:
        raise errors.MismatchError(f"dtype {dtype} of memory on a GPU, expected None: it is taken as it is")
    device = tuple(int(part) for part in value.__dlpack_device__())
    if device != device_named(context.device):
        raise errors.MismatchError(f"memory of device cuda:{device[1]}, expected the context's: {context.device}")
    try:
        capsule = value.__dlpack__(stream=context.stream, max_version=(1, 0))
    except TypeError:  # a producer from before DLPack 1
        capsule = value.__dlpack__(stream=context.stream)
    versioned = bool(_valid(id(capsule), NAMES[True]))
    managed = ffi.cast(STRUCTS[versioned] + " *", _pointer(id(capsule), NAMES[versioned]))
    T, view = managed.tensor, ffi.new("mo_view *")
    if not (T.lanes == 1 and (T.code, T.bits) in DTYPES and 0 <= T.ndim <= arrays.MAX_AXES):
        raise errors.MismatchError(f"memory of a {type(value).__name__}: a dtype or number of axes that is not the library's")
    view.data, view.dtype, view.ndim = ffi.cast("char *", T.data) + T.byte_offset, DTYPES[T.code, T.bits], T.ndim
    step = 1
    for i in reversed(range(T.ndim)):
        view.shape[i], view.stride[i] = T.shape[i], T.strides[i] if T.strides else step
        step *= T.shape[i]
    _rename(id(capsule), USED[versioned])
    return arrays.wrap(context, view, Guest(context, managed))
