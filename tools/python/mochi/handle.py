"""Objects of the library that are released by a function of their own: graphs, pools, optimisers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import errors

if TYPE_CHECKING:
    from typing_extensions import Self

    from .context import Context


class Handle:
    """An object of a context, released when Python lets it go.

    A subclass names the gate that releases it: ``release = lib.gate_mo_graph_release``. `keep` holds what the object
    borrows until it is gone.
    """

    release: Any = None

    def __init__(self, context: Context, pointer: Any, keep: Any = None) -> None:
        self.context = context
        self._pointer = pointer
        self._keep = keep

    def pointer(self) -> Any:
        """The library's pointer; raises `StateError` once the object is closed."""
        if not self._pointer:
            raise errors.StateError(f"the {type(self).__name__} is closed")
        return self._pointer

    def close(self) -> None:
        """Releases the object now, or, if a thread is inside its context, when that thread leaves."""
        pointer, self._pointer = self._pointer, None
        if pointer:
            self.context.leave(type(self).release, pointer, self._keep)
        self._keep = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self):
        if getattr(self, "_pointer", None):
            self.close()
