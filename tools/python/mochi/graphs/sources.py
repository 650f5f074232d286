"""Converts sources of graphs to arrays of the library's .npz form (train/FORMATS.md)."""

from __future__ import annotations

import collections
import re
import warnings
from typing import Any

import numpy as np

from .. import checked, errors
from ..convert.archive import in_order, is_unknown, pointers
from . import aligned

LARGEST = 2**63
MOST_NODES = 2**31 - 2  # as train/graphs/graph_build.h: numbers of nodes are int32
WEIGHTS_OF_DGL = ("weight", "w", "edge_weight")
FREE_NODES, GAP_PER_EDGE = 2**20, 100  # the nodes that an array of numbers can claim, and each edge beside
_NEGATIVE, _POINT_ZERO = re.compile(r"-[0-9]+(\.0*)?"), re.compile(r"[0-9]+(\.0*)")
_PAIRS = (
    ("source", "target"), ("from", "to"), ("src", "dst"), ("node1", "node2"), ("node_1", "node_2"), ("id1", "id2"), ("id_1", "id_2"),
    ("sender", "recipient"), ("sender", "receiver"), ("citing", "cited"),
)  # fmt: skip
_WEIGHTS = ("weight", "weights", "w", "edge_weight")
_MASKS = {"train": "train", "validation": "val", "test": "test"}


def array_of(value):
    """A NumPy array from an array of any library, on any device."""
    if checked.is_masked(value):
        raise errors.InvalidError("an array with masked entries, expected all values")
    for method in ("detach", "cpu"):
        value = getattr(value, method)() if hasattr(value, method) else value
    return np.asarray(value)


# ---- parts of a graph: {"nodes", "u", "v", "weight", "x", "y", "names", "division", "offset", "ignored", "unread", "told"} ----


def parts_of(source, x, y, nodes, weights=True):
    """Nodes, ends of edges u and v; and, if present, weights, attributes, labels, names, the division, and what was ignored."""
    if nodes is not None and (hasattr(nodes, "__len__") or hasattr(nodes, "__iter__")):
        nodes = _listed(nodes)
    elif nodes is not None:
        nodes = checked.whole("graph: nodes", nodes, 0, MOST_NODES)
    if not isinstance(weights, str):
        weights = checked.flag("graph: weights", weights)
    if hasattr(source, "adjacency") and hasattr(source, "offsets"):
        parts = _of_mochi(source)
    elif hasattr(source, "edge_index"):
        parts = _of_pyg(source, weights)
    elif hasattr(source, "ndata") and hasattr(source, "edges"):
        parts = _of_dgl(source, weights)
    elif hasattr(source, "nodes") and hasattr(source, "is_directed"):
        parts = _of_networkx(source, x, y, weights)
    elif hasattr(source, "tocoo"):
        parts = _of_sparse(source)
    else:
        parts = _of_edges(source, nodes, weights)
    if not weights:
        parts.update(weight=None, ignored=tuple(name for name in parts.get("ignored", ()) if name != "weights"))
    if isinstance(nodes, list):
        parts = _called(parts, nodes)
    elif nodes is not None and nodes != parts["nodes"]:
        raise errors.InvalidError(f"graph: nodes is {nodes}, the source has {parts['nodes']}")
    names = range(parts["nodes"]) if parts.get("names") is None else parts["names"]
    x, y = (_attribute(source, parts, a) if isinstance(a, str) else a for a in (x, y))
    if x is not None:
        parts["x"] = aligned.rows("graph: x", x, range(parts["nodes"]) if "offset" in parts else names)
    if y is not None:
        graphs = len(parts["offset"]) - 1 if "offset" in parts else None
        parts["y"] = aligned.labels("graph: y", y, range(graphs) if graphs and parts.get("names") is None else names)
    return parts


