"""What holds a graph, as the arrays of the library's .npz form (train/FORMATS.md)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import errors

_MASKS = {"train": "train", "validation": "val", "test": "test"}


def array_of(value):
    """An array of NumPy of an array of any library, on any device."""
    for method in ("detach", "cpu"):
        value = getattr(value, method)() if hasattr(value, method) else value
    return np.asarray(value)


# ---- parts of a graph: {"nodes", "u", "v", "x", "y", "names", "division"} ----


def parts_of(source, x, y, nodes):
    """Nodes, ends of edges u and v; and, where there are any, attributes, labels, names and the division."""
    if hasattr(source, "adjacency") and hasattr(source, "offsets"):  # a mochi.Graph
        indptr, column = source.adjacency
        parts = {"nodes": source.nodes, "u": np.repeat(np.arange(source.nodes), np.diff(indptr)), "v": column.astype(np.int64)}
        parts.update(x=source.x, y=source.y, names=source.names)
    elif hasattr(source, "edge_index"):
        parts = _of_pyg(source)
    elif hasattr(source, "ndata") and hasattr(source, "edges"):
        parts = _of_dgl(source)
    elif hasattr(source, "nodes") and hasattr(source, "is_directed"):
        parts = _of_networkx(source, x, y)
    elif hasattr(source, "tocoo"):
        parts = _of_sparse(source)
    else:
        parts = _of_edges(source, nodes)
    x, y = (_attribute(source, parts, a) if isinstance(a, str) else a for a in (x, y))
    parts["x"] = x if x is not None else parts.get("x")
    parts["y"] = y if y is not None else parts.get("y")
    if nodes is not None and nodes != parts["nodes"]:
        raise errors.InvalidError(f"graph: nodes is {nodes}, the source has {parts['nodes']}")
    return parts


def _attribute(source, parts, name):
    found = parts.get("attributes", {})
    if name not in found:
        known = ", ".join(map(str, found)) or "none"
        raise errors.InvalidError(f"graph: no attribute {name!r} of the nodes of a {type(source).__name__}; found: {known}")
    return found[name]


def _of_sparse(matrix):
    if matrix.shape[0] != matrix.shape[1]:
        raise errors.InvalidError(f"graph: a matrix {list(matrix.shape)}, expected a square one")
    entries = matrix.tocoo()
    kept = entries.data != 0
    return {"nodes": matrix.shape[0], "u": entries.row[kept].astype(np.int64), "v": entries.col[kept].astype(np.int64)}


def _of_edges(edges, nodes):
    ends = array_of(edges)
    if ends.ndim != 2 or 2 not in ends.shape or ends.dtype.kind not in "iu":
        raise errors.InvalidError(
            f"graph: {type(edges).__name__} of {ends.dtype} {list(ends.shape)}, expected a graph, or edges [edges, 2] of integers"
        )
    u, v = (ends.T if ends.shape[1] == 2 else ends).astype(np.int64)
    known = int(max(u.max(initial=-1), v.max(initial=-1))) + 1
    return {"nodes": known if nodes is None else nodes, "u": u, "v": v}


def _of_networkx(g, x, y):
    names = list(g.nodes)
    number = {name: i for i, name in enumerate(names)}
    ends = np.array([(number[e[0]], number[e[1]]) for e in g.edges], np.int64).reshape(-1, 2)
    parts: dict[str, Any] = {"nodes": len(names), "u": ends[:, 0], "v": ends[:, 1], "names": names, "attributes": {}}
    for attribute in {a for a in (x, y) if isinstance(a, str)}:
        values = [g.nodes[n].get(attribute) for n in names]
        if any(v is not None for v in values):
            parts["attributes"][attribute] = values
    if isinstance(x, str) and x in parts["attributes"]:
        rows = parts["attributes"][x]
        if any(row is None for row in rows):
            missing = names[[row is None for row in rows].index(True)]
            raise errors.InvalidError(f"graph: the node {missing!r} has no attribute {x!r}, which others have")
        parts["attributes"][x] = np.array([np.asarray(row, float).reshape(-1) for row in rows])
    return parts


def _of_pyg(data):
    u, v = array_of(data.edge_index).astype(np.int64)
    x, y = getattr(data, "x", None), getattr(data, "y", None)
    nodes = getattr(data, "num_nodes", None)
    if nodes is None:
        nodes = len(x) if x is not None else int(max(u.max(initial=-1), v.max(initial=-1))) + 1
    parts: dict[str, Any] = {"nodes": int(nodes), "u": u, "v": v, "attributes": {k: data[k] for k in _keys(data)}}
    parts["x"] = None if x is None else array_of(x)
    parts["y"] = None if y is None else array_of(y)
    masks = {part: getattr(data, f"{key}_mask", None) for part, key in _MASKS.items()}
    parts["division"] = {part: mask for part, mask in masks.items() if mask is not None}
    return parts


def _of_dgl(g):
    u, v = (array_of(end).astype(np.int64) for end in g.edges())
    parts = {"nodes": int(g.num_nodes()), "u": u, "v": v, "attributes": g.ndata}
    parts["x"] = array_of(g.ndata["feat"]) if "feat" in g.ndata else None
    parts["y"] = array_of(g.ndata["label"]) if "label" in g.ndata else None
    parts["division"] = {part: g.ndata[f"{key}_mask"] for part, key in _MASKS.items() if f"{key}_mask" in g.ndata}
    return parts


def _keys(data):
    keys = getattr(data, "keys", ())
    return list(keys() if callable(keys) else keys)


# ---- the .npz form ----


def members_of(parts):
    """(the arrays of the library's .npz form, the values of the classes or None)."""
    indptr, indices = _compressed(parts["u"], parts["v"], parts["nodes"])
    members = _rows("adj", indptr, indices, (parts["nodes"], parts["nodes"]))
    values = None
    if parts.get("x") is not None:
        members.update(_attributes(parts["x"], parts["nodes"]))
    if parts.get("y") is not None:
        examples = len(parts["offset"]) - 1 if "offset" in parts else parts["nodes"]
        members["labels"], values = number_classes(parts["y"], examples)
    if "offset" in parts:
        members["graph_offset"] = parts["offset"]
    masks = {part: array_of(mask) for part, mask in (parts.get("division") or {}).items()}
    for part in masks and _MASKS:  # the form has all parts, or none
        mask = masks.get(part, np.zeros_like(next(iter(masks.values()))))
        if mask.ndim == 1:
            members["idx_" + _MASKS[part]] = np.flatnonzero(mask)
        else:  # [nodes, divisions]
            members["splits_" + _MASKS[part]] = mask.T.astype(np.int8)
    return members, values


def _compressed(u, v, nodes):
    """Rows of the edges; the library's own checks name an end that is no node."""
    for end in (u, v):
        if len(end) and not (0 <= end.min() and end.max() < nodes):
            wrong = int(np.flatnonzero((end < 0) | (end >= nodes))[0])
            raise errors.InvalidError(f"graph: edge {wrong}: {u[wrong]}, {v[wrong]}, expected nodes 0 .. {nodes - 1}")
    order = np.argsort(u, kind="stable")
    return np.concatenate([[0], np.cumsum(np.bincount(u, minlength=nodes))]).astype(np.int64), v[order]


def _rows(name, indptr, indices, shape):
    return {f"{name}_shape": np.array(shape, np.int64), f"{name}_indptr": indptr, f"{name}_indices": indices.astype(np.int64)}


def _attributes(x, nodes):
    if hasattr(x, "tocsr"):
        rows = x.tocsr()
        rows.sum_duplicates()
        shape, indptr, column, value = rows.shape, rows.indptr.astype(np.int64), rows.indices, rows.data
    else:
        dense = array_of(x)
        if dense.ndim != 2 or dense.dtype.kind not in "biuf":
            raise errors.InvalidError(f"graph: x of {dense.dtype} {list(dense.shape)}, expected numbers [{nodes}, d]")
        shape, (row, column) = dense.shape, np.nonzero(dense)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(dense)))]).astype(np.int64)
        value = dense[row, column]
    if shape[0] != nodes:
        raise errors.InvalidError(f"graph: x {list(shape)}, expected a row for each of {nodes} nodes")
    value = np.asarray(value, np.float32)
    if not np.isfinite(value).all():
        raise errors.InvalidError("graph: x has numbers that are not finite in float32")
    return {**_rows("attr", indptr, column, shape), "attr_data": value}


