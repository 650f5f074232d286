"""Graphs: from SciPy, edge arrays, networkx, PyTorch Geometric, DGL, by name, and from files."""

from __future__ import annotations

import os
import pathlib
import tempfile
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import errors
from .._library import ffi, lib
from ..context import Context, default_context
from ..handle import Handle
from .sources import array_of, members_of, parts_of

TASKS = {"nc": lib.MO_TASK_NC, "lp": lib.MO_TASK_LP, "gc": lib.MO_TASK_GC}
DIVISION = {"train": lib.MO_DIVISION_TRAIN, "validation": lib.MO_DIVISION_VALIDATION, "test": lib.MO_DIVISION_TEST}
LARGEST_NAME = 200


class _Owned(Handle):
    """The library's graph, released once neither a `Graph` nor a readout of it holds it."""

    release = lib.gate_mo_graph_release


class Graph:
    """A graph, or a set of graphs laid one after another: undirected, without self-loops and repeated edges.

    Made by `graph` and `graph_set`. An example is what can be labelled: a node, or a graph of a set.

    Attributes
    ----------
    names : list or None
        What the nodes were called where they came from, such as the nodes of a graph of networkx.
    """

    def __init__(self, context: Context, pointer: Any, names: list | None = None, class_values: np.ndarray | None = None):
        self.context = context
        self._owned: _Owned | None = _Owned(context, pointer)
        self.names = names
        self._class_values = class_values
        self._number_of = None if names is None else {name: i for i, name in enumerate(names)}

    def owned(self) -> _Owned:
        """What keeps the library's graph; raises `StateError` once the graph is closed."""
        if self._owned is None:
            raise errors.StateError("the Graph is closed")
        return self._owned

    def pointer(self) -> Any:
        """The library's pointer; raises `StateError` once the graph is closed."""
        return self.owned().pointer()

    def close(self) -> None:
        """Lets the library's graph go, as soon as no readout of it needs it."""
        self._owned = None

    def __enter__(self) -> Graph:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    @property
    def name(self) -> str:
        """The name in messages."""
        return ffi.string(self.pointer().name).decode()

    @property
    def nodes(self) -> int:
        """The number of nodes, of all graphs of a set together."""
        return self.pointer().nodes

    @property
    def edges(self) -> int:
        """The number of undirected edges."""
        return self.pointer().nnz // 2

    @property
    def graphs(self) -> int:
        """The number of graphs: 1, or more in a set."""
        return self.pointer().graphs

    @property
    def examples(self) -> int:
        """The number of what can be labelled: of nodes, or of the graphs of a set."""
        return lib.mo_graph_examples(self.pointer())

    @property
    def tasks(self) -> list[str]:
        """What can be asked of the graph: "nc" (classes of nodes), "lp" (links), "gc" (classes of graphs)."""
        return [name for name, task in TASKS.items() if lib.mo_graph_has_task(self.pointer(), task)]

    @property
    def dropped(self) -> tuple[int, int]:
        """The numbers of self-loops and of repeated edges that were left out."""
        return self.pointer().dropped_loops, self.pointer().dropped_duplicates

    @property
    def adjacency(self) -> tuple[np.ndarray, np.ndarray]:
        """The adjacency in rows, as scipy.sparse.csr_matrix has it: indptr [nodes + 1] and indices [2 edges]."""
        p = self.pointer()
        return _copied(p.row_pointer, p.nodes + 1, np.int64), _copied(p.column, p.nnz, np.int32)

    @property
    def offsets(self) -> np.ndarray:
        """int64 [graphs + 1]: the first node of each graph, and the number of nodes."""
        return _copied(self.pointer().graph_offset, self.graphs + 1, np.int64)

    @property
    def x(self) -> np.ndarray | None:
        """float32 [nodes, d], the attributes of the nodes that the graph came with; None: it has none."""
        p = self.pointer()
        if not p.features:
            return None
        indptr = _copied(p.feature_pointer, p.nodes + 1, np.int64)
        dense = np.zeros((p.nodes, p.features), np.float32)
        row = np.repeat(np.arange(p.nodes), np.diff(indptr))
        dense[row, _copied(p.feature_column, p.feature_nnz, np.int32)] = _copied(p.feature_value, p.feature_nnz, np.float32)
        return dense

    @property
    def y(self) -> np.ndarray | None:
        """int64 [examples], the classes that the graph came with, 0 .. C - 1, -1 where unlabelled; None: it has none."""
        p = self.pointer()
        return _copied(p.label, p.n_labels, np.int64) if p.n_labels else None

    @property
    def classes(self) -> np.ndarray:
        """What the classes of `y` are called, [C]: names, or numbers."""
        if self._class_values is not None:
            return self._class_values
        p, number = self.pointer(), ffi.new("char[24]")
        if not p.class_name:
            return np.arange(p.classes)
        return np.array([ffi.string(lib.mo_graph_class_name(p, c, number)).decode() for c in range(p.classes)])

    def division(self, part: str) -> np.ndarray | None:
        """Whether each node is in a part of the division that came with the graph, bool [nodes]; None: none came.

        Of several divisions it is bool [divisions, nodes].

        Parameters
        ----------
        part : str
            "train", "validation" or "test".
        """
        if part not in DIVISION:
            raise errors.InvalidError(f"division {part!r}, expected one of {', '.join(DIVISION)}")
        p = self.pointer()
        if not p.division:
            return None
        chosen = _copied(p.division, p.divisions * p.nodes, np.uint8) == DIVISION[part]
        return chosen if p.divisions == 1 else chosen.reshape(p.divisions, p.nodes)

    def find(self, name: Any) -> int:
        """The number of an example of that name; a number is its own."""
        if self._number_of is not None and name in self._number_of:
            return self._number_of[name]
        if isinstance(name, str):
            found = lib.mo_graph_find_example(self.pointer(), name.encode())
        else:
            found = int(name) if isinstance(name, (int, np.integer)) and self.names is None else -1
        if not 0 <= found < self.examples:
            raise errors.InvalidError(f"{self.name}: {name!r} is none of its {self.examples} examples")
        return found

    def save(self, path: str | os.PathLike) -> None:
        """Writes the graph as .npz, which `mochi.graph` and the program read."""
        self.context.call(lib.gate_mo_graph_write, self.pointer(), os.fsencode(path))

    def __repr__(self) -> str:
        if self._owned is None:
            return "mochi.Graph(closed)"
        sets = f", graphs={self.graphs}" if self.graphs > 1 else ""
        return f"mochi.Graph({self.name!r}, nodes={self.nodes}, edges={self.edges}{sets}, classes={len(self.classes)})"

    def __reduce__(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "graph.npz")
            self.save(path)
            return _remade, (path.read_bytes(), self.name, self.names, self._class_values)


