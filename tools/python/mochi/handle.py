"""Library objects with their own release function (graphs, pools, optimisers), and structs of options."""

from __future__ import annotations

import os
from typing import Any, TypeVar

from . import errors
from ._library import address, ffi
from .context import Context, again

Self = TypeVar("Self", bound="Handle")


class Handle:
    """An object of a context, released by a gate (``lib.gate_mo_graph_release``) when Python lets it go.

    A subclass may name the gate as its attribute `release`. `keep` holds what the object borrows until it is gone.
    """

    release: Any = None

    def __init__(self, context: Context, pointer: Any, keep: Any = None, release: Any = None) -> None:
        self.context = context
        self._pointer = pointer
        self._keep = keep
        self._release = release or type(self).release
        context._handles.add(address(pointer))

    def _live(self) -> Any:
        """The library's pointer; raises `StateError` once the object is closed."""
        if not self._pointer:
            raise errors.StateError(f"the {type(self).__name__} is closed")
        return self._pointer

    def close(self) -> None:
        """Releases the object now, or, if a thread is inside its context, when that thread leaves."""
        pointer, self._pointer = self._pointer, None
        if pointer:
            self.context._leave(self._release, pointer, self._keep)
        self._keep = None

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self):
        try:
            if getattr(self, "_pointer", None):
                self.close()
        except KeyboardInterrupt:
            again()

    def __copy__(self) -> Any:
        """Both copies would release one pointer; a class that can be pickled is copied as that does."""
        remake, arguments = self.__reduce__()[:2]
        return remake(*arguments)

    def __reduce__(self) -> Any:
        raise errors.UnsupportedError(f"a {type(self).__name__} cannot be pickled or copied")


def struct(kind: str, **fields: Any) -> tuple[Any, list]:
    """A struct of options, and the objects it points to, which must live as long.

    Texts and paths become C's, objects of the library their pointers; None is left out, and `lam` is lambda.
    """
    made, kept = ffi.new(f"{kind} *"), []
    for name, value in fields.items():
        if hasattr(value, "_pointer"):
            kept.append(value)
            value = value._live() if hasattr(value, "_live") else value._pointer
        elif isinstance(value, (str, os.PathLike)):
            value = ffi.new("char[]", os.fsencode(value))
        if value is not None:
            kept.append(value)
            setattr(made, "lambda" if name == "lam" else name, value)
    return made, kept
