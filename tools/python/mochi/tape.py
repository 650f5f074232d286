"""The tape, which records ops and computes gradients."""

from __future__ import annotations

import collections
import contextlib
import contextvars
import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from numpy.typing import ArrayLike

from . import checked, errors
from ._library import address, ffi, lib
from .context import Context, again, default_context
from .tensor import Frame, Leaf, Tensor

MODES = ("record", "eval")  # as MO_RECORD, MO_EVAL
# The tapes that this thread, or this task of asyncio, has opened by ``with``, the innermost last.
_open: contextvars.ContextVar[tuple[Tape, ...]] = contextvars.ContextVar("open tapes", default=())
# Tapes by the address of the library's tape, for Python functions that the library calls.
_tapes: weakref.WeakValueDictionary[int, Tape] = weakref.WeakValueDictionary()
_stays: dict[int, Any] = {}  # kept for ever: Python does not learn when the library resets its own tape


class Core:
    """The library's tape. It outlives a reset of `Tape` while arrays share its memory."""

    __slots__ = ("_pointer", "address", "context", "kept", "lent", "owned", "frame", "gone", "__weakref__")

    def __init__(self, context, pointer, owned):
        self.context, self._pointer, self.owned = context, pointer, owned
        self.address = address(pointer)
        self.kept = []  # matrices and functions that nodes point to
        self.lent, self.gone, self.frame = 0, False, Frame()
        if owned:
            context._tapes[self.address] = context._deaths

    def __del__(self):
        try:
            if getattr(self, "owned", False):
                self.gone = True  # a finalizer can revive a Tape of the same garbage cycle, which must see this
                self.frame.alive = False
                self.context._leave(_release, self, self.kept)
        except KeyboardInterrupt:
            again()


def _release(gate, core):
    lib.gate_mo_tape_release(gate, core._pointer)
    if not lib.binding_failed():
        core.context._tapes.pop(core.address, None)


class Lent:
    """Held by every array that shares a value of the tape."""

    __slots__ = ("core",)

    def __init__(self, core):
        self.core = core
        core.lent += 1

    def __del__(self):
        try:
            self.core.lent -= 1
        except KeyboardInterrupt:
            again()


