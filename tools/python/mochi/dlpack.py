"""Tensors as DLPack capsules, for `from_dlpack` of NumPy, PyTorch, JAX and others."""

import ctypes

from . import arrays
from ._library import ffi, lib

CPU, CUDA = 1, 2
_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
# The names must outlive the capsules.
NAMES = {False: b"dltensor", True: b"dltensor_versioned"}


def device_of(tensor):
    """(kind, number) of the tensor's device."""
    name, _, index = tensor.context.device.partition(":")
    return (CPU if name == "cpu" else CUDA), int(index or 0)


def capsule_of(tensor, max_version=None, dl_device=None, copy=None):
    """A capsule onto the tensor's memory: versioned, and marked read-only, where the consumer knows DLPack 1."""
    if copy or (dl_device is not None and tuple(dl_device) != device_of(tensor)):
        raise BufferError("a tensor is given as it is: no copy, and no other device")
    context = tensor.context
    if device_of(tensor)[0] == CUDA:
        context.call(lib.gate_mo_context_wait, context.pointer)
    view = ffi.new("mo_view *", context.call(lib.gate_mo_tensor_view, tensor.pointer()))
    versioned = max_version is not None and max_version[0] >= 1
    state = arrays.lend(tensor.lent())
    struct = lib.door_dl_export(view, *device_of(tensor), versioned, state)
    if not struct:
        arrays.door_done(state)
        raise MemoryError("out of memory for a DLPack capsule")
    return _new(int(ffi.cast("uintptr_t", struct)), NAMES[versioned], int(ffi.cast("uintptr_t", lib.door_dl_dropper())))