def number_classes(values: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels of any type as classes: (int64 [n] of 0 .. C - 1, -1 where unlabelled; their values [C], rising).

    Parameters
    ----------
    values : array_like
        [n]; -1 and other negative whole numbers, None, NaN and "" mean unlabelled.
    n : int
        How many are expected.
    """
    array = np.asarray(values) if isinstance(values, (list, tuple)) else array_of(values)
    array = array.reshape(-1) if array.ndim == 2 and 1 in array.shape else array
    if array.shape != (n,):
        raise errors.InvalidError(f"labels {list(array.shape)}, expected one for each of {n} examples")
    known = ~np.array([_is_unlabelled(v) for v in array.tolist()], bool)
    found = np.array([array[i] for i in np.flatnonzero(known)])
    if found.dtype.kind == "f":
        if (found != np.floor(found)).any():
            raise errors.InvalidError(f"labels of {array.dtype}, expected classes, found {found[found != np.floor(found)][0]}")
        found = found.astype(np.int64)
    if found.dtype.kind not in "biuUS":
        raise errors.InvalidError(f"labels of {found.dtype}, expected whole numbers or texts")
    classes, number = np.unique(found, return_inverse=True)
    label = np.full(n, -1, np.int64)
    label[known] = number
    return label, classes


def _is_unlabelled(value):
    if value is None or value == "":
        return True
    return isinstance(value, (int, float)) and not isinstance(value, bool) and (value != value or value < 0)