class Tape:
    """A tape: ops are executed when they are called, and recorded if an input needs a gradient.

    ``with mochi.Tape() as tape:`` makes it the tape of ops whose inputs are all leaves or arrays. Its tensors live
    until `reset`, which frees everything made on the tape at once.

    Parameters
    ----------
    mode : str
        "record", or "eval": nothing is recorded, and dropout is the identity.
    anomaly : bool
        An op whose result holds a NaN or an infinity raises `NumericalError`, which names op, output and index.
    context : Context
        None: this thread's default context.
    """

    __slots__ = ("context", "_gate", "_pointer", "_core", "_frame", "_mode", "_anomaly", "_depth", "__weakref__")

    def __init__(self, mode: str = "record", anomaly: bool = False, context: Context | None = None) -> None:
        self.context = context or default_context()
        self._gate = self.context._gate
        self._mode = checked.choice("Tape: mode", mode, MODES)
        self._anomaly, self._depth = checked.flag("Tape: anomaly", anomaly), 0
        self._frame = Frame()
        self._start()

    def _start(self):
        pointer = self.context.call(lib.gate_mo_tape_create, self.context._pointer, self._mode)
        core: Any = Core(self.context, pointer or self._fail(), owned=True)
        if self._anomaly:
            self.context.call(lib.gate_mo_tape_set_anomaly, pointer, True)
        core.frame = self._frame
        self._pointer, self._core = pointer, core  # in one statement, so that no signal comes between
        _tapes[core.address] = self

    @classmethod
    def _of(cls, pointer: Any) -> Tape:
        """The tape of a pointer of the library; one that the library made itself is borrowed."""
        known = _tapes.get(address(pointer))
        if known is not None and known._pointer == pointer:
            return known
        tape = cls.__new__(cls)
        tape.context = Context._of(lib.mo_tape_context(pointer))
        tape._gate, tape._pointer = tape.context._gate, pointer
        tape._mode, tape._anomaly, tape._depth = lib.MO_RECORD, False, 0
        tape._frame = Frame()
        tape._core = Core(tape.context, pointer, owned=False)
        return tape

    def _fail(self) -> NoReturn:
        """Raises the error of this thread's last call."""
        self.context._fail()

    def _check(self) -> None:
        """Raises the error of this thread's last call, if any."""
        self.context._check()

    def _lend(self) -> Lent:
        """An object that keeps the memory of the tape's values in place."""
        self._live()
        return Lent(self._core)

    def _holds(self, thing: Any) -> Any:
        """Keeps a thing until the tape is reset; returns it. For a tape that the library made, it is kept forever."""
        self._live()
        if self._core.owned:
            self._core.kept.append(thing)
        else:
            _stays[id(thing)] = thing
        return thing

    def reset(self) -> None:
        """Frees every tensor and node made on the tape; memory shared with an array is kept."""
        self._leave("reset")
        if self._core.lent:
            self._start()
        else:
            self._core.frame = self._frame
            self.context.call(lib.gate_mo_tape_reset, self._pointer)
            self._core.kept.clear()
            self.context._emptied(self._core.address)

    def release(self) -> None:
        """Frees the tape; its tensors raise `StateError` from then on."""
        self._leave("release")
        self._frame.alive = False
        self._pointer, self._core = ffi.NULL, None

    def _leave(self, what):
        self._live()
        if self._depth:
            raise errors.StateError(f"{what}: the tape is in use by the call that runs this function")
        left, self._frame = self._frame, Frame()  # first, so that a signal at any point leaves the tape usable
        left.alive = False

    def _live(self):
        if not self._pointer or self._core.gone:
            raise errors.StateError("the tape was released")

    def grad(
        self, y: Tensor | Sequence[Tensor], xs: Tensor | Sequence[Tensor], gs: Sequence[ArrayLike | None] | None = None,
        create_graph: bool = False, retain: bool = False, allow_unused: bool = False,
    ) -> list[Tensor]:  # fmt: skip
        """Gradients of y, a tensor or a list of them, in the tensors xs.

        Parameters
        ----------
        gs : list
            The adjoints of y; None: ones.
        create_graph : bool
            Record backward, so that the gradients can be differentiated.
        retain : bool
            Keep what backward needs, so that gradients of the same results can be taken again. Without it, backward frees
            every value that it has consumed and that Python does not hold.
        allow_unused : bool
            If a y depends on nothing that needs a gradient, return zeros instead of raising.

        Returns
        -------
        list of Tensor
            One for each of xs, of its shape.
        """
        from .inputs import list_of

        ys, xs = tensors_in("grad: y", y), tensors_in("grad: xs", xs)
        y_list, n = list_of(ys, self)
        x_list, m = list_of(xs, self)
        bars = [gs] if isinstance(gs, Tensor) else gs
        if bars is not None and len(bars) != n:
            raise errors.InvalidError(f"grad: {len(bars)} adjoints of {n} results")
        g_list = ffi.NULL if bars is None else list_of(bars, self, null=True)[0]
        out = ffi.new("mo_tensor *[]", m)
        flags = lib.MO_CREATE_GRAPH * bool(create_graph) + lib.MO_RETAIN * bool(retain)
        flags += lib.MO_ALLOW_UNUSED * bool(allow_unused)
        self._live()
        self._frame.spare()
        self.context.call(lib.gate_mo_grad, self._pointer, y_list, g_list, n, x_list, out, m, flags)
        return [Tensor(pointer, self) for pointer in out]

    def jvp(
        self, ys: Sequence[Tensor], xs: Sequence[Tensor], vs: Sequence[ArrayLike], create_graph: bool = False,
        allow_unused: bool = False,
    ) -> list[Tensor]:  # fmt: skip
        """Products of the Jacobian of ys with respect to xs and the directions vs: one for each of ys."""
        from .inputs import list_of

        y_list, n = list_of(tensors_in("jvp: ys", ys), self)
        x_list, m = list_of(tensors_in("jvp: xs", xs), self)
        v_list, k = list_of([vs] if isinstance(vs, Tensor) else vs, self)
        if k != m:
            raise errors.InvalidError(f"jvp: {k} directions of {m} tensors")
        out = ffi.new("mo_tensor *[]", n)
        flags = lib.MO_CREATE_GRAPH * bool(create_graph) + lib.MO_ALLOW_UNUSED * bool(allow_unused)
        self._live()
        self.context.call(lib.gate_mo_jvp, self._pointer, y_list, n, x_list, v_list, m, out, flags)
        return [Tensor(pointer, self) for pointer in out]

    def backward(self, loss: Tensor) -> None:
        """Adds the gradient of a scalar to every leaf that needs one (`Leaf.grad`)."""
        (loss,) = tensors_in("backward: the loss", [loss])
        self._live()
        self._frame.spare()
        self.context.call(lib.gate_mo_backward, self._pointer, loss._live())

    @property
    def nodes(self) -> int:
        """The number of ops recorded since the last reset."""
        return lib.mo_tape_nodes(self._pointer) if self._core and not self._core.gone else 0

    def __enter__(self) -> Tape:
        self._live()
        _open.set((*_open.get(), self))
        return self

    def __exit__(self, *error: object) -> None:
        tapes = _open.get()
        for i in reversed(range(len(tapes))):
            if tapes[i] is self:
                _open.set(tapes[:i])
                return

    def __reduce__(self):
        raise errors.UnsupportedError("a Tape cannot be pickled or copied: make a new one, and record on it again")

    def __repr__(self):
        return f"mochi.Tape({self.nodes} nodes)" if self._pointer else "mochi.Tape(released)"