def graph(
    source: Any,
    x: Any = None,
    y: Any = None,
    nodes: int | None = None,
    name: str | None = None,
    context: Context | None = None,
) -> Graph:
    """A graph from what holds one.

    Parameters
    ----------
    source : str, path or object
        A data set's name (``mochi.graph_names()``) or file, in any format of train/FORMATS.md; a matrix of scipy.sparse
        [n, n], whose entries are edges; an array of edges [edges, 2] or [2, edges] of node numbers; a graph of networkx;
        a ``Data`` of PyTorch Geometric (edge_index, x, y, masks); a graph of DGL (edges(), ndata: feat, label, masks).
    x : array_like, scipy.sparse matrix or str
        Attributes of the nodes [n, d], in place of the source's; or the name of a node attribute of the source.
    y : array_like or str
        Labels of the nodes [n] of any type; -1, None, NaN and "" mean unlabelled. Or the name of a node attribute.
    nodes : int
        The number of nodes of an array of edges; None: the largest number and one.
    name : str
        In messages; None: as the source says.

    Source: train/graphs/

    Examples
    --------
    >>> square = mochi.graph([[0, 1], [1, 2], [2, 3], [3, 0]], y=["red", "blue", None, "red"])
    >>> square.nodes, square.edges, square.y.tolist(), square.classes.tolist()
    (4, 4, [1, 0, -1, 1], ['blue', 'red'])
    """
    context = context or default_context()
    if isinstance(source, Graph):
        return source
    if isinstance(source, (str, os.PathLike)):
        if x is not None or y is not None or nodes is not None:
            raise errors.InvalidError(f"graph: {source} has attributes and labels of its own, found x, y or nodes beside it")
        return _told(Graph(context, context.call(lib.gate_mo_graph_open, context.pointer, os.fsencode(source))))
    return _told(_assembled(context, parts_of(source, x, y, nodes), name))


