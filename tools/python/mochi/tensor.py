"""Tensors of a tape, which live until it is reset, and leaves, which live as long as Python holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref as _reference

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import arrays, dlpack, errors
from ._library import ffi, lib
from .arrays import NAMES, number_of
from .context import Context, again, default_context
from .handle import Handle

if TYPE_CHECKING:
    from typing_extensions import Self

    from .tape import Tape


class Frame:
    """The lifetime of tensors: a tape's tensors exist until its next reset, a callback's until it returns.

    `held` are weak references to the tensors, so that backward spares the values of those that Python holds. `outer` is
    the frame that a callback interrupts; None of a tape's own.
    """

    __slots__ = ("alive", "outer", "held")
    alive: bool
    outer: Frame | None
    held: list[Any]

    def __init__(self, outer: Frame | None = None) -> None:
        self.alive, self.outer, self.held = True, outer, []

    def spare(self) -> None:
        """Keeps the values of all tensors that Python holds through the next backward."""
        for reference in self.held:
            tensor = reference()
            if tensor is not None:
                lib.mo_keep(tensor._pointer)
        if self.outer is not None:
            self.outer.spare()


FOREVER: Frame = Frame()


class Tensor:
    """A tensor of a tape: the result of an op.

    It supports +, -, *, /, @, ** and indexing with other tensors, arrays and numbers; every function of `mochi.ops` whose first
    input is a tensor is also a method. ``np.asarray(x)`` is a read-only view of its memory.
    """

    __slots__ = ("_pointer", "_tape", "_frame", "__weakref__")
    __hash__ = object.__hash__

    def __init__(self, pointer: Any, tape: Tape) -> None:
        self._pointer = pointer
        self._tape = tape
        self._frame = frame = tape._frame
        frame.held.append(_reference(self))

    @property
    def context(self) -> Context:
        """The context that the tensor belongs to."""
        return self._tape.context

    @property
    def tape(self) -> Tape | None:
        """The tape that made the tensor; None for a leaf."""
        return self._tape

    def _live(self) -> Any:
        """The library's pointer; raises `StateError` if the tensor is gone."""
        if not self._frame.alive:
            self._gone()
        return self._pointer

    def _gone(self):
        raise errors.StateError("the tensor is gone: its tape was reset or released, or its callback has returned")

    def _lent(self) -> Any:
        """What keeps the memory of the tensor where it is."""
        return self._tape._lend(), self

    @property
    def _passing(self) -> bool:
        """Whether the tensor was made in a callback, at whose end its memory can be freed."""
        return self._frame.outer is not None

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        pointer = self._live()
        return tuple(lib.mo_dim(pointer, i) for i in range(lib.mo_ndim(pointer)))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return lib.mo_ndim(self._live())

    @property
    def size(self) -> int:
        """The number of elements."""
        return lib.mo_numel(self._live())

    @property
    def dtype(self) -> str:
        """The name of the dtype, "float32", which is equal to NumPy's dtype too."""
        return NAMES[lib.mo_tensor_dtype(self._live())]

    @property
    def device(self) -> str:
        """Where the values lie: "cpu", "cuda" or "cuda:1"."""
        return self.context.device

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to the tensor."""
        return lib.mo_needs_grad(self._live())

    @property
    def name(self) -> str:
        """The name of a parameter; "" for any other tensor."""
        return ffi.string(lib.mo_tensor_name(self._live())).decode()

    def item(self) -> float:
        """The one element of a tensor of any shape with one element."""
        value = self.context.call(lib.gate_mo_item, self._live())
        return value if self.dtype.startswith(("float", "bfloat")) else int(value)

    def numpy(self) -> NDArray[Any]:
        """An array with a copy of the values."""
        return arrays.copy_of(self)

    def tolist(self) -> Any:
        """The values as numbers in lists, as NumPy's `tolist` gives them."""
        return self.numpy().tolist()

    def detach(self) -> Tensor:
        """The same values as data: no gradient flows through."""
        tape = self._tape
        return Tensor(tape.context.call(lib.gate_mo_stop_gradient, tape._pointer, self._live()), tape)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """A read-only view of the values; a copy if dtype differs or a callback made the tensor."""
        view = np.asarray(arrays.Export(self)) if self.context.device == "cpu" and not self._passing else self.numpy()
        if dtype is not None and view.dtype != dtype:
            if copy is False:
                raise ValueError(f"a view of {view.dtype} as {np.dtype(dtype)} needs a copy")
            return view.astype(dtype)
        return view.copy() if copy else view

    def __dlpack__(
        self, *, stream: Any = None, max_version: tuple[int, int] | None = None, dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:  # fmt: skip
        """The memory as a read-only DLPack capsule."""
        kept = constant(self.numpy(), context=self.context) if self._passing else self
        return dlpack.capsule_of(kept, max_version, dl_device, copy, stream)

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.device_named(self.context.device)

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a tensor without axes")
        return self.shape[0]

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)

    def __repr__(self):
        if not self._frame.alive:
            return "mochi.Tensor(gone)"
        kind = "Parameter" if self.name else "Tensor"
        try:
            values = np.array2string(self.numpy(), threshold=50, precision=5)
        except (errors.Error, MemoryError) as error:
            values = f"<{error}>"
        return f"mochi.{kind}({self.name + ', ' if self.name else ''}{list(self.shape)} {self.dtype}\n{values})"

    def __reduce__(self) -> tuple[Any, ...]:
        return constant, (self.numpy(),)


