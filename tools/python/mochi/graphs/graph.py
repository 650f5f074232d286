"""Graphs: from SciPy, edge arrays, networkx, PyTorch Geometric, DGL, by name, and from files."""

from __future__ import annotations

import os
import pathlib
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import checked, convert, errors
from .._library import ffi, lib
from ..context import Context, default_context
from ..handle import Handle
from ..tensor import arrays_of, lists_of
from . import aligned
from .grown import grown_parts
from .sources import array_of, members_of, parts_of

TASKS = {"nc": lib.MO_TASK_NC, "lp": lib.MO_TASK_LP, "gc": lib.MO_TASK_GC}
DIVISION = {"train": lib.MO_DIVISION_TRAIN, "validation": lib.MO_DIVISION_VALIDATION, "test": lib.MO_DIVISION_TEST}
LARGEST_NAME = 200


class Graph:
    """A graph, or a set of graphs laid one after another: undirected, without self-loops and repeated edges.

    Made by `graph` and `graph_set`. An example is what can be labelled: a node, or a graph of a set.

    Attributes
    ----------
    ignored : tuple of str
        Properties of the source's edges that were dropped: "weights" (those that are not numbers of 0 or more), "directions".
    """

    def __init__(
        self,
        context: Context,
        pointer: Any,
        names: list | None = None,
        class_values: np.ndarray | None = None,
        ignored: Sequence[str] = (),
    ):
        self.context = context
        self._owned: Handle | None = Handle(context, pointer, release=lib.gate_mo_graph_release)
        self._names = names  # None: read from the library's graph when first requested
        self._class_values = class_values
        self._number_of = None if names is None else {name: i for i, name in enumerate(names)}
        self.ignored = tuple(ignored)

    def _held(self) -> Handle:
        """The library's graph, for a readout that outlives this object; raises `StateError` once the graph is closed."""
        if self._owned is None:
            raise errors.StateError("the Graph is closed")
        return self._owned

    def _live(self) -> Any:
        """The library's pointer; raises `StateError` once the graph is closed."""
        return self._held()._live()

    def close(self) -> None:
        """Releases the library's graph once no readout needs it."""
        self._owned = None

    def __enter__(self) -> Graph:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    @property
    def name(self) -> str:
        """The name in messages."""
        return ffi.string(self._live().name).decode()

    @property
    def names(self) -> list | None:
        """The examples' names in the source, in the order of their numbers; None: they have only numbers."""
        if self._names is None and self._owned is not None:
            self._names = self._names_inside()
        return self._names

    def _names_inside(self):
        """The names as the library has them: numbers, or texts."""
        p, number = self._live(), ffi.new("char[24]")
        texts = (ffi.string(lib.mo_graph_example_name(p, i, number)).decode() for i in range(self.examples))
        return [int(text) if p.node_numbers else text for text in texts] if p.names else None

    @property
    def nodes(self) -> int:
        """The number of nodes; for a set, over all graphs."""
        return self._live().nodes

    @property
    def edges(self) -> int:
        """The number of undirected edges."""
        return self._live().nnz // 2

    @property
    def graphs(self) -> int:
        """The number of graphs: 1, or more in a set."""
        return self._live().graphs

    @property
    def examples(self) -> int:
        """The number of examples: of nodes, or of the graphs of a set."""
        return lib.mo_graph_examples(self._live())

    @property
    def tasks(self) -> list[str]:
        """The tasks that the graph supports: "nc" (classes of nodes), "lp" (links), "gc" (classes of graphs)."""
        return [name for name, task in TASKS.items() if lib.mo_graph_has_task(self._live(), task)]

    @property
    def dropped(self) -> tuple[int, int]:
        """The numbers of self-loops and of repeated edges that were left out."""
        return self._live().dropped_loops, self._live().dropped_duplicates

    @property
    def adjacency(self) -> tuple[np.ndarray, np.ndarray]:
        """The adjacency in CSR form, as in scipy.sparse.csr_matrix: indptr [nodes + 1] and indices [2 edges]."""
        p = self._live()
        return _copied(p.row_pointer, p.nodes + 1, np.int64), _copied(p.column, p.nnz, np.int32)

    @property
    def weights(self) -> np.ndarray | None:
        """The edges' weights, float32 [2 edges] in the order of `adjacency`; None: they are equal."""
        p = self._live()
        return _copied(p.weight, p.nnz, np.float32) if p.weight else None

    @property
    def offsets(self) -> np.ndarray:
        """int64 [graphs + 1]: the first node of each graph, and the number of nodes."""
        return _copied(self._live().graph_offset, self.graphs + 1, np.int64)

    @property
    def x(self) -> np.ndarray | None:
        """float32 [nodes, d], the node attributes that the graph came with; None: it has none."""
        p = self._live()
        if not p.features:
            return None
        indptr = _copied(p.feature_pointer, p.nodes + 1, np.int64)
        dense = np.zeros((p.nodes, p.features), np.float32)
        row = np.repeat(np.arange(p.nodes), np.diff(indptr))
        dense[row, _copied(p.feature_column, p.feature_nnz, np.int32)] = _copied(p.feature_value, p.feature_nnz, np.float32)
        return dense

    @property
    def columns(self) -> list[str] | None:
        """The names of the columns of `x`; None: they have none."""
        p = self._live()
        return [ffi.string(p.feature_name[j]).decode() for j in range(p.features)] if p.feature_name else None

    @property
    def scaled(self) -> str | None:
        """The columns of `x` that readouts bring to the scale of the others or leave out; None: they see `x` unchanged."""
        options = ffi.new("mo_feature_options *")
        made = self.context.call(lib.gate_mo_graph_scale, self._live(), options)
        with Handle(self.context, made, release=lib.gate_mo_graph_release) as read:
            told = read._live().scaled
            return ffi.string(told).decode() if told else None

    @property
    def y(self) -> np.ndarray | None:
        """int64 [examples], the classes that the graph came with, 0 .. C - 1, -1 if unlabelled; None: it has none."""
        p = self._live()
        return _copied(p.label, p.n_labels, np.int64) if p.n_labels else None

    @property
    def classes(self) -> np.ndarray:
        """The names or numbers of the classes of `y`, [C]."""
        if self._class_values is None:
            self._class_values = self._classes_inside()
        return self._class_values

    def _classes_inside(self):
        p, number = self._live(), ffi.new("char[24]")
        if not p.class_name:
            return np.arange(p.classes)
        texts = [ffi.string(lib.mo_graph_class_name(p, c, number)).decode() for c in range(p.classes)]
        return np.array([int(text) for text in texts]) if p.class_numbers else np.array(texts)

    def division(self, part: str) -> np.ndarray | None:
        """Which nodes are in a part of the division that came with the graph, bool [nodes]; None: none came.

        For several divisions, bool [divisions, nodes].

        Parameters
        ----------
        part : str
            "train", "validation" or "test".
        """
        if part not in DIVISION:
            raise errors.InvalidError(f"division {part!r}, expected one of {', '.join(DIVISION)}")
        p = self._live()
        if not p.division:
            return None
        chosen = _copied(p.division, p.divisions * p.nodes, np.uint8) == DIVISION[part]
        return chosen if p.divisions == 1 else chosen.reshape(p.divisions, p.nodes)

    def find(self, name: Any) -> int:
        """The number, 0 .. examples - 1, of the example with that name; without names, a number gives itself."""
        found = -1
        if self._number_of is not None:
            try:
                found = self._number_of.get(name, -1)
            except TypeError:
                pass  # a name that cannot be hashed
        elif isinstance(name, (str, int, np.integer)) and "\0" not in str(name):
            found = lib.mo_graph_find_example(self._live(), str(name).encode(errors="surrogatepass"))
        if isinstance(name, (bool, np.bool_)):  # True == 1, but True is not the name 1
            found = -1
        if not 0 <= found < self.examples:
            raise errors.InvalidError(f"{self.name}: {name!r} is none of its {self.examples} examples")
        return found

    def save(self, path: str | os.PathLike) -> None:
        """Writes the graph as .npz, which `mochi.graph` and the program read, with the names of its examples and classes.

        Names that are neither all numbers nor all texts are written as texts, with a warning. `ignored` is not written.
        """
        self.context.call(lib.gate_mo_graph_write, self._live(), os.fsencode(path))
        written = self._names_inside(), self._classes_inside().tolist()
        held = self.names, self.classes.tolist()
        for what, there, here in zip(("examples", "classes"), written, held, strict=True):
            if there != here:
                wrong, lost = next((a, b) for a, b in zip(here, there or [None] * len(here), strict=True) if a != b)
                became = "are left out" if there is None else f"became texts: {wrong!r} is {lost!r} there"
                warnings.warn(f"Graph.save: names of {what} {became}", errors.DataWarning, stacklevel=2)

    def grown(self, rows: Any, edges: Any = ()) -> Graph:
        """The graph with further nodes behind its own, for `FewShot.on`; it has no labels.

        Parameters
        ----------
        rows : dict, pandas.DataFrame, array_like or list of names
            Attributes of the new nodes, by name: rows, or dicts of values by the columns' names, as the graph has them (`columns`)
            or as its source had them (a text for columns like "served=hot"); a gap is filled as the source's were. An array [n, d]
            if the graph has no names; a list of names if it has no attributes. Other columns are refused by name.
        edges : array_like
            [m, 2] ends of new edges, by name, or by number without names; or [m, 3] with weights.

        Examples
        --------
        >>> mochi.graph([["a", "b"], ["b", "c"]]).grown(["d"], [["d", "a"]]).names
        ['a', 'b', 'c', 'd']
        """
        return _assembled(self.context, grown_parts(self, rows, edges), self.name, "grown")

    def to_scipy(self) -> Any:
        """The adjacency as a scipy.sparse.csr_array [nodes, nodes] of the weights, or ones."""
        from scipy import sparse

        (indptr, indices), weights = self.adjacency, self.weights
        values = np.ones(len(indices), np.float32) if weights is None else weights
        return sparse.csr_array((values, indices, indptr), (self.nodes, self.nodes))

    def to_networkx(self) -> Any:
        """A networkx.Graph of the nodes' names, with "weight" of edges, "x" (rows) and "y" (class names) if there are any."""
        import networkx

        made, (indptr, indices) = networkx.Graph(name=self.name), self.adjacency
        names = self.names if self.names is not None and self.graphs == 1 else list(range(self.nodes))
        row = np.repeat(np.arange(self.nodes), np.diff(indptr))
        made.add_nodes_from(names)
        told = ({},) * len(indices) if self.weights is None else ({"weight": w} for w in self.weights.tolist())
        made.add_edges_from((names[u], names[v], w) for u, v, w in zip(row, indices, told, strict=True) if u < v)
        if self.x is not None:
            networkx.set_node_attributes(made, dict(zip(names, self.x, strict=True)), "x")
        if self.y is not None and self.graphs == 1:
            known = {n: self.classes[c].item() for n, c in zip(names, self.y, strict=True) if c >= 0}
            networkx.set_node_attributes(made, known, "y")
        return made

    def to_pyg(self) -> Any:
        """A torch_geometric.data.Data: edge_index of both directions, edge_weight, x, y (-1: unlabelled), division masks."""
        import torch
        from torch_geometric.data import Data

        indptr, indices = self.adjacency
        ends = np.stack([np.repeat(np.arange(self.nodes), np.diff(indptr)), indices.astype(np.int64)])
        found = {"x": self.x, "y": self.y, "edge_weight": self.weights}
        for part, key in (("train", "train"), ("validation", "val"), ("test", "test")):
            mask = self.division(part)
            found[f"{key}_mask"] = mask if mask is None or mask.ndim == 1 else mask.T.copy()
        held = {key: torch.from_numpy(value) for key, value in found.items() if value is not None}
        return Data(edge_index=torch.from_numpy(ends), num_nodes=self.nodes, **held)

    def __repr__(self) -> str:
        if self._owned is None:
            return "mochi.Graph(closed)"
        sets = f", graphs={self.graphs}" if self.graphs > 1 else ""
        return f"mochi.Graph({self.name!r}, nodes={self.nodes}, edges={self.edges}{sets}, classes={len(self.classes)})"

    def __reduce__(self):
        made = self.context.call(lib.gate_mo_graph_arrays, self._live())
        with Handle(self.context, made, release=lib.gate_mo_arrays_release):
            members = arrays_of(self.context, made)
        return _remade, (members, self.name, self._names, self._class_values, self.ignored)