def _listed(nodes):
    """A list of names: each once, in the order that is asked for."""
    names = nodes.tolist() if hasattr(nodes, "tolist") else list(nodes)
    if isinstance(nodes, str) or len(set(names)) < len(names):
        twice = next((name for i, name in enumerate(names) if name in names[:i]), nodes)
        raise errors.InvalidError(f"graph: nodes has {twice!r} twice, expected a list of different names")
    return names


def _called(parts, names):
    """The parts with the names listed by the caller, in that order."""
    if parts.get("names") is None:
        if len(names) != parts["nodes"]:
            raise errors.InvalidError(f"graph: nodes lists {len(names)} names, the source has {parts['nodes']} nodes")
        return {**parts, "names": names}
    if parts["names"] != names:
        raise errors.InvalidError("graph: the source has names of its own, expected nodes for edges alone")
    return parts


def _attribute(source, parts, name):
    found = parts.get("attributes", {})
    if name not in found:
        known = ", ".join(map(str, parts.get("known", found))) or "none"
        raise errors.InvalidError(f"graph: no attribute {name!r} of the nodes of a {type(source).__name__}; found: {known}")
    return found[name]


def _of_values(values, n, directed=False):
    """The weights of n edges, if they are finite numbers of 0 or more, and what is ignored: other weights, directions."""
    try:
        weight = np.ones(n, np.float32) if values is None else np.asarray(array_of(values), np.float32)
    except (TypeError, ValueError):
        weight = np.full(n, np.nan)
    plain = bool((weight == 1).all())
    fine = plain or (weight.shape == (n,) and bool((np.isfinite(weight) & (weight >= 0)).all()))
    ignored = tuple(name for name, found in (("weights", not fine), ("directions", directed)) if found)
    return {"weight": weight if fine and not plain else None, "ignored": ignored}


def _directed(u, v, nodes):
    """Whether an edge lacks its reverse."""
    one, other = (np.sort(number) for number in (u * nodes + v, v * nodes + u))
    return not np.array_equal(*(numbers[np.diff(numbers, prepend=-1) != 0] for numbers in (one, other)))


def _number_after(u, v):
    """The smallest number of nodes for these ends of edges."""
    return int(max(u.max(initial=-1), v.max(initial=-1))) + 1


def _division(mask_of):
    return {part: mask for part, key in _MASKS.items() if (mask := mask_of(f"{key}_mask")) is not None}


def _of_mochi(g):
    indptr, column = g.adjacency
    parts = {"nodes": g.nodes, "u": np.repeat(np.arange(g.nodes), np.diff(indptr)), "v": column.astype(np.int64)}
    parts.update(x=g.x, y=None if g.y is None else [g.classes[c] if c >= 0 else None for c in g.y])
    parts.update(names=g.names, told=g.ignored, weight=g.weights)
    parts["division"] = {part: mask for part in _MASKS if (mask := g.division(part)) is not None}
    if g.graphs > 1:
        parts["offset"] = g.offsets
    return parts


def _of_sparse(matrix):
    if matrix.shape[0] != matrix.shape[1]:
        raise errors.InvalidError(f"graph: a matrix {list(matrix.shape)}, expected a square one")
    entries, nodes = matrix.tocoo(), matrix.shape[0]
    kept = entries.data != 0
    u, v = entries.row[kept].astype(np.int64), entries.col[kept].astype(np.int64)
    return {"nodes": nodes, "u": u, "v": v, **_of_values(entries.data[kept], len(u), _directed(u, v, nodes))}


def _of_dense(matrix, names=None):
    """A matrix [n, n] whose nonzero entries are edges."""
    if matrix.dtype.kind not in "biuf" or not np.isfinite(matrix).all():
        raise errors.InvalidError(f"graph: an adjacency of {matrix.dtype} {list(matrix.shape)}, expected finite numbers")
    u, v = np.nonzero(matrix)
    values = _of_values(matrix[u, v], len(u), _directed(u, v, len(matrix)))
    return {"nodes": len(matrix), "u": u, "v": v, "names": names, **values}


