"""Predicts real targets of a graph's examples from a few given ones."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .. import checked, errors
from .._library import ffi, lib
from ..tensor import arrays_of
from . import aligned
from .few_shot import FewShot, _is_graph, integers, reals
from .graph import _copied
from .sources import array_of, is_missing

TRANSFORMS = ("auto", "none", "log")  # as mo_target_transform


@dataclasses.dataclass(frozen=True)
class TargetEstimate:
    """The errors to expect, from targets left out in turn, in the targets' own unit.

    Attributes
    ----------
    r2, mae : float
        1 - squared errors / squared distances to the mean; the mean absolute error.
    labelled, held_out : int
        Numbers of targets, and of those left out.
    log : bool
        Whether the logarithms of the targets were fitted.

    Examples
    --------
    >>> fit = mochi.load("best").few_shot(mochi.graph("karate"), targets={0: 1.0, 1: 2.5, 2: 4.0, 33: 9.0})
    >>> isinstance(fit.estimate, mochi.TargetEstimate)
    True
    """

    r2: float
    mae: float
    labelled: int
    held_out: int
    log: bool

    def __str__(self) -> str:
        logs = "; logarithms were fitted" if self.log else ""
        return f"expected R² {self.r2:.3f}, mean absolute error {self.mae:.4g}, from {self.held_out} targets left out{logs}"


class FewShotTargets(FewShot):
    """A readout of real targets of a graph's examples; made by `Trained.few_shot` with ``targets``.

    Examples
    --------
    >>> g = mochi.graph("karate")
    >>> targets = {i: float(d) for i, d in enumerate(np.diff(g.adjacency[0])) if i % 2}
    >>> fit = mochi.load("best").few_shot(g, targets=targets)
    >>> low, high = fit.predict_interval(0.5).T
    >>> bool((low <= fit.predict()).all()), fit.score(targets) > 0.5
    (True, True)
    """

    _asked = "targets"

    def __init__(self, g: Any, options: Any, kept: list, targets: Any, weights: Any, transform: str, saved: Any = None):
        self._transform = checked.choice("few_shot: transform", transform, TRANSFORMS)
        super().__init__(g, options, kept, targets, weights, saved)

    def fit(self, labels: Any) -> FewShotTargets:
        """Fits the readout on targets, given as for `Trained.few_shot`; returns itself."""
        ids, y = _numbers(self.graph, labels, "few-shot: targets")
        self._forget()
        self.context.call(lib.gate_mo_few_shot_fit_targets, self._live(), integers(ids), reals(y), len(y), self._transform)
        self._known = ids
        names = self.labelled.tolist()
        self._given = dict(zip(names, y.tolist(), strict=True))
        return self

    def _take_saved(self, saved):
        self.context.call(lib.gate_mo_few_shot_take, self._live(), saved)
        self._known, y = _copied(saved.known.id, saved.known.n), arrays_of(self.context, saved.arrays)["target"]
        y = np.exp(y) if self.estimate.log else y
        self._given = dict(zip(self.labelled.tolist(), y.tolist(), strict=True))

    @property
    def estimate(self) -> TargetEstimate:  # type: ignore[override]
        """The errors to expect, from leaving targets out in turn."""
        e = self.context.call(lib.gate_mo_few_shot_expect_targets, self._live())
        return TargetEstimate(**{f.name: getattr(e, f.name) for f in dataclasses.fields(TargetEstimate)})

    def predict(self, examples: Any = None, as_frame: bool = False) -> Any:
        """The prediction for each example, float64 [n], in the targets' unit; of logarithms: the median.

        Parameters
        ----------
        examples : sequence or Graph
            Examples, or a mask, bool [examples]; None: all. Or another graph, for all examples of that (`on`).
        as_frame : bool
            Return a pandas Series, indexed by the examples' names.
        """
        if _is_graph(examples):
            other: Any = self.on(examples)
            return other.predict(None, as_frame)
        found = self._predicted(examples, None)[0]
        return self._frame(found, examples).rename("target") if as_frame else found

    def predict_interval(self, coverage: float = 0.9, examples: Any = None) -> np.ndarray:
        """An interval for each example, float64 [n, 2]: low and high, between which its target lies with probability `coverage`.

        From the errors of targets left out in turn, each in units of its predicted standard deviation; NaN with fewer than
        coverage / (1 - coverage) targets.
        """
        share = checked.real("predict_interval: coverage", coverage)
        return np.stack(self._predicted(examples, share)[1:], 1)

    def score(self, labels: Any) -> float:
        """R² on examples with known targets: a dict, a Series, a DataFrame or an array, as for `fit`."""
        ids, y = _numbers(self.graph, labels, "score")
        found = self._of(ids, None)[0]
        if len(y) < 2 or np.ptp(y) == 0:
            raise errors.InvalidError(f"score: {len(y)} targets, expected two that differ")
        return float(1 - ((y - found) ** 2).sum() / ((y - y.mean()) ** 2).sum())

    def _predicted(self, examples, coverage):
        return self._of(np.arange(self.graph.examples) if examples is None else self._numbers_of(examples), coverage)

    def _of(self, ids, coverage):
        out = np.empty((3 if coverage is not None else 1, len(ids)))
        low, high = (ffi.NULL, ffi.NULL) if coverage is None else (reals(out[1]), reals(out[2]))
        ids = np.ascontiguousarray(ids, np.int64)
        gate = lib.gate_mo_few_shot_predict_targets
        self.context.call(gate, self._live(), integers(ids), len(ids), coverage or 0.0, reals(out[0]), low, high)
        return out

    def __repr__(self) -> str:
        return f"mochi.FewShotTargets({self.graph.name!r}, targets={len(self._known)})"


def _numbers(g, targets, what):
    """(ids rising, targets) of the examples whose target is known."""
    if aligned.has_keys(targets):
        pairs = aligned.label_pairs(what, targets)
        ids, values = np.array([g.find(example) for example, _ in pairs], np.int64), [value for _, value in pairs]
    else:
        values = array_of(targets).tolist() if hasattr(targets, "__array__") else list(targets)
        ids = np.arange(len(values))
        if len(values) != g.examples:
            raise errors.InvalidError(f"{what}: {len(values)}, expected one for each of {g.examples} examples, or a dict")
    known = [i for i, value in enumerate(values) if not is_missing(value)]
    for i in known:
        if isinstance(values[i], (str, bytes, bool)) or not np.isscalar(values[i]):
            raise errors.InvalidError(f"{what}: {values[i]!r}, expected a number, or NaN or None if it is unknown")
    ids, y = ids[known], np.array([float(values[i]) for i in known])
    order = np.argsort(ids, kind="stable")
    return np.ascontiguousarray(ids[order]), np.ascontiguousarray(y[order])