def graph(
    source: Any,
    x: Any = None,
    y: Any = None,
    nodes: int | Sequence | None = None,
    name: str | None = None,
    context: Context | None = None,
    weights: bool | str = True,
) -> Graph:
    """Makes a graph from a name, a file, arrays or an object of another library.

    Parameters
    ----------
    source : str, path or object
        A data set's name (`mochi data list`) or file, in any format of train/FORMATS.md; a matrix of scipy.sparse [n, n], or an
        array [n, n], whose nonzero entries are edges; an array of edges [edges, 2] or [2, edges] of node numbers, or [edges, 2]
        of names; a pandas table of edges: columns "source" and "target" (or "from" and "to", "src" and "dst", "node1"
        and "node2", "id1" and "id2"), or else its first two, and optionally "weight"; or a square adjacency by names; a graph of
        networkx; a ``Data`` of PyTorch Geometric (edge_index, x, y, masks); a graph of DGL (edges(), ndata: feat, label, masks);
        a `Graph`, returned unchanged if nothing else is given.
    x : array_like, scipy.sparse matrix, pandas.DataFrame, dict or str
        Node attributes [n, d], instead of the source's; or the name of a node attribute of the source. Columns of a table, or of
        an array of objects, may be numbers, booleans or texts: "yes" and "no" become 1 and 0, and each word of two nodes or more
        a column of 0 and 1; dates are refused. A gap (None, NaN, pandas.NA, "", "NA") becomes the column's median, and a 1 in a
        column that marks gaps. Readouts see columns of another scale brought to that of the others (`Graph.scaled`).
    y : array_like, pandas.Series, pandas.DataFrame, dict or str
        Labels of the nodes [n], all whole numbers, texts, bytes or bools; None, NaN, pandas.NA, masked entries, negative numbers
        and the texts "", "NaN", "NA", "N/A", "<NA>", "None", "null" (in any case), "?" and "-1" mean unlabelled. Or the name of
        a node attribute.
    nodes : int or sequence
        The number of nodes, for an array of edges; or the names of all nodes, also of those without edges. None: the nodes of the
        edges; for an array of numbers all numbers to the largest.
    name : str
        Name in messages; None: the source's.

    weights : bool or str
        Use the weights of the source's edges: values of a matrix, a table's column "weight", "weights", "w" or "edge_weight",
        "weight" of networkx, edge_weight; or the name of the column or attribute that holds them.
        Embeddings then propagate by the weighted adjacency; columns that count neighbours or walks count edges. An edge's weight
        is the largest of its entries; one of weight 0 is no edge.

    The names of the nodes (`Graph.names`) are in one order: those of networkx in that of `G.nodes`, those of nodes= as listed, all
    others, if they are whole numbers, by value, else as they first appear. An array or list as x or y follows this order; what has
    keys (a DataFrame or Series by its index, a dict) is aligned by them: a key that is no node is refused, as is, in x, a node
    without a row. The ids of a table are names, also if they are numbers.

    Edges have no directions: if the source has them, or weights that cannot be used, a warning says so, and `Graph.ignored` lists
    them.

    Source: train/graphs/

    Examples
    --------
    >>> square = mochi.graph([[0, 1], [1, 2], [2, 3], [3, 0]], y=["red", "blue", None, "red"])
    >>> square.nodes, square.edges, square.y.tolist(), square.classes.tolist()
    (4, 4, [1, 0, -1, 1], ['blue', 'red'])
    """
    plain = x is None and y is None and nodes is None and name is None
    plain = plain and not isinstance(weights, str) and checked.flag("graph: weights", weights)
    if isinstance(source, Graph) and plain and context in (None, source.context):
        return source
    context = context or (source.context if isinstance(source, Graph) else default_context())
    if isinstance(source, (str, os.PathLike)):
        if not plain:
            raise errors.InvalidError(f"graph: {source} has all of its own, found x, y, nodes, name or weights beside it")
        return _told(_converted(context, source) or Graph(context, context.call(lib.gate_mo_graph_open, context._pointer, os.fsencode(source))))
    return _told(_assembled(context, parts_of(source, x, y, nodes, weights), name, "graph"))