def _of_names(u, v, values, nodes=None):
    """Edges between names, which become the nodes, unless nodes lists those."""
    ends = [end.item() if isinstance(end, np.generic) else end for pair in zip(u, v, strict=True) for end in pair]
    for i, end in enumerate(ends):
        if is_missing(end) or isinstance(end, bool) or not isinstance(end, (str, int)):
            raise errors.InvalidError(f"graph: edge {i // 2} has the end {end!r}, expected a name")
    names = in_order(ends) if nodes is None else nodes
    number: dict[Any, int] = {name: i for i, name in enumerate(names)}
    strangers = [end for end in dict.fromkeys(ends) if end not in number]
    if strangers:
        raise errors.InvalidError(f"graph: edges have {len(strangers)} ends that nodes does not list: {aligned.some(strangers)}")
    ids = np.array([number[end] for end in ends], np.int64).reshape(-1, 2)
    return {"nodes": len(names), "u": ids[:, 0], "v": ids[:, 1], "names": names, **_of_values(values, len(ids))}


def _of_ids(u, v, values):
    """Edges between whole numbers, which are names, unless they are 0 .. n - 1."""
    names, number = np.unique(np.concatenate([u, v]), return_inverse=True)
    plain = np.array_equal(names, np.arange(len(names)))
    ends = {"u": number[: len(u)].reshape(-1), "v": number[len(u) :].reshape(-1)}
    return {"nodes": len(names), **ends, "names": None if plain else names.tolist(), **_of_values(values, len(u))}


def _columns_of(table, weights):
    """(the two columns of ends, that of weights or None, the names of columns that are not read)."""
    heads = [str(name).strip().lower() for name in table.columns]
    kept = [i for i, head in enumerate(heads) if head and not (i == 0 and head.startswith("unnamed: "))]
    pair = next((p for p in _PAIRS if set(p) <= set(heads)), None)
    ends = [heads.index(head) for head in pair] if pair else kept[:2]
    weight: int | None
    if isinstance(weights, str):
        if weights not in list(table.columns):
            raise errors.InvalidError(f"graph: no column {weights!r} of weights; found: {', '.join(map(repr, table.columns))}")
        weight = list(table.columns).index(weights)
    else:
        weight = next((i for i in kept if heads[i] in _WEIGHTS and i not in ends), None)
    others = [i for i in kept if i not in ends and i != weight]
    if len(kept) < 2 or (not pair and len(others) > 1):
        raise errors.InvalidError(
            f"graph: a table of the columns {', '.join(map(repr, table.columns))}, expected source and target, or two columns of "
            f"ends, or a square adjacency"
        )
    return ends, weight, [table.columns[i] for i in others]


def _of_table(table, nodes, weights):
    """A pandas table: two columns of ends and optionally one of weights, or an adjacency by names."""
    if len(table.columns) == len(table) > 0 and table.index.equals(table.columns):
        return _of_dense(table.to_numpy(), table.index.tolist())
    at, weight, unread = _columns_of(table, weights)
    values = None if weight is None else table.iloc[:, weight]
    ends = [table.iloc[:, i] for i in at]
    numbers = all(column.dtype.kind in "iuf" or str(column.dtype)[:3] in ("Int", "UIn") for column in ends)
    if numbers:
        u, v = (_whole_column(column) for column in ends)
    if not numbers or isinstance(nodes, list):
        named = [end.tolist() for end in ((u, v) if numbers else [end.astype(object) for end in ends])]
        parts = _of_names(named[0], named[1], values, nodes if isinstance(nodes, list) else None)
    elif nodes is not None:
        parts = {"nodes": nodes, "u": u, "v": v, **_of_values(values, len(u))}
    else:
        parts = _of_ids(u, v, values)
    return {**parts, "unread": [f"column {name!r}" for name in unread]}


