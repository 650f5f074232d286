"""Nodes that join a graph: their attributes as its columns have them, and their edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import errors
from ..convert.archive import is_unknown
from . import aligned
from .sources import array_of, is_missing, parts_of

# Texts that are numbers (train/graphs/attribute_texts.c).
WORDS = {**dict.fromkeys(("yes", "true", "y", "t"), 1.0), **dict.fromkeys(("no", "false", "n", "f"), 0.0)}


def grown_parts(g: Any, rows: Any, edges: Any) -> dict[str, Any]:
    """The parts of a graph (`parts_of`) with new nodes behind its own, and without labels."""
    if g.graphs > 1:
        raise errors.UnsupportedError(f"{g.name}: a set of graphs, expected a graph that nodes can join")
    parts = parts_of(g, None, None, None)
    names, x = _new_nodes(g, rows)
    known = list(range(g.nodes)) if g.names is None else g.names
    names = list(range(g.nodes, g.nodes + len(x))) if names is None else names
    place = {name: i for i, name in enumerate([*known, *names])}
    if len(place) < len(known) + len(names):
        twice = [name for name in names if name in set(known)] or names
        raise errors.InvalidError(f"{g.name}: new nodes of the names {aligned.some(twice)}, expected ones that no other node has")
    pairs = [list(pair) for pair in (edges.tolist() if hasattr(edges, "tolist") else edges)]
    strangers = [end for pair in pairs for end in pair[:2] if end not in place]
    if strangers or any(len(pair) not in (2, 3) for pair in pairs):
        nodes = f"ends that are no nodes: {aligned.some(strangers)}"
        raise errors.InvalidError(f"{g.name}: new edges have {nodes if strangers else 'rows that are not two ends, or these and a weight'}")
    u, v = (np.array([place[pair[i]] for pair in pairs], np.int64) for i in (0, 1))
    weight = np.array([pair[2] if len(pair) > 2 else 1 for pair in pairs], np.float32)
    if parts.get("weight") is not None or (weight != 1).any():
        held = np.ones(len(parts["u"]), np.float32) if parts.get("weight") is None else parts["weight"]
        parts["weight"] = np.concatenate([held, weight])
    parts.update(nodes=len(place), u=np.concatenate([parts["u"], u]), v=np.concatenate([parts["v"], v]), y=None, division=None)
    parts["x"] = None if parts["x"] is None else np.concatenate([parts["x"], x])
    parts["names"] = None if g.names is None else list(place)
    return parts


def _new_nodes(g, rows):
    """(the names of new nodes or None, their rows [n, d])."""
    width = 0 if g.x is None else g.x.shape[1]
    if hasattr(rows, "columns") and hasattr(rows, "iloc"):
        named = zip(rows.index.tolist(), rows.values.tolist(), strict=True)
        rows = {name: dict(zip(rows.columns, row, strict=True)) for name, row in named}
    if isinstance(rows, dict):
        names, held = list(rows), list(rows.values())
    elif width == 0:
        names, held = list(rows), [()] * len(rows)
    else:
        names, held = None, list(array_of(rows))
    numbered = g.names is None and names in (None, list(range(g.nodes, g.nodes + len(held))))
    if not numbered and (names is None or g.names is None):
        how = "by name, in a dict or a table" if g.names else f"in an array [n, {width}], or numbered {g.nodes}, {g.nodes + 1}, .."
        raise errors.InvalidError(f"{g.name}: expected new nodes {how}")
    if any(isinstance(row, dict) for row in held):
        return names, _by_column(g, held)
    if any(np.shape(row) != (width,) for row in held):
        raise errors.InvalidError(f"{g.name}: attributes of new nodes {list(np.shape(held))}, expected [n, {width}]")
    return names, np.array(held, np.float32).reshape(len(held), width)


def _by_column(g, held):
    """Rows [n, d] of the graph's columns, from values by the names of these, or of those that they were made of."""
    columns = g.columns or []
    found, read = np.zeros((len(held), len(columns)), np.float32), set()
    for j, name in enumerate(columns):
        base, _, value = name.partition("=")
        source = name if all(name in row for row in held) else base if value else name.removesuffix(" missing")
        if not all(source in row for row in held):
            raise errors.InvalidError(f"{g.name}: new nodes lack the attribute {source!r}")
        read.add(source)
        values = [row[source] for row in held]
        if source == name:
            found[:, j] = [_number(g, columns, j, value) for value in values]
        else:
            found[:, j] = [str(one) == value if value else _is_gap(one) for one in values]
    unknown = sorted({str(key) for row in held for key in row} - {str(name) for name in read})
    if unknown:
        raise errors.InvalidError(f"{g.name}: new nodes have the attributes {aligned.some(unknown)}, which it does not have")
    return found


def _is_gap(value):
    return is_missing(value) or (isinstance(value, str) and is_unknown(value))


def _number(g, columns, j, value):
    """A number of column j; a gap is the median of the nodes that have a value."""
    if not _is_gap(value):
        try:
            return float(WORDS.get(value.lower(), value) if isinstance(value, str) else value)
        except (TypeError, ValueError) as error:
            raise errors.InvalidError(f"{g.name}: {columns[j]!r} of a new node is {value!r}, expected a number") from error
    mark = f"{columns[j]} missing"
    if mark not in columns:
        raise errors.InvalidError(f"{g.name}: {columns[j]!r} of a new node has a gap, which no other node has")
    return float(np.median(g.x[g.x[:, columns.index(mark)] == 0, j]))