def tensors_in(what: str, given: Any) -> list[Tensor]:
    """A tensor, or the tensors of a list, as a list; anything else is an error that begins with `what`."""
    listed = [given] if isinstance(given, Tensor) or not isinstance(given, Iterable) else list(given)
    for x in listed:
        if not isinstance(x, Tensor):
            raise errors.InvalidError(f"{what}: found {type(x).__name__} {x!r:.60}, expected a tensor (of mochi.parameter, or of an op)")
    return listed


class Idle(threading.local):
    """Tapes that nothing uses any more, for the thread's next calls: their memory is already allocated."""

    def __init__(self):
        self.tapes: collections.deque[Tape] = collections.deque(maxlen=4)

    def take(self, context: Context) -> Tape:
        """An empty tape. Resets the other free ones too: their nodes would keep dead leaves from being freed."""
        empty = []
        while self.tapes:
            tape = self.tapes.pop()
            with contextlib.suppress(errors.Error):  # fails for a tape from before a fork, or one that backward is using
                if tape.context is context:
                    tape.reset()
                    empty.append(tape)
        self.tapes.extend(empty[1:])
        return empty[0] if empty else Tape(context=context)


idle = Idle()


class Visit:
    """The period in which the library runs a Python function on a tape.

    Tensors made during it become invalid at its end, as the library can free them then.
    """

    def __init__(self, pointer):
        self.tape = Tape._of(pointer)
        self._before: Frame | None = None
        self._outer: tuple[Tape, ...] = ()

    def __enter__(self):
        tape = self.tape
        self._outer = _open.get()
        self._before = tape._frame
        tape._frame = Frame(outer=self._before)
        tape._depth += 1
        return tape.__enter__()

    def __exit__(self, *error):
        self.close()

    def close(self):
        """Ends the visit; if a signal interrupts it, a second call completes it."""
        if self._before is None:
            return
        if self.tape._frame is not self._before:
            made, self.tape._frame = self.tape._frame, self._before
            made.alive = False
            self.tape._depth -= 1
        _open.set(self._outer)
        self._before = None


def current_tape() -> Tape:
    """The innermost tape that this thread, or this task of asyncio, has opened by ``with``."""
    tapes = _open.get()
    if not tapes:
        raise errors.StateError("no tape is open, on which ops are computed: write this inside `with mochi.Tape():`")
    return tapes[-1]


__all__ = ["Leaf", "Tape", "current_tape"]
