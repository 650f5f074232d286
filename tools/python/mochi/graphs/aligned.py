"""Rows and labels in the order of a graph's examples: what has keys, an index of pandas or a dict, is aligned by them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .. import errors

SHOWN = 3  # names that a message lists


def has_keys(values: Any) -> bool:
    """Whether values are given by keys: a dict, or a Series or DataFrame of pandas with its index."""
    return isinstance(values, dict) or (hasattr(values, "iloc") and hasattr(values, "index"))


def some(names: Iterable) -> str:
    """The first three names, and how many there are beside."""
    names = list(names)
    rest = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(repr, names[:SHOWN])) + rest


def _places(what, keys, names, every):
    """The place among the keys of each name, -1: none."""
    place: dict[Any, int] = {}
    for i, key in enumerate(keys):
        if place.setdefault(key, i) != i:
            raise errors.InvalidError(f"{what}: {key!r} is in its index twice")
    known = set(names)
    strangers = [key for key in keys if key not in known or isinstance(key, bool)]
    if strangers:
        example = f", which are called as {names[0]!r}" if len(names) else ""
        raise errors.InvalidError(
            f"{what}: {len(strangers)} of {len(keys)} keys of its index are none of the {len(names)} examples{example}: "
            f"{some(strangers)}; an array goes by the order of the examples, and nodes= adds nodes that no edge has"
        )
    missing = [name for name in names if name not in place] if every else []
    if missing:
        raise errors.InvalidError(f"{what}: no row for {len(missing)} of {len(names)} examples: {some(missing)}")
    return np.array([place.get(name, -1) for name in names], np.int64)


def rows(what: str, values: Any, names: Sequence) -> Any:
    """Rows in the order of the names: those of a DataFrame by its index, of a dict by its keys; all else as it is."""
    if not has_keys(values):
        return values
    places = _places(what, list(values) if isinstance(values, dict) else values.index.tolist(), names, every=True)
    if isinstance(values, dict):
        held = list(values.values())
        return np.array([np.asarray(held[i]).reshape(-1) for i in places])
    ordered = values.iloc[places]
    return ordered.to_frame() if values.ndim == 1 else ordered


def labels(what: str, values: Any, names: Sequence) -> Any:
    """Labels in the order of the names, None for a name that is no key; values without keys as they are."""
    if not has_keys(values):
        return values
    pairs = label_pairs(what, values)
    places = _places(what, [key for key, _ in pairs], names, every=False)
    return [None if i < 0 else pairs[i][1] for i in places]


def label_pairs(what: str, values: Any) -> list[tuple]:
    """The pairs (example, class) of a dict, a Series, or a DataFrame: of one column with an index, or of two columns."""
    if not hasattr(values, "columns"):
        return list(zip(values.index.tolist(), values.tolist(), strict=True)) if hasattr(values, "iloc") else list(values.items())
    columns = [values.iloc[:, i].tolist() for i in range(values.shape[1])]
    if len(columns) == 1:
        return list(zip(values.index.tolist(), columns[0], strict=True))
    if len(columns) == 2:
        return list(zip(*columns, strict=True))
    raise errors.InvalidError(f"{what}: a table of {len(columns)} columns, expected one of classes, or two, of examples and classes")
