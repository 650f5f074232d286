"""Functions of Python that the library calls. An exception in one ends the library's call, which raises it again."""

from . import errors
from ._library import ffi, lib
from .inputs import input_of
from .tape import Visit
from .tensor import Tensor


def failed(context, exception, what):
    """Makes the library's call that runs a function of Python fail with its exception."""
    errors.hold(context.address, exception)
    text = f"{what}: {type(exception).__name__}: {exception}".encode(errors="replace")
    lib.door_raise(context.pointer, errors.code_of(exception), text)


def tensors(tape, pointers, n):
    """The n tensors of an array of the library, as tensors of the visit; None where there is none."""
    return [Tensor(pointers[i], tape) if pointers[i] else None for i in range(n)]


def struck(kind, exception, traceback):
    """Takes over what struck a callback outside of its own care: a signal before its first line, or after its last."""
    names = traceback.tb_frame.f_locals if traceback else {}
    t = names.get("t") or getattr(names.get("v"), "t", None) or getattr(names.get("c"), "t", None)
    if t is not None:
        failed(_context(t), exception, "function")


def visited(t, what, function):
    """Runs function(tape) for its tensor; returns the pointer, or the null tensor after an exception."""
    visit = None
    try:
        visit = Visit(t)
        with visit as tape:
            return input_of(function(tape), tape, None)
    except BaseException as exception:  # also KeyboardInterrupt: it goes on when the library's call has returned
        if visit is not None:
            visit.close()
        failed(_context(t), exception, what)
    return lib.mo_null_tensor(lib.mo_tape_context(t))


def _context(t):
    from .context import Context

    return Context.of(lib.mo_tape_context(t))


class Equations:
    """A residual with its Jacobian, as the state of a solver."""

    def __init__(self, residual, jacobian=None):
        self.residual, self.jacobian = residual, jacobian


@ffi.def_extern(onerror=struck)
def door_residual(t, x, theta, n, state):
    """F(x, theta) of a solver."""
    f = ffi.from_handle(state).residual
    return visited(t, "residual", lambda tape: f(Tensor(x, tape), *tensors(tape, theta, n)))


@ffi.def_extern(onerror=struck)
def door_jacobian(t, x, theta, n, state):
    """dF/dx of a solver."""
    f = ffi.from_handle(state).jacobian
    return visited(t, "jacobian", lambda tape: f(Tensor(x, tape), *tensors(tape, theta, n)))


@ffi.def_extern(onerror=struck)
def door_graph_code(t, inputs, n, state):
    """The function of `recompute`."""
    f = ffi.from_handle(state)
    return visited(t, "recompute", lambda tape: f(*tensors(tape, inputs, n)))


@ffi.def_extern(onerror=struck)
def door_function(t, inputs, n_in, out, n_out, state):
    """The function of `gradcheck`."""
    f = ffi.from_handle(state)

    def run(tape):
        results = f(*tensors(tape, inputs, n_in))
        results = results if isinstance(results, (list, tuple)) else (results,)
        if len(results) != n_out:
            raise errors.InvalidError(f"{len(results)} results, expected {n_out} as before")
        for i, result in enumerate(results):
            out[i] = input_of(result, tape, None)
        return results[0]

    null = visited(t, "function", run)
    for i in range(n_out):
        if not out[i]:
            out[i] = null
