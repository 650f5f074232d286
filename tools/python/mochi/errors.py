"""Errors of the library as exceptions, each with the library's message."""

import re
from typing import Any

from ._library import ffi, lib


class Error(Exception):
    """Any failure inside the library.

    Attributes
    ----------
    code : str
        The library's name of the kind: "invalid", "mismatch", "numerical", "format", "io", "memory", "unsupported", "state".
    where : str
        File and line of the library's source that raised it; "" for an error of the Python layer itself.
    """

    code = ""
    where = ""


class InvalidError(Error, ValueError):
    """An argument, shape, index or label out of its domain."""


class MismatchError(Error, TypeError):
    """Two arguments differ in dtype, device, tape or context."""


class NumericalError(Error, FloatingPointError):
    """A matrix is not positive definite or singular, a value is not finite, an iteration did not converge."""


class FormatError(Error, ValueError):
    """A file is not what it claims to be."""


class FileError(Error, OSError):
    """The operating system refused."""


class OutOfMemoryError(Error, MemoryError):
    """Out of memory, or a size that overflows."""


class UnsupportedError(Error, NotImplementedError):
    """Valid, but this build, device or op cannot do it."""


class StateError(Error, RuntimeError):
    """Called at the wrong time: a tensor of a released tape, a value that backward has released."""


class BusyError(StateError):
    """Another thread is inside the context."""


class ForkError(StateError):
    """The context belongs to the process that this one was forked from."""


class DataWarning(UserWarning):
    """Data are read otherwise than they are written: left out, renamed, or taken as unknown."""


class EstimateWarning(UserWarning):
    """A figure rests on few labels or rows."""


KINDS = (
    InvalidError, MismatchError, NumericalError, FormatError, FileError, OutOfMemoryError, UnsupportedError, StateError,
)  # fmt: skip
CODES = ("invalid", "mismatch", "numerical", "format", "io", "memory", "unsupported", "state")
for _kind, _code in zip(KINDS, CODES, strict=True):
    _kind.code = _code
# Exceptions of Python functions that the library has called, by the address of the context: the call that fails
# because of one raises it again.
pending: dict[int, BaseException] = {}


def hold(context, exception):
    """Keeps an exception of a Python function until the library's call returns: the first one, or a KeyboardInterrupt."""
    if isinstance(exception, Exception):
        pending.setdefault(context, exception)
    else:
        pending[context] = exception


def drop(context):
    """Drops the exception of a Python function if the call succeeded anyway; raises a KeyboardInterrupt."""
    held = pending.pop(context, None)
    if held is not None and not isinstance(held, Exception):
        raise held


def heed(context):
    """Raises the KeyboardInterrupt of a Python function that the library has called; leaves other exceptions."""
    held = pending.get(context)
    if held is not None and not isinstance(held, Exception):
        raise pending.pop(context)


def code_of(exception):
    """The library's number of the kind of an exception."""
    for number, kind in enumerate(KINDS, 1):
        if isinstance(exception, kind):
            return number
    return lib.MO_MEMORY if isinstance(exception, MemoryError) else lib.MO_STATE


def last(context):
    """The exception of this thread's last call into the context of that address; None if the call went well."""
    failure = lib.binding_failed()
    if failure == lib.BINDING_FINE:
        drop(context)
        return None
    if failure == lib.BINDING_BUSY:
        return BusyError("another thread is inside this context; give each thread a context of its own")
    if failure == lib.BINDING_FORKED:
        return ForkError("this context belongs to the process that this one was forked from; make a new one here")
    held = pending.pop(context, None)
    return held if held is not None else of_status(lib.binding_error())


def _axes(match):
    """The library's "axes 0x4, expected bits below 2, or .." with the axes' numbers in place of the bits."""
    bits, n = int(match[1], 16), int(match[2])
    named = [i if i < 16 else i - 32 for i in range(32) if bits >> i & 1]
    return f"axis {', '.join(map(str, named))}, expected {-n} to {n - 1}"


def _one_axis(match):
    """The library's "expected one axis, MO_AXIS(i), found the set 0x3" with the axes' numbers in place of the bits."""
    found = [i if i < 16 else i - 32 for i in range(32) if int(match[1], 16) >> i & 1]
    return f"expected one axis, found {', '.join(map(str, found)) or 'none'}"


# The library's C names, by Python's names.
WORDS: tuple[tuple[str, Any], ...] = (
    (r"axes 0x(\w+), expected bits below (\d+), or MO_AXIS\(-\d+\) to MO_AXIS\(-1\)", _axes),
    (r"expected one axis, MO_AXIS\(i\), found the set 0x(\w+)", _one_axis), (r"MO_RETAIN", "retain=True"),
    (r"MO_ALLOW_UNUSED", "allow_unused=True"), (r"MO_CREATE_GRAPH", "create_graph=True"), (r"in MO_EVAL", 'in mode "eval"'),
    (r"MO_AXIS\((-?\w+)\)", r"axis=\1"), (r"continue its run with --resume", "continue its run with resume=True"),
    (r"\blambda\b", "lam"), (r"\bx_star\b", "x"), (r"mo_tape_reset", "Tape.reset"), (r"mo_tape_release", "Tape.release"),
    (r"raise --memory \(memory of the context's options\)", "raise memory of mochi.Context(memory=..)"),
    (r"call fesetenv\(FE_DFL_ENV\) before it", "undo what set this, such as torch.set_flush_denormal(True)"),
)  # fmt: skip


def _in_python(message):
    for pattern, word in WORDS:
        message = re.sub(pattern, word, message)
    return message


def of_status(status):
    """The exception of a status of the library."""
    error = KINDS[status.code - 1](_in_python(ffi.string(status.message).decode(errors="replace")))
    error.where = f"{ffi.string(status.file).decode()}:{status.line}" if status.file else ""
    return error
