"""DLPack both ways: our tensors as capsules for PyTorch, JAX, NumPy and others, and their memory of a GPU as our leaves.

On a GPU two libraries queue their work in two streams. Neither host waits: who takes memory over names its stream, and the
stream of who gives it is put before it (the standard of the array API for ``__dlpack__(stream=..)``).
"""

import ctypes

import numpy as np

from . import arrays, errors
from ._library import ffi, lib

CPU, CUDA = 1, 2
LEGACY_DEFAULT_STREAM = 1
_new, _valid = ctypes.pythonapi.PyCapsule_New, ctypes.pythonapi.PyCapsule_IsValid
_new.restype, _new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_valid.restype, _valid.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
_pointer, _rename = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_SetName
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_rename.restype, _rename.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)
# The names, by whether the capsule is versioned, before and after it is taken over; they must outlive the capsules.
NAMES = {False: b"dltensor", True: b"dltensor_versioned"}
USED = {False: b"used_dltensor", True: b"used_dltensor_versioned"}


def device_of(tensor):
    """(kind, number) of the tensor's device."""
    return device_named(tensor.context.device)


def device_named(device):
    """(kind, number) of "cpu", "cuda" or "cuda:1"."""
    name, _, index = device.partition(":")
    return (CPU if name == "cpu" else CUDA), int(index or 0)


class Shared:
    """What a consumer on a GPU holds: once it lets go, our stream goes behind what its stream holds by then."""

    def __init__(self, lent, context, stream):
        self.lent, self.context, self.stream = lent, context, stream

    def __del__(self):
        self.context.leave(_follow, (self.context.pointer, self.stream), self.lent)


def _follow(gate, streams):
    lib.gate_mo_context_order(gate, *streams, True)


def _order(context, stream):
    """Puts the consumer's stream behind ours; the handle as the library takes it."""
    if stream == 0:
        raise BufferError("stream 0 is two streams of CUDA: 1 is the device's default one, 2 the thread's")
    handle = ffi.cast("void *", LEGACY_DEFAULT_STREAM if stream is None else stream)
    context.call(lib.gate_mo_context_order, context.pointer, handle, False)
    return handle


def capsule_of(tensor, max_version=None, dl_device=None, copy=None, stream=None):
    """A capsule onto the tensor's memory: versioned, and marked read-only, where the consumer knows DLPack 1.

    stream: of a tensor on a GPU, where the consumer will read it: None or 1, the device's default stream; 2, the thread's; -1:
    it has seen to the order itself; else a cudaStream_t as a number, which lives as long as the capsule.
    """
    if copy or (dl_device is not None and tuple(dl_device) != device_of(tensor)):
        raise BufferError("a tensor is given as it is: no copy, and no other device")
    context, lent = tensor.context, tensor.lent()
    if device_of(tensor)[0] == CUDA and stream != -1:
        lent = Shared(lent, context, _order(context, stream))
    view = ffi.new("mo_view *", context.call(lib.gate_mo_tensor_view, tensor.pointer()))
    versioned = max_version is not None and max_version[0] >= 1
    state = arrays.lend(lent)
    struct = lib.door_dl_export(view, *device_of(tensor), versioned, state)
    if not struct:
        arrays.door_done(state)
        raise MemoryError("out of memory for a DLPack capsule")
    return _new(int(ffi.cast("uintptr_t", struct)), NAMES[versioned], int(ffi.cast("uintptr_t", lib.door_dl_dropper())))


def is_on_gpu(value):
    """Whether a value is memory of a GPU."""
    device = getattr(value, "__dlpack_device__", None)
    return device is not None and not isinstance(value, np.ndarray) and device()[0] == CUDA


def imported(value, context, dtype=None):
    """A tensor of no tape onto memory of the GPU that another library owns; read behind what that library has queued.

    The owner gets it back once nothing of ours reads it any more, for which the host waits.
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
    versioned = bool(_valid(capsule, NAMES[True]))
    managed = ffi.cast("void *", _pointer(capsule, NAMES[versioned]))
    view = ffi.new("mo_view *")
    guest = lib.door_dl_import(context.pointer, managed, versioned, view)
    if not guest:
        if view.ndim < 0:
            raise errors.MismatchError(f"memory of a {type(value).__name__}: a dtype or number of axes that is not the library's")
        raise MemoryError("out of memory for what a DLPack capsule holds")
    _rename(capsule, USED[versioned])
    tensor = lib.gate_mo_tensor_wrap(context.gate, context.pointer, view, lib.door_dl_giver(), guest)
    if not tensor:
        failure = lib.door_failed()
        lib.door_dl_done(guest)
        lib.door_put_failure(failure)
        context.fail()
    return tensor