class Leaf(Tensor):
    """A tensor outside any tape: a parameter, or data that shares an array's memory; borrowed if a library object owns it."""

    __slots__ = ("_context", "_readonly", "_borrowed")

    def __init__(self, pointer: Any, context: Context, readonly: bool = False, borrowed: bool = False) -> None:
        self._pointer = pointer
        self._tape = None
        self._frame = FOREVER
        self._context, self._readonly, self._borrowed = context, readonly, borrowed

    @property
    def context(self) -> Context:
        """The context that the tensor belongs to."""
        return self._context

    def _lent(self) -> Any:
        """What keeps the memory of the tensor where it is."""
        return self

    def detach(self) -> Tensor:
        """A constant with a copy of the values: no gradient flows through."""
        return constant(self.numpy(), context=self._context)

    def require_grad(self) -> Self:
        """Declares that gradients flow to the tensor, which has to be of float32 or float64; returns it."""
        self._context.call(lib.gate_mo_require_grad, self._pointer)
        return self

    @property
    def grad(self) -> NDArray[Any] | None:
        """The gradient that `Tape.backward` has added up, as an array; None if backward has not reached the leaf."""
        pointer = lib.mo_grad_of(self._pointer)
        if not pointer:
            return None
        return Leaf(pointer, self._context, borrowed=True).numpy()

    def zero_grad(self) -> None:
        """Sets the gradient to zero."""
        self._context.call(lib.gate_mo_zero_grad, self._pointer)

    def write(self, values: ArrayLike) -> None:
        """Overwrites the values by an array of the tensor's shape and dtype, or by numbers."""
        if self._readonly:
            raise errors.StateError("the tensor is a read-only array's memory")
        given = arrays.array_of(values, self.dtype)
        try:
            array = np.asarray(np.broadcast_to(given, self.shape), self.dtype, order="C")
        except ValueError:
            raise errors.InvalidError(f"write: values {list(given.shape)}, expected {list(self.shape)}, or a number") from None
        host = ffi.cast("void *", array.ctypes.data)
        self._context.call(lib.gate_mo_tensor_write, self._pointer, host, array.nbytes)

    def __setitem__(self, index: Any, values: ArrayLike) -> None:
        if index is not Ellipsis and index != slice(None):
            raise IndexError("a leaf is written as a whole: W[...] = values")
        self.write(values)

    def __del__(self) -> None:
        try:
            context = getattr(self, "_context", None)
            if context is not None and not self._borrowed:
                context._bury(self._pointer)
        except KeyboardInterrupt:
            again()

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (self.numpy(), self.name, self.requires_grad)


def arrays_of(context: Context, pointer: Any) -> dict[str, NDArray[Any]]:
    """Copies of the library's named tensors, by name."""
    return {
        ffi.string(item.name).decode(): Leaf(item.tensor, context, borrowed=True).numpy()
        for item in pointer.items[0 : pointer.count]
    }


def lists_of(context: Context, members: dict[str, Any]) -> Handle:
    """Arrays by name as the library's named tensors, on its device."""
    made = Handle(context, context.call(lib.gate_mo_arrays_create, context._pointer), release=lib.gate_mo_arrays_release)
    for name, array in members.items():
        copy = arrays.uploaded(context, np.asarray(array))
        context.call(lib.gate_mo_arrays_take, made._live(), name.encode(), copy)
    return made


def parameter(
    values: ArrayLike, name: str | None = None, dtype: DTypeLike | None = None, context: Context | None = None
) -> Leaf:
    """A leaf with a copy of the values, to which gradients flow.

    Parameters
    ----------
    values : array_like
        float32 or float64; numbers of other types, and lists, become float32.
    name : str
        The name in error messages and printed graphs.
    dtype : str
        "float32" or "float64"; None: as the values are.
    """
    context = context or default_context()
    array = arrays.array_of(values, "float32" if dtype is None else dtype)
    real = dtype if dtype is not None else (array.dtype if array.dtype in ("float32", "float64") else "float32")
    array = np.asarray(array, real, order="C")
    shape = ffi.new("int64_t[]", array.shape or (0,))
    text = ffi.NULL if name is None else name.encode()
    pointer = context.call(lib.gate_mo_parameter, context._pointer, text, number_of(array.dtype), array.ndim, shape)
    leaf = Leaf(pointer, context)
    leaf.write(array)
    return leaf


def constant(values: ArrayLike, dtype: DTypeLike | None = None, context: Context | None = None) -> Leaf:
    """A leaf that shares the memory of an array: NumPy's, or any object with ``__dlpack__`` or the buffer protocol.

    Nothing is copied unless the library cannot read the memory as it is (integers of other widths, bool apart, another byte
    order, negative strides), `dtype` differs, or the context is on another device. The memory must not change while a tape
    holds results of it. GPU memory needs a context on that GPU, whose stream then waits for the owner's.
    """
    context = context or default_context()
    if dlpack.is_on_gpu(values) and (context.device != "cpu" or not isinstance(values, Tensor)):
        return Leaf(dlpack.imported(values, context, dtype), context, readonly=True)
    if isinstance(values, Tensor):
        values = values.numpy()
    array = arrays.array_of(values, dtype or "float32")
    if dtype is not None:
        array = array.astype(np.dtype(dtype), copy=False)
    return Leaf(arrays.placed(context, array), context, readonly=not array.flags.writeable and context.device == "cpu")


def _remade(array, name, requires_grad):
    if requires_grad:
        return parameter(array, name or None)
    return constant(array)