def _converted(context, path):
    """The graph of a file that the library does not read itself; None: it reads it."""
    if not os.path.exists(path) or not (form := convert.form_of(path)):
        return None
    try:
        members = form.read(pathlib.Path(path))
    except convert.Refused as error:
        raise errors.FormatError(str(error)) from error
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(convert.needed(path, error), name=error.name) from error
    name = pathlib.Path(path).name.split(".")[0]
    return _remade(members, _label(name), None, None, (), context)


def graph_set(
    sources: Any,
    y: Any = None,
    name: str | None = None,
    context: Context | None = None,
    weights: bool | str = True,
    x: Any = None,
    names: Sequence | None = None,
) -> Graph:
    """Makes a set of graphs, each with one label.

    Parameters
    ----------
    sources : sequence, dict, pandas.Series or torch_geometric.data.Batch
        Sources as for `graph`, all with attributes of one width or all without; a y of one number is a graph's label. The keys of
        a dict, or the index of a Series, are the graphs' names. A graph without nodes stands as one node without edges.
    y : array_like, pandas.Series, pandas.DataFrame or dict
        A label for each graph, instead of the sources': in their order, or by their names.
    weights : bool or str
        As for `graph`.
    x : sequence, dict, pandas.Series or str
        Attributes of the nodes of each graph, in the order of the sources or by their names; or the name of a node attribute.
    names : sequence
        The names of the graphs, `Graph.names`; None: the keys of the sources, if they have any.
    """
    context = context or default_context()
    given, names = _named_sources(sources, names)
    called = list(range(len(given))) if names is None else names
    of_each = _xs_of(x, called)
    parts = [parts_of(source, own, None, None, weights) for source, own in zip(given, of_each, strict=True)]
    if len(parts) < 2:
        raise errors.InvalidError(f"graph_set: {len(parts)} graphs, expected 2 or more")
    width = next((p["x"].shape[1] for p in parts if p.get("x") is not None and p["nodes"]), None)
    empty = [called[i] for i, p in enumerate(parts) if not p["nodes"]]
    if empty:
        warnings.warn(f"graph_set: graphs without nodes stand as one node: {aligned.some(empty)}", errors.DataWarning, stacklevel=2)
    parts = [p if p["nodes"] else _lone_node(p, width) for p in parts]
    offset = np.cumsum([0] + [p["nodes"] for p in parts])
    whole: dict[str, Any] = {
        "nodes": int(offset[-1]),
        "u": np.concatenate([p["u"] + o for p, o in zip(parts, offset, strict=False)]),
        "v": np.concatenate([p["v"] + o for p, o in zip(parts, offset, strict=False)]),
        "offset": offset,
        "names": names,
        **{key: [word for p in parts for word in p.get(key, ())] for key in ("ignored", "told", "unread")},
    }
    if any(p.get("weight") is not None for p in parts):
        every = [np.ones(len(p["u"]), np.float32) if p.get("weight") is None else p["weight"] for p in parts]
        whole["weight"] = np.concatenate(every)
    if y is None and any(p.get("y") is not None for p in parts):
        y = [_label_of(i, p.get("y")) for i, p in enumerate(parts)]
    whole["y"] = None if y is None else aligned.labels("graph_set: y", y, called)
    xs = [p.get("x") for p in parts]
    if any(x is not None for x in xs):
        if any(x is None for x in xs) or len({x.shape[1] for x in xs}) > 1:
            raise errors.InvalidError("graph_set: attributes of several widths, expected one width or none")
        whole["x"] = np.concatenate([array_of(x.toarray() if hasattr(x, "toarray") else x) for x in xs])
    return _told(_assembled(context, whole, name, "graph_set"))


