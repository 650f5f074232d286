"""Contexts: one device, a number of threads, and everything made in it. One thread at a time can use it."""

from __future__ import annotations

import _thread as threads
import atexit
import collections
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, NoReturn

from . import checked, errors
from ._library import address, ffi, lib

DEVICES = {"cpu": lib.MO_CPU, "cuda": lib.MO_CUDA}
MOST_THREADS = 1024  # as tensor/context.c
MATH = {"fp32": lib.MO_MATH_FP32, "tf32": lib.MO_MATH_TF32, "bf16": lib.MO_MATH_BF16}

lib.binding_open()
_thread = threading.local()
_most: list[int] = []  # [threads of the main thread's default context], once it has one
# Contexts by the address of the library's context, for Python functions that the library calls.
_contexts: weakref.WeakValueDictionary[int, Context] = weakref.WeakValueDictionary()
_exiting: list[bool] = []
atexit.register(_exiting.append, True)


class Context:
    """A device, its threads, and everything made in it.

    Tensors and tapes keep their context alive. A context serves one thread at a time: if a second thread calls while the first is
    inside, `BusyError` is raised. In a forked child every call raises `ForkError`. ``with mochi.Context(threads=1):`` makes it the
    thread's default context inside.

    Parameters
    ----------
    threads : int
        CPU threads that a kernel may use; None: the processors that this thread may run on, and no more than OMP_NUM_THREADS or
        ``threadpoolctl.threadpool_limits`` allow. Results do not depend on it.
    device : str
        "cpu", "cuda" or "cuda:1".
    math : str
        Arithmetic of float32 products: "fp32", "bf16" (factors are rounded) or, on a GPU, "tf32".
    device_memory : int
        Bytes of GPU memory that the context may hold; None: no bound.
    memory : int
        Bytes of host memory that the context may hold, beyond which `OutOfMemoryError` is raised; None: no bound.
    """

    def __init__(
        self, threads: int | None = None, device: str = "cpu", math: str = "fp32", device_memory: int | None = None,
        memory: int | None = None,
    ) -> None:  # fmt: skip
        name, colon, index = device.partition(":") if isinstance(device, str) else (device, "", "")
        if name not in DEVICES or math not in MATH or (colon and not (index.isascii() and index.isdigit())):
            raise errors.InvalidError(
                f"Context: device {device!r} and math {math!r}, expected cpu, cuda or cuda:1; {', '.join(MATH)}"
            )
        options = ffi.new("mo_context_options *")
        options.device, options.math = DEVICES[name], MATH[math]
        options.threads = 0 if threads is None else checked.whole("Context: threads", threads, 1, MOST_THREADS)
        options.index = checked.whole("Context: device", int(index or 0), 0, 2**31 - 1)
        if device_memory is not None:
            options.device_memory = checked.whole("Context: device_memory", device_memory, 1)
        if memory is not None:
            options.memory = checked.whole("Context: memory", memory, 1)
        options.go_on = lib.binding_go_on
        self.device, self.math, self.device_memory, self.memory = device, math, device_memory, memory
        self._own(lib.mo_context_create(options), owned=True)
        if not lib.mo_ok(self._pointer):
            raise errors.of_status(lib.mo_context_status(self._pointer))
        self.call(lib.gate_mo_register_ops, self._pointer)

    @classmethod
    def _of(cls, pointer: Any) -> Context:
        """The context of a pointer of the library; one that the library made itself is borrowed."""
        known = _contexts.get(address(pointer))
        if known is not None:
            return known
        borrowed = cls.__new__(cls)
        borrowed.device = "cpu" if lib.mo_context_device(pointer) == lib.MO_CPU else "cuda"
        borrowed.math, borrowed.device_memory, borrowed.memory = "fp32", None, None
        borrowed._own(pointer, owned=False)
        return borrowed

    def _own(self, pointer, owned):
        if not pointer:
            raise errors.OutOfMemoryError("Context: out of memory")
        self._pointer = pointer
        self.address = address(pointer)
        # An owned context frees its gate itself. In a garbage cycle, ffi.gc could free it before objects whose release
        # goes through it.
        gate = lib.binding_gate_create(pointer)
        self._gate = gate if owned else ffi.gc(gate, lib.binding_gate_free)
        self._handles: set[int] = set()  # addresses of the objects that live
        self._tapes = {}  # {a tape's address: how many leaves had died when the tape was last empty}
        self._owned = owned
        self._leaving: collections.deque[tuple] = collections.deque()  # (release function, pointer, what must live until then)
        self._dead: collections.deque[tuple] = collections.deque()  # (number, leaf) in the order of their deaths
        self._deaths = 0
        self._given_up = False
        self._outer: list[Context | None] = []  # the default contexts that `with` has put aside
        _contexts[self.address] = self

    @property
    def threads(self) -> int:
        """The number of threads that a kernel may use."""
        return lib.mo_context_threads(self._pointer)

    @property
    def counters(self) -> dict[str, int]:
        """The context's counts since it was made, by name (tensor/inside.h): bytes, peaks, factorizations."""
        found = self.call(lib.gate_mo_context_counters, self._pointer)
        return {name: getattr(found, name) for name, _ in ffi.typeof(found).fields}

    @property
    def stream(self) -> int:
        """The stream of the GPU in which the context queues its work, a cudaStream_t as a number; 0 on the CPU."""
        return address(self.call(lib.gate_mo_context_stream, self._pointer))

    def reset_peaks(self) -> None:
        """Resets the peaks among the counters to the current values."""
        self.call(lib.gate_mo_context_reset_peaks, self._pointer)

    @property
    def forked(self) -> bool:
        """Whether the context belongs to the process that this one was forked from."""
        return lib.binding_is_forked(self._gate)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a gate of the library and raises its error, if any; returns its result.

        Every function `mo_x` of the headers is here as ``lib.gate_mo_x``, whose first argument is the gate.
        """
        if self._leaving or self._dead:
            self._drain()
        result = function(self._gate, *arguments)
        if lib.binding_failed():
            self._fail()
        if errors.pending:
            errors.heed(self.address)
        return result

    def _check(self) -> None:
        """Raises the error of this thread's last call into the context, if any."""
        if lib.binding_failed():
            self._fail()

    def _fail(self) -> NoReturn:
        """Raises the error of this thread's last call into the context."""
        raise errors.last(self.address) or errors.StateError("the tape was released")

    def _leave(self, function: Callable[..., Any], pointer: Any, keep: Any = None) -> None:
        """Releases an object of the context by that gate once no thread is inside, and then lets `keep` go."""
        self._leaving.append((function, pointer, keep))
        if isinstance(pointer, ffi.CData):
            self._handles.discard(address(pointer))
        self._drain()

    def _bury(self, leaf: Any) -> None:
        """Releases a tensor of no tape once no tape of the context can point to it."""
        self._dead.append((self._deaths, leaf))
        self._deaths += 1
        self._drain()

    def _drain(self) -> None:
        """Releases objects that wait for their release, if no thread is inside."""
        if _exiting or not lib.binding_idle(self._gate):
            return
        failure = lib.binding_failed()  # of a call whose result is queried only after this finalizer
        self._drain_now()
        lib.binding_put_failure(failure)

    def _drain_now(self):
        while self._leaving:
            item = self._leaving.popleft()
            item[0](self._gate, item[1])
            if lib.binding_failed() == lib.BINDING_BUSY:
                self._leaving.append(item)
                return
        if self._dead:
            self._drain_dead()
        if self._given_up:
            self._release()

    def _drain_dead(self):
        oldest = self._deaths
        for tape, since in list(self._tapes.items()):
            if lib.mo_tape_nodes(ffi.cast("mo_tape *", tape)):
                oldest = min(oldest, since)
        while self._dead:
            item = self._dead.popleft()
            if item[0] >= oldest:
                self._dead.appendleft(item)
                return
            lib.gate_mo_tensor_release(self._gate, item[1])
            if lib.binding_failed() == lib.BINDING_BUSY:
                self._dead.appendleft(item)
                return

    def _emptied(self, tape: int) -> None:
        """Notes that the tape of that address has no nodes any more."""
        if tape in self._tapes:
            self._tapes[tape] = self._deaths

    def _release(self):
        if not (self._tapes or self._handles or self._leaving or self._dead):
            if lib.mo_context_release(self._pointer) == lib.MO_OK:
                self._given_up = False
                lib.binding_gate_free(self._gate)
            else:  # an object still lives, which the collector finalizes after the context
                lib.mo_clear_error(self._pointer)

    def __del__(self):
        try:
            if _exiting or not getattr(self, "_owned", False) or self.forked:
                return
            self._owned = False
            self._given_up = True
            self._drain()
        except KeyboardInterrupt:
            again()

    def __enter__(self) -> Context:
        self._outer.append(set_default_context(self))
        return self

    def __exit__(self, *error: object) -> None:
        set_default_context(self._outer.pop())

    def __repr__(self):
        math = "" if self.math == "fp32" else f", math={self.math!r}"
        memory = "".join(f", {name}={getattr(self, name)}" for name in ("device_memory", "memory") if getattr(self, name))
        return f"mochi.Context(threads={self.threads}, device={self.device!r}{math}{memory})"

    def __reduce__(self):
        return Context, (self.threads, self.device, self.math, self.device_memory, self.memory)