def _whole_column(column):
    """The whole numbers of a column, also of one that pandas has made of floats."""
    if column.dtype.kind == "f":
        values = column.to_numpy(float)
        if not (np.isfinite(values).all() and (values == np.floor(values)).all()):
            raise errors.InvalidError(f"graph: column {column.name!r} of {column.dtype}, expected whole numbers without gaps")
        return values.astype(np.int64)
    return checked.indices(f"graph: column {column.name!r}", column)


def _of_edges(edges, nodes, weights):
    if hasattr(edges, "iloc") and hasattr(edges, "columns"):
        return _of_table(edges, nodes, weights)
    ends = array_of(edges)
    if not ends.size and ends.ndim == 1:
        ends = np.zeros((0, 2), np.int64)
    if ends.ndim == 2 and ends.shape[0] == ends.shape[1] > 2:
        return _of_dense(ends)
    if ends.ndim == 2 and ends.shape[1] == 2 and (ends.dtype.kind in "UO" or isinstance(nodes, list)):
        return _of_names(ends[:, 0].tolist(), ends[:, 1].tolist(), None, nodes if isinstance(nodes, list) else None)
    if ends.ndim != 2 or 2 not in ends.shape or ends.dtype.kind not in "iu":
        third = "; weights are the third column of a pandas table" if ends.shape[1:] == (3,) else ""
        raise errors.InvalidError(
            f"graph: {type(edges).__name__} of {ends.dtype} {list(ends.shape)}, expected a graph, or edges [edges, 2] of "
            f"integers{third}"
        )
    u, v = checked.indices("graph: edges", ends.T if ends.shape[1] == 2 else ends)
    found = _number_after(u, v)
    if nodes is None and found > FREE_NODES + GAP_PER_EDGE * len(u):
        raise errors.InvalidError(
            f"graph: {len(u)} edges with the end {found - 1}: an array holds node numbers, 0 .. n - 1; ids are the columns of a "
            "pandas table, or listed by nodes="
        )
    return {"nodes": found if nodes is None else nodes, "u": u, "v": v, "ignored": ()}


def _of_networkx(g, x, y, weights):
    names = list(g.nodes)
    number = {name: i for i, name in enumerate(names)}
    u, v = np.array([(number[e[0]], number[e[1]]) for e in g.edges], np.int64).reshape(-1, 2).T
    told = weights if isinstance(weights, str) else "weight"
    values = _of_values([weight for *_, weight in g.edges(data=told, default=1)], len(u), g.is_directed() and _directed(u, v, len(names)))
    found: dict[str, Any] = {a: [g.nodes[n].get(a) for n in names] for a in (x, y) if isinstance(a, str)}
    found = {a: values for a, values in found.items() if any(value is not None for value in values)}
    known = list(dict.fromkeys(key for n in names for key in g.nodes[n]))
    if isinstance(x, str) and x in found:
        missing = next((name for name, row in zip(names, found[x], strict=True) if row is None), None)
        if missing is not None and any(hasattr(row, "__len__") and not isinstance(row, (str, bytes)) for row in found[x]):
            raise errors.InvalidError(f"graph: the node {missing!r} has no attribute {x!r}, which others have")
        if not all(row is None or isinstance(row, (str, bytes, bool, int, float)) for row in found[x]):
            found[x] = np.array([np.asarray(row, float).reshape(-1) for row in found[x]])
        else:
            found[x] = np.array(found[x], object).reshape(-1, 1)
    of_edges = dict.fromkeys(key for *_, attributes in g.edges(data=True) for key in attributes) if weights else {}
    unread = [f"edge attribute {key!r}" for key in of_edges if key != told]
    return {"nodes": len(names), "u": u, "v": v, "names": names, "attributes": found, "known": known, "unread": unread, **values}