def _named_sources(sources, names):
    """(the sources in a list, their names or None)."""
    keys = None
    if hasattr(sources, "to_data_list"):
        sources = sources.to_data_list()
    elif isinstance(sources, dict):
        keys, sources = list(sources), list(sources.values())
    elif hasattr(sources, "iloc") and not hasattr(sources, "columns"):
        keys, sources = sources.index.tolist(), sources.tolist()
    elif hasattr(sources, "columns") or hasattr(sources, "edge_index") or hasattr(sources, "is_directed"):
        raise errors.InvalidError(f"graph_set: a {type(sources).__name__}, expected several graphs, in a list or a dict by name")
    sources, names = list(sources), keys if names is None else list(names)
    if names is not None and (len(names) != len(sources) or len(set(names)) < len(names)):
        raise errors.InvalidError(f"graph_set: {len(names)} names of {len(sources)} graphs, expected a different one for each")
    if names == list(range(len(sources))):
        names = None
    return sources, names


def _xs_of(x, names):
    """The attributes, or their name, for each of the graphs of that name."""
    if x is None or isinstance(x, str):
        return [x] * len(names)
    if not isinstance(x, dict) and not (hasattr(x, "iloc") and not hasattr(x, "columns")):
        x = dict(zip(names, x, strict=True)) if len(x) == len(names) else {}
    missing = [name for name in names if name not in x]
    strangers = [key for key in x.keys() if key not in set(names)]
    if missing or strangers:
        raise errors.InvalidError(f"graph_set: x has nothing for {aligned.some(missing) or 'no graph'}, and something for "
                                  f"{aligned.some(strangers) or 'no other'}; expected attributes of each of {len(names)} graphs")
    return [x[name] for name in names]