def failed(context, exception, what):
    """Makes the library's call that runs a function of Python fail with its exception."""
    errors.hold(context.address, exception)
    text = f"{what}: {type(exception).__name__}: {exception}".encode(errors="replace")
    lib.binding_raise(context._pointer, errors.code_of(exception), text)


def struck(kind, exception, traceback):
    """Handles an exception that a callback could not catch: a signal before its first line or after its last."""
    names = traceback.tb_frame.f_locals if traceback else {}
    t = names.get("t") or getattr(names.get("v"), "t", None) or getattr(names.get("c"), "t", None)
    pointer = names.get("ctx") or (t and lib.mo_tape_context(t))
    target = ffi.from_handle(names["state"]) if names.get("state") else None
    if target is not None and hasattr(target, "strike"):
        target.strike(exception)
    elif pointer:
        failed(Context._of(pointer), exception, "function")
    elif not isinstance(exception, Exception):
        again()


def again():
    """Has a Ctrl-C handled once more, after the finalizer in which it struck: Python ignores exceptions there."""
    threads.start_new_thread(_interrupt_later, ())


def _interrupt_later():
    time.sleep(0.01)
    threads.interrupt_main()


@ffi.def_extern(error=True, onerror=struck)
def binding_go_on(ctx, state):
    """The library's long computations call this now and then: Python runs the handlers of signals before it."""
    return True


def default_context() -> Context:
    """This thread's default context, made at first use: on the CPU, with the threads of `Context()`.

    It has no more threads than the main thread's default context or, in a forked process, than the one of its parent.
    """
    context = getattr(_thread, "context", None)
    if context is None or context.forked:
        made = Context()
        if _most and _most[0] < made.threads:
            made = Context(threads=_most[0])
        context = _set(made)
    return context


def _set(context):
    _thread.context = context
    if threading.current_thread() is threading.main_thread():
        _most[:] = [] if context is None else [context.threads]
    return context


def set_default_context(context: Context | None) -> Context | None:
    """Sets this thread's default context; returns the previous one."""
    if not (context is None or isinstance(context, Context)):
        raise errors.InvalidError(f"set_default_context: {context!r}, expected a Context or None")
    before = getattr(_thread, "context", None)
    _set(context)
    return before