def _of_pyg(data, weights):
    ends = checked.indices("graph: edge_index", array_of(data.edge_index))
    if ends.ndim != 2 or len(ends) != 2:
        raise errors.InvalidError(f"graph: edge_index {list(ends.shape)}, expected [2, edges]")
    u, v = ends
    x, y, nodes = (getattr(data, name, None) for name in ("x", "y", "num_nodes"))
    if nodes is None:
        nodes = len(x) if x is not None else _number_after(u, v)
    keys = getattr(data, "keys", ())
    key = weights if isinstance(weights, str) else "edge_weight"
    given, told = (getattr(data, name, None) for name in (key, "edge_attr"))  # attributes can be kinds of edges
    values = _of_values(given, len(u), _directed(u, v, int(nodes)))
    if told is not None and key != "edge_attr" and bool((array_of(told) != 1).any()):
        values["ignored"] = ("weights", *values["ignored"])
    return {
        "nodes": int(nodes), "u": u, "v": v,
        "x": None if x is None else array_of(x), "y": None if y is None else array_of(y),
        "attributes": {k: data[k] for k in (keys() if callable(keys) else keys)},
        "division": _division(lambda name: getattr(data, name, None)),
        **values,
    }  # fmt: skip


def _of_dgl(g, told):
    u, v = (array_of(end).astype(np.int64) for end in g.edges())
    nodes, of_nodes = int(g.num_nodes()), {name: g.ndata[name] for name in g.ndata}
    keys = (told,) if isinstance(told, str) else WEIGHTS_OF_DGL
    of_edges = getattr(g, "edata", {})
    read = next((name for name in keys if name in of_edges), None)
    unread = [f"edge attribute {name!r}" for name in of_edges if told and name != read]
    return {
        "nodes": nodes, "u": u, "v": v, "attributes": of_nodes, "division": _division(of_nodes.get),
        "x": array_of(of_nodes["feat"]) if "feat" in of_nodes else None,
        "y": array_of(of_nodes["label"]) if "label" in of_nodes else None,
        "unread": unread,
        **_of_values(None if read is None else of_edges[read], len(u), _directed(u, v, nodes)),
    }  # fmt: skip


# ---- the .npz form ----


def members_of(parts):
    """(the arrays of the library's .npz form, the values of the classes or None)."""
    indptr, order = _compressed(parts["u"], parts["v"], parts["nodes"])
    members = _rows("adj", indptr, parts["v"][order], (parts["nodes"], parts["nodes"]))
    if parts.get("weight") is not None:
        members["adj_data"] = parts["weight"][order]
    values = None
    if parts.get("x") is not None:
        members.update(_attributes(parts["x"], parts["nodes"]))
    if parts.get("y") is not None:
        examples = len(parts["offset"]) - 1 if "offset" in parts else parts["nodes"]
        members["labels"], values = number_classes(parts["y"], examples)
        if values.dtype.kind in "OSU" or not np.array_equal(values, np.arange(len(values))):
            members.update(_names("class_names", values.tolist()))
    if parts.get("names") is not None:
        members.update(_names("names", parts["names"]))
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


def _names(key, names):
    """Names in the .npz form: numbers, or UTF-8 texts, each followed by a zero; none if two would be the same text."""
    numbers = all(isinstance(name, (int, np.integer)) for name in names)
    try:
        if numbers:
            return {f"{key}_number": np.array([int(name) for name in names], np.int64)}
        texts = [name.decode() if isinstance(name, bytes) else str(name) for name in names]
        encoded = [text.encode() for text in texts]
    except (OverflowError, UnicodeError):
        return {}
    if len(set(texts)) < len(texts) or any(b"\0" in text for text in encoded):
        return {}
    return {f"{key}_text": np.frombuffer(b"".join(text + b"\0" for text in encoded), np.uint8)}


def _compressed(u, v, nodes):
    """(Row pointers, the order of the edges by their rows)."""
    for end in (u, v):
        if len(end) and not (0 <= end.min() and end.max() < nodes):
            wrong = int(np.flatnonzero((end < 0) | (end >= nodes))[0])
            raise errors.InvalidError(f"graph: edge {wrong}: {u[wrong]}, {v[wrong]}, expected nodes 0 .. {nodes - 1}")
    order = np.argsort(u, kind="stable")
    return pointers(u, nodes), order