def _lone_node(parts, width):
    """A graph without nodes, which is one node without edges, and has a label if it came with one."""
    made = {**parts, "nodes": 1, "x": None if width is None else np.zeros((1, width))}
    return made if parts.get("y") is None or len(array_of(parts["y"]).reshape(-1)) == 1 else {**made, "y": None}


def _told(made):
    """Returns the graph, after warning of what the library left out of its source."""
    if made._live().left_out:
        text = ffi.string(made._live().left_out).decode(errors="replace")
        warnings.warn(f"graph {made.name}: left out: {text}", errors.DataWarning, stacklevel=3)
    return made


def _label_of(i, y):
    label = [None] if y is None else array_of(y).reshape(-1).tolist()
    if len(label) != 1:
        raise errors.InvalidError(f"graph_set: graph {i} has {len(label)} labels, expected one; y= gives each graph its own")
    return label[0]


def _copied(pointer, n, dtype=np.int64):
    return np.frombuffer(ffi.buffer(pointer, n * np.dtype(dtype).itemsize), dtype).copy() if n else np.zeros(0, dtype)


def _assembled(context, parts, name, caller):
    ignored = sorted(set(parts.get("ignored", ())), reverse=True)
    if ignored:
        found, edges = " and ".join(ignored), len(parts["u"])
        text = f"edges have weights of 0 or more, and no directions, here; their {found} are ignored, of {edges} entries"
        warnings.warn(f"{caller}: {text}", errors.DataWarning, stacklevel=3)
    if parts.get("unread"):
        unread = ", ".join(dict.fromkeys(parts["unread"]))
        warnings.warn(f"{caller}: not read: {unread}; weights=NAME takes one as weights", errors.DataWarning, stacklevel=3)
    members, values = members_of(parts)
    told = sorted({*ignored, *parts.get("told", ())}, reverse=True)
    return _remade(members, _label(name), parts.get("names"), values, told, context)


def _label(name):
    """A name in messages."""
    return "".join(c if c.isalnum() or c in "-_. " else "_" for c in name or "graph")[:LARGEST_NAME] or "graph"


def _remade(members, name, names, class_values, ignored, context=None):
    """Makes a graph from arrays in the library's .npz form."""
    context = context or default_context()
    with lists_of(context, members) as given:
        made = context.call(lib.gate_mo_graph_from_arrays, given._live(), name.encode(), name.encode())
    return Graph(context, made, names, class_values, ignored)