def graph_set(sources: Sequence[Any], y: Any = None, name: str | None = None, context: Context | None = None) -> Graph:
    """A set of graphs, each with one label, for classes of graphs.

    Parameters
    ----------
    sources : sequence
        What `graph` takes, all with attributes of one width, or all without; y of one number is a graph's label.
    y : array_like
        A label of each graph, in place of theirs.
    """
    context = context or default_context()
    parts = [parts_of(source, None, None, None) for source in sources]
    if len(parts) < 2:
        raise errors.InvalidError(f"graph_set: {len(parts)} graphs, expected 2 or more")
    offset = np.cumsum([0] + [p["nodes"] for p in parts])
    whole = {
        "nodes": int(offset[-1]),
        "u": np.concatenate([p["u"] + o for p, o in zip(parts, offset, strict=False)]),
        "v": np.concatenate([p["v"] + o for p, o in zip(parts, offset, strict=False)]),
        "offset": offset,
    }
    if y is None and all(p.get("y") is not None for p in parts):
        y = np.concatenate([array_of(p["y"]).reshape(-1)[:1] for p in parts])
    whole["y"] = y
    xs = [p.get("x") for p in parts]
    if any(x is not None for x in xs):
        if any(x is None for x in xs) or len({x.shape[1] for x in xs}) > 1:
            raise errors.InvalidError("graph_set: attributes of several widths, expected one width or none")
        whole["x"] = np.concatenate([array_of(x.toarray() if hasattr(x, "toarray") else x) for x in xs])
    return _told(_assembled(context, whole, name))


def _told(made):
    """The graph, after a warning of what the library left out of its source."""
    if made.pointer().left_out:
        text = ffi.string(made.pointer().left_out).decode(errors="replace")
        warnings.warn(f"graph {made.name}: left out: {text}", stacklevel=3)
    return made


def graph_names(context: Context | None = None) -> list[str]:
    """The names of the data sets that are here: those that come with the library, and those in its data folder."""
    context = context or default_context()
    found: list[str] = []
    handle = ffi.new_handle(found)
    context.call(lib.gate_mo_graph_list, context.pointer, lib.door_graph_name, handle)
    return found


@ffi.def_extern()
def door_graph_name(name, path, embedded, state):
    """A data set that is here."""
    ffi.from_handle(state).append(ffi.string(name).decode())


def _copied(pointer, n, dtype):
    return np.frombuffer(ffi.buffer(pointer, n * np.dtype(dtype).itemsize), dtype).copy() if n else np.zeros(0, dtype)


def _assembled(context, parts, name):
    members, values = members_of(parts)
    label = "".join(c if c.isalnum() or c in "-_. " else "_" for c in name or "graph")[:LARGEST_NAME] or "graph"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, label + ".npz")
        np.savez(path, **members)
        made = context.call(lib.gate_mo_graph_open, context.pointer, os.fsencode(path))
    return Graph(context, made, parts.get("names"), values)


def _remade(data, name, names, class_values):
    context = default_context()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, name.replace("/", "_") + ".npz")
        path.write_bytes(data)
        made = context.call(lib.gate_mo_graph_open, context.pointer, os.fsencode(path))
    return Graph(context, made, names, class_values)