def _rows(name, indptr, indices, shape):
    return {f"{name}_shape": np.array(shape, np.int64), f"{name}_indptr": indptr, f"{name}_indices": indices.astype(np.int64)}


def _attributes(x, nodes):
    table = _attribute_columns(x)
    if table is not None:
        return _of_columns(table, nodes)
    if hasattr(x, "tocsr"):
        rows = x.tocsr()
        rows.sum_duplicates()
        shape, indptr, column, value = rows.shape, rows.indptr.astype(np.int64), rows.indices, rows.data
    else:
        dense = array_of(x)
        if dense.ndim != 2 or dense.dtype.kind not in "biuf":
            raise errors.InvalidError(f"graph: x of {dense.dtype} {list(dense.shape)}, expected columns [{nodes}, d]")
        shape, (row, column) = dense.shape, np.nonzero(dense)
        indptr = pointers(row, len(dense))
        value = dense[row, column]
    if shape[0] != nodes:
        raise errors.InvalidError(f"graph: x {list(shape)}, expected a row for each of {nodes} nodes")
    with np.errstate(over="ignore"):
        value = np.asarray(value, np.float32)
    if np.isinf(value).any():
        raise errors.InvalidError("graph: x has numbers that are not finite in float32")
    return {**_rows("attr", indptr, column, shape), "attr_data": value}


def _attribute_columns(x):
    """The columns [(name, values)] of a table: of pandas, or an array of objects or texts; None for other attributes."""
    if hasattr(x, "to_frame") and hasattr(x, "iloc"):
        x = x.to_frame()
    if hasattr(x, "iloc") and hasattr(x, "columns"):
        return [(name, x.iloc[:, i]) for i, name in enumerate(x.columns)]
    if hasattr(x, "tocsr") or getattr(getattr(x, "dtype", None), "kind", "O") not in "OUST":
        return None
    values = array_of(x)
    if values.dtype.kind not in "OUST" or values.ndim not in (1, 2):
        return None
    return [(f"column {i}", column) for i, column in enumerate(values.reshape(len(values), -1).T)]


def _of_columns(table, nodes):
    """Columns of numbers, and those of texts, which the library reads (train/graphs/attribute_texts.c)."""
    numbers, texts = {}, {}
    for name, values in table:
        if len(values) != nodes:
            raise errors.InvalidError(f"graph: x [{len(values)}, {len(table)}], expected a row for each of {nodes} nodes")
        name = str(name).replace("\0", "")
        if str(values.dtype) == "category" and values.cat.categories.dtype.kind in "biuf":
            kinds = {f"{name}={kind}": (values == kind).fillna(False) for kind in values.cat.categories}
            numbers.update({**kinds, **({f"{name} missing": values.isna()} if values.isna().any() else {})})
        elif getattr(values.dtype, "kind", "O") in "biuf":
            numbers[name] = values
        else:
            texts[name] = "".join(_text_of(name, value) + "\0" for value in values.tolist())
    made: dict[str, Any] = {}
    if numbers:
        dense = np.zeros((nodes, len(numbers)))
        for i, values in enumerate(numbers.values()):
            dense[:, i] = values.to_numpy(float, na_value=np.nan) if hasattr(values, "to_numpy") else values
        made.update(_attributes(dense, nodes), attr_names_text=_bytes_of("".join(name + "\0" for name in numbers)))
    if texts:
        made["attr_texts_text"] = _bytes_of("".join(texts.values()))
        made["attr_texts_names_text"] = _bytes_of("".join(name + "\0" for name in texts))
    return made


def _bytes_of(text):
    return np.frombuffer(text.encode(errors="replace"), np.uint8)


