"""The file of a saved readout, which `mochi predict --save` and `--readout` write and read too (train/FORMATS.md)."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from .. import errors
from .._library import ffi, lib
from ..handle import Handle
from ..tensor import arrays_of, lists_of

FORMAT, OF, OF_TARGETS = "mochi readout 3", "examples", "targets"
ATTRIBUTES = ("scaled", "raw")  # mo_attributes less 1
TRANSDUCTIVE = ("no", "yes", "auto", "never")  # in the order of mo_transductive


def _digest(first: int, second: int) -> str:
    return f"{first:016x}{second:016x}"


def _belongings(g: Any, weights: Any) -> dict[str, str]:
    """The digests of weights and data."""
    data = g._live().hash
    return {"weights": _digest(weights.hash[0], weights.hash[1]), "data": _digest(data[1], data[0])}


def write(path: str | os.PathLike, fit: Any, options: Any, weights: Any, label: np.ndarray) -> None:
    """Writes a fit; label [n]: the numbers of the classes of the labelled examples."""
    values = fit.classes_.tolist()
    real = fit._asked == "targets"
    if options.n_experts:
        raise errors.UnsupportedError("save: a readout is saved without rows of experts")
    if not all(isinstance(v, (str, int, float)) for v in values):
        raise errors.InvalidError("save: expected classes that are texts or numbers, as a file has no others")
    chosen = TRANSDUCTIVE[3 if options.transductive == 3 else int(not real and fit.estimate.transductive)]
    attributes = ATTRIBUTES[(options.attributes or weights.features.attributes) - 1]
    told = {
        "format": FORMAT, "of": OF_TARGETS if real else OF, "classes": json.dumps([str(v) for v in values]), "values": json.dumps(values),
        **_belongings(fit.graph, weights), "head": ffi.string(options.head.name).decode() if options.head else "",
        "lambda": f"{getattr(options, 'lambda'):.17g}",
        "transductive": chosen, "attributes": attributes,
    }  # fmt: skip
    with lists_of(fit.context, {"id": fit._known} if real else {"id": fit._known, "label": label}) as arrays:
        fit.context.call(lib.gate_mo_few_shot_save, fit._live(), arrays._live())
        fit.context.call(lib.gate_mo_safetensors_write, arrays._live(), json.dumps(told).encode(), os.fsencode(path))


class Kept:
    """A file that was read for a graph and weights: `arrays`, the ids, labels and values of the classes or (`real`) the targets as
    they were fitted, the settings."""

    def __init__(self, path: str | os.PathLike, g: Any, weights: Any) -> None:
        self.path, context = os.fspath(path), g.context
        made = context.call(lib.gate_mo_safetensors_read, context._pointer, os.fsencode(path))
        self.arrays = Handle(context, made, release=lib.gate_mo_arrays_release)
        text = made.metadata
        self.told = json.loads(ffi.string(text)) if text else {}
        self.real = self.told.get("of") == OF_TARGETS
        if self.told.get("format") != FORMAT or self.told.get("of") not in (OF, OF_TARGETS):
            found = f"{self.told.get('format')} of {self.told.get('of')}"
            raise errors.FormatError(f"{self.path}: expected {FORMAT} of {OF} (FewShot.save, mochi predict --save), found {found}")
        for what, digest in _belongings(g, weights).items():
            if self.told.get(what) != digest:
                raise errors.InvalidError(f"{self.path}: the readout is of other {what} ({self.told.get(what)}, found {digest})")
        arrays = arrays_of(context, made)
        try:
            self.id = np.asarray(arrays["id"], np.int64)
            self.label = np.zeros(len(self.id), np.int64) if self.real else np.asarray(arrays["label"], np.int64)
            self.target = arrays["target"] if self.real else None
            names = [""] if self.real else json.loads(self.told["classes"])
            self.classes = np.array(json.loads(self.told.get("values", "null")) or names)
            self.transductive = TRANSDUCTIVE.index(self.told["transductive"])
            self.attributes = ATTRIBUTES.index(self.told["attributes"]) + 1
            self.lam = float(self.told["lambda"])
            self.head = lib.mo_find_head(self.told["head"].encode()) if self.told["head"] else ffi.NULL
        except (KeyError, ValueError) as e:
            raise errors.FormatError(f"{self.path}: expected a saved readout, found none in its arrays and metadata ({e})") from e
        if self.told["head"] and not self.head:
            raise errors.UnsupportedError(f"{self.path}: its readout is {self.told['head']}, which is not one of the library's")
        if not self.id.shape == self.label.shape or self.id.ndim != 1 or (np.diff(self.id) <= 0).any():
            raise errors.FormatError(f"{self.path}: expected ids and labels [n], ids rising")
        if sorted(set(self.label.tolist())) != list(range(len(self.classes))):
            raise errors.FormatError(f"{self.path}: expected labels of each of its {len(self.classes)} classes")

    def set(self, options: Any) -> None:
        """Sets the readout in the library's options."""
        options.head, options.transductive, options.attributes = self.head, self.transductive, self.attributes
        setattr(options, "lambda", self.lam)