def _text_of(name, value):
    """A value of a column of objects as the library reads it in a table; "": a gap."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if is_missing(value):
        return ""
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, (bool, int, float, str)) or hasattr(value, "isoformat"):
        return str(value).replace("\0", "")
    raise errors.InvalidError(
        f"graph: attribute {name!r} has {value!r}, a {type(value).__name__}, expected numbers, texts, booleans or gaps"
    )


def number_classes(values: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels of any type as classes: (int64 [n] of 0 .. C - 1, -1 if unlabelled; their values [C], rising)."""
    plain = plain_labels(values)
    if len(plain) != n:
        raise errors.InvalidError(f"labels [{len(plain)}], expected one for each of {n} examples")
    classes = sorted({v for v in plain if v is not None})
    number = {value: i for i, value in enumerate(classes)}
    label = np.array([-1 if v is None else number[v] for v in plain], np.int64)
    return label, np.array(classes) if classes else np.zeros(0, np.int64)


def plain_labels(values: Any) -> list:
    """Labels as Python's int, bool, str or bytes, all of one type, with None for unlabelled.

    Unlabelled are None, NaN, pandas.NA, masked entries, every negative whole number, and the texts that mark what is unknown
    (`convert.archive.UNKNOWN`, in any case), also where NumPy has made them, as in ``np.array(["a", np.nan])``. "1.0" is the class "1".
    """
    if isinstance(values, np.ma.MaskedArray):
        array = np.array(values.tolist(), object)
    else:
        array = np.asarray(values, object) if isinstance(values, (list, tuple)) else array_of(values)
    array = array.reshape(-1) if array.ndim == 2 and 1 in array.shape else array
    if array.ndim != 1:
        raise errors.InvalidError(f"labels {list(array.shape)}, expected one for each example")
    plain = [_plain_label(value) for value in array.tolist()]
    marks = collections.Counter(v for v, found in zip(array.tolist(), plain, strict=True) if found is None and isinstance(v, str) and v)
    if marks:
        counts = ", ".join(f"{n} {mark!r}" for mark, n in marks.items())
        warnings.warn(f"labels: {counts} count as unknown", errors.DataWarning, stacklevel=4)
    found = {type(value).__name__: repr(value) for value in reversed(plain) if value is not None}
    if len(found) > 1:
        kinds, values = " and ".join(sorted(found)), " and ".join(found[kind] for kind in sorted(found))
        raise errors.InvalidError(f"labels of {kinds}, expected one type; found {values}")
    return plain


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, masked, or pandas.NA (for which != gives pandas.NA)."""
    if value is None or value is np.ma.masked:
        return True
    if isinstance(value, (bool, np.bool_)):
        return False
    unequal = value != value
    return unequal is value or unequal is True or unequal is np.True_


def _plain_label(value):
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item") and value is not np.ma.masked:
        value = value.item()  # a number of NumPy or PyTorch
    if is_missing(value):
        return None
    if isinstance(value, bool):
        return value
    if isinstance(value, (str, bytes)):
        if (0 if isinstance(value, bytes) else "\0") in tuple(value):
            raise errors.InvalidError(f"label {value!r}, expected a text without zeroes")
        text = str.__str__(value) if isinstance(value, str) else bytes(value).decode("latin-1")
        if is_unknown(text) or _NEGATIVE.fullmatch(text):
            return None
        text = text[: -len(point[1])] if (point := _POINT_ZERO.fullmatch(text)) else text
        return text if isinstance(value, str) else text.encode("latin-1")
    if not isinstance(value, (int, float)):
        raise errors.InvalidError(f"labels of {type(value).__name__}, expected whole numbers or texts")
    if not -LARGEST <= value < LARGEST or value != int(value):
        raise errors.InvalidError(f"label {value!r}, expected classes: whole numbers below 2^63, or texts; real numbers are targets: few_shot(g, targets=..)")
    return int(value) if value >= 0 else None
