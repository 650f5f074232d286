"""Compares heads on labelled embeddings, as `mochi readouts` does."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import checked, errors
from ._library import ffi, lib
from .context import Context, default_context, failed, struck
from .graphs import aligned
from .graphs.sources import array_of, number_classes
from .handle import Handle, struct
from .heads import Head, head
from .tensor import constant

SCALINGS = ("none", "centre", "standardise", "normalise")  # as mo_scaling
EPISODES: dict[str, Any] = {"shots": (4, 8, 16, 32, 64), "episodes": 100, "queries": 30, "ways": 64}
FIGURES = ("accuracy", "ci95", "nll", "brier", "ece", "nll_temperature", "ece_temperature", "seconds")
FIELDS = {"accuracy": "mean"}  # of mo_eval_row


class _Visit:
    """The target of the library's callbacks."""

    def __init__(self, context, progress, outcomes, queries):
        self.context, self.progress, self.outcomes, self.queries = context, progress, outcomes, queries
        self.warned: dict[str, None] = {}  # in the order in which they come
        self.rows: list[dict[str, Any]] = []
        self.stopped = False

    def guarded(self, function, *arguments):
        """Runs a function; an exception, Ctrl-C too, ends the library's call, which raises it again."""
        if self.stopped:
            return
        try:
            function(*arguments)
        except BaseException as exception:
            self.strike(exception)

    def strike(self, exception):
        """Ends the library's call with the exception."""
        self.stopped = True
        failed(self.context, exception, "few_shot_score")

    def repeated(self, k, small, left):
        """The number of classes whose rows are drawn repeatedly; warns of them as `mochi readouts` does. left: classes left out."""
        have = "class has" if small == 1 else "classes have"
        rows = "class of one row is" if left == 1 else "classes of one row are"
        few = f"{small} {have} fewer than k + {self.queries} rows; theirs are divided between support and queries"
        for number, text in ((small, f"{few} and drawn repeatedly"), (left, f"{left} {rows} left out")):
            if number:
                self.warned[f"few_shot_score: k = {k}: {text}"] = None
        return small

    def take(self, row):
        """A row of the table."""
        found = {"head": ffi.string(row.head).decode(), "k": row.k}
        found.update((name, getattr(row, FIELDS.get(name, name)) if not row.failure else float("nan")) for name in FIGURES)
        found["seconds"] = row.seconds
        found["repeated"] = 0 if row.split else self.repeated(row.k, row.small_classes, row.left_out)
        found["failure"] = ffi.string(row.failure).decode(errors="replace") if row.failure else None
        if self.outcomes:
            found["outcomes"] = np.zeros(0) if row.failure else np.frombuffer(ffi.buffer(row.values, 8 * row.n)).copy()
        self.rows.append(found)


@ffi.def_extern(onerror=struck)
def binding_fit_row(row, state):
    """One head at one k."""
    visit = ffi.from_handle(state)
    visit.guarded(visit.take, row)


@ffi.def_extern(onerror=struck)
def binding_fit_progress(part, done, of, state):
    """Episodes of a head at a k that are done."""
    visit = ffi.from_handle(state)
    visit.guarded(visit.progress or (lambda *_: None), ffi.string(part).decode(), done, of)


class Scores(list):
    """The rows of `few_shot_score`, dicts, in a list that prints as a table."""

    def to_frame(self) -> Any:
        """The rows as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame([{k: v for k, v in row.items() if k != "outcomes"} for row in self])

    def against(self, head: str) -> list[dict[str, Any]]:
        """For each k and other head: its accuracy less that of `head` on the same episodes, with half its 95% interval.

        Needs the outcomes of ``few_shot_score(.., outcomes=True)``.
        """
        base = {row["k"]: row for row in self if row["head"] == head}
        if not base:
            raise errors.InvalidError(f"Scores.against: {head!r}, expected one of {sorted({row['head'] for row in self})}")
        if not all("outcomes" in row for row in self):
            raise errors.InvalidError("Scores.against: no outcomes of episodes: few_shot_score(.., outcomes=True)")
        found = []
        for row in self:
            if row["head"] != head and not (row["failure"] or base[row["k"]]["failure"]):
                pair = [np.ascontiguousarray(r["outcomes"], np.float64) for r in (row, base[row["k"]])]
                summary = lib.mo_summarize_pairs(*[ffi.from_buffer("double[]", x) for x in pair], len(pair[0]))
                found.append({"head": row["head"], "k": row["k"], "difference": summary.mean, "ci95": summary.ci95})
        return found

    def __repr__(self) -> str:
        lines = [f"{'k':>6}  {'head':20}{'accuracy %':>16}{'nll':>9}{'nll(T)':>8}{'ece':>8}{'ece(T)':>8}{'seconds':>9}"]
        for row in self:
            columns = (("nll", 9), ("nll_temperature", 8), ("ece", 8), ("ece_temperature", 8), ("seconds", 9))
            told = row["failure"] or f"{row['accuracy']:8.2f} ±{row['ci95']:6.2f}" + "".join(
                f"{row.get(name, np.nan):{width}.3f}" for name, width in columns
            )
            lines.append(f"{row['k']:6}  {row['head']:20}{told}")
        return "\n".join(lines)


def few_shot_score(
    Z: Any,
    y: Any,
    heads: Sequence[Any] | str = ("ridge", "logistic", "prototype_euclidean", "prototype_inner"),
    shots: Sequence[int] = EPISODES["shots"],
    episodes: int = EPISODES["episodes"],
    queries: int = EPISODES["queries"],
    ways: int = EPISODES["ways"],
    lam: float | None = None,
    tune: bool = False,
    seed: int = 0,
    split: tuple[Any, Any] | None = None,
    scaling: str = "none",
    outcomes: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
    context: Context | None = None,
) -> Scores:
    """Few-shot accuracy and calibration of heads on labelled embeddings, all on the same episodes.

    Parameters
    ----------
    Z : array_like
        Embeddings [n, d]; computed in float64 if they are float64, else in float32.
    y : array_like
        Labels [n], as for `graph`; unlabelled rows are left out. Beside a DataFrame Z, a Series, DataFrame or dict is aligned by
        its index.
    heads : sequence of str, Head or estimator
        Readouts, by name (`mochi.head_names`) or your own; or classifiers and pipelines of scikit-learn, which are fitted on the
        same episodes, without `lam`, `tune` and `scaling`.
    shots : sequence of int
        k, support rows of each class.
    episodes, queries, ways : int
        Number of episodes per k; query rows per class; most classes of an episode.
    lam : float
        For every head that has a lambda (at least one must); None: each head's own.
    tune : bool
        Each episode chooses its head's regularisation by held-out rows of its support; not with lam.
    seed : int
        Of the episodes.
    split : (array_like, array_like)
        Row numbers, or masks [n], of training and test rows: one problem instead of episodes. If one is None: all other rows.
    scaling : str
        Scaling of the rows, computed from the support alone: "none", "centre", "standardise" (each column minus its mean, divided
        by its standard deviation), "normalise" (each row divided by its norm).
    outcomes : bool
        Also return the accuracy of each episode (for a split, 100 or 0 per query), for paired comparisons of heads.
    progress : callable
        progress(part, done, of); an exception in it ends the call.

    Returns
    -------
    Scores
        A list of dicts that prints as a table; `to_frame` and `against` read it. For each k and head: head, k, accuracy and ci95 in percent (mean over episodes and half width of its 95% interval), nll,
        brier, ece, nll_temperature, ece_temperature (after a temperature fitted to held-out rows of the support; NaN at k = 1), seconds, repeated
        (number of classes with fewer than k + queries rows, whose rows are drawn repeatedly, with a warning), failure (why a head
        has no fit, or None).

    Source: train/evaluation/problems.c

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(90) % 3
    >>> Z = 5 * np.eye(3)[y] + rng.normal(size=(90, 3))
    >>> rows = mochi.few_shot_score(Z, y, ["ridge"], shots=(4,), episodes=5, queries=10)
    >>> rows[0]["head"], rows[0]["k"], rows[0]["accuracy"] > 90, rows.to_frame().shape[0]
    ('ridge', 4, True, 1)
    """
    context = context or default_context()
    rows, label, _ = _labelled_rows("few_shot_score", Z, y)
    listed: list[Any] = [heads] if isinstance(heads, (str, Head)) or hasattr(heads, "fit") else list(heads)
    used = [head(h) for h in listed if not _is_estimator(h)]
    theirs = [h for h in listed if _is_estimator(h)]
    ks = [checked.whole("few_shot_score: k", k, 1) for k in ([shots] if isinstance(shots, (int, np.integer)) else shots)]
    if not listed or not ks:
        raise errors.InvalidError(f"few_shot_score: {len(listed)} heads and {len(ks)} shots, expected one or more of each")
    sizes = {"episodes": episodes, "queries": queries, "ways": ways}
    sizes = {name: checked.whole(f"few_shot_score: {name}", value, 1) for name, value in sizes.items()}
    if split is not None and {"shots": tuple(ks), **sizes} != EPISODES:
        raise errors.InvalidError("few_shot_score: a split is one problem: shots, episodes, queries and ways have no effect")
    lam = _lambda_of(used, lam, tune, split is None and all(k == 1 for k in ks))
    visit = _Visit(context, progress, outcomes, queries)
    handle = ffi.new_handle(visit)
    number = checked.whole("few_shot_score: seed", seed, 0, 2**64 - 1)
    place = checked.choice("few_shot_score: scaling", scaling, SCALINGS)
    held = [*used, *map(_head_of, theirs)]
    candidates = ffi.new("mo_candidate[]", len(held))
    name = ffi.new("char[]", b"rows")
    for i, (candidate, h) in enumerate(zip(candidates, held, strict=True)):
        candidate.features, candidate.head, candidate.seed = name, h._pointer, number
        if i < len(used):
            candidate.scaling = place
            candidate.fixed, candidate.value = lam is not None and _has_lambda(h._pointer), lam or 0.0
    options, kept = struct(
        "mo_eval_options", protocol=lib.MO_PROTOCOL_EPISODE, n_shots=len(ks), shots=ffi.new("int64_t[]", ks), seed=number,
        tune=tune, hold_out=True, progress=lib.binding_fit_progress, state=handle, **sizes,
    )  # fmt: skip
    plan = ffi.new("mo_plan *")
    with embeddings_of(context, rows, label, "few_shot_score") as E:
        try:
            if split is not None:
                _read_split(context, E, split, plan, len(rows))
                options.split, options.n_shots = plan, 1
            for first, n in ((0, len(used)), (len(used), len(theirs))):
                options.tune, options.hold_out = first == 0 and tune, first == 0  # estimators have no temperature
                if n:
                    given = context._pointer, E._live().source, candidates + first, n, options
                    context.call(lib.gate_mo_evaluate, *given, lib.binding_fit_row, handle)
        finally:
            context.call(lib.gate_mo_plan_release, plan)
    unsure = {type(h).__name__ for h in theirs if not hasattr(h, "predict_proba")}
    for row in visit.rows:
        row.update(dict.fromkeys(("nll", "brier", "ece"), np.nan) if row["head"] in unsure else {})
    for warning in visit.warned:
        warnings.warn(warning, errors.EstimateWarning, stacklevel=2)
    return Scores(sorted(visit.rows, key=lambda row: ks.index(row["k"]) if row["k"] in ks else 0))  # the heads of a k together


def _labelled_rows(what, Z, y):
    """(rows [n, d], labels [n], names of the classes)."""
    if hasattr(Z, "toarray"):
        raise errors.InvalidError(f"{what}: sparse rows, expected dense ones: Z.toarray()")
    rows = array_of(Z) if hasattr(Z, "__array__") else np.asarray(Z)
    if rows.ndim != 2 or rows.dtype.kind not in "biuf":
        raise errors.InvalidError(f"{what}: rows of {rows.dtype} {list(rows.shape)}, expected numbers [n, d]")
    if hasattr(Z, "iloc") and aligned.has_keys(y) and not (hasattr(y, "index") and Z.index.equals(y.index)):
        y = aligned.labels(f"{what}: labels", y, Z.index.tolist())
    label, values = number_classes(y, len(rows))
    if len(values) < 2:
        raise errors.InvalidError(f"{what}: labels of {len(values)} classes, expected two or more")
    return rows, label, values


def embeddings_of(context, rows, label, what):
    """The library's embeddings of labelled rows; what: their name in messages."""
    given = constant(rows, context=context), constant(label, context=context)
    made = context.call(lib.gate_mo_embeddings_create, given[0]._live(), given[1]._live(), what.encode())
    return Handle(context, made, release=lib.gate_mo_embeddings_release)


def _is_estimator(head):
    return hasattr(head, "fit") and not isinstance(head, Head)


def _head_of(estimator):
    """A head that fits an estimator of scikit-learn to the support: the logarithms of its probabilities."""
    from sklearn.base import clone

    def logits(Zs, Ys, Zq):
        fitted = clone(estimator).fit(Zs.numpy(), Ys.numpy().argmax(1))
        known = hasattr(fitted, "predict_proba")
        P = fitted.predict_proba(Zq.numpy()) if known else np.eye(Ys.shape[1])[fitted.predict(Zq.numpy())]
        return np.log(np.maximum(P, 1e-300)).astype(Zs.dtype)

    return Head(type(estimator).__name__, logits)


def diagnose(Z: Any, y: Any, epsilon: float = 0.1, context: Context | None = None) -> dict[str, Any]:
    """The effect of the embeddings' geometry on prototypes.

    Parameters
    ----------
    Z, y : array_like
        Rows [n, d] and labels [n], as for `few_shot_score`.
    epsilon : float
        Bound for inclusion, in units of the mean distance of two prototypes.

    Returns
    -------
    dict
        offset (norm of the mean of all rows), spread (of the rows about their prototypes), radius (the largest norm),
        mean_distance (of two prototypes), pairs and missed (of prototypes; those whose boundary under inner products has all
        rows of both on one side), and of each class in `classes` the arrays norm, distance (to the hull of the other prototypes, in
        mean distances), inside (of that hull: under the inner product such a class never wins), included (the distance is below
        epsilon), x and y (in the plane of the prototypes' first two principal components), outer (a corner of the hull in that
        plane) and flagged (nearer to the hull of the others than every corner, as the paper marks interior prototypes).

    Source: train/fit/diagnosis.c

    Examples
    --------
    >>> y = np.arange(12) % 4
    >>> Z = np.array([[0.0, 1], [1, -1], [-1, -1], [0, 0]])[y]
    >>> mochi.diagnose(Z, y)["inside"].tolist()
    [False, False, False, True]
    """
    context = context or default_context()
    rows, label, values = _labelled_rows("diagnose", Z, y)
    options = struct("mo_diagnosis_options", epsilon=checked.real("diagnose: epsilon", epsilon, 0))[0]
    found = ffi.new("mo_diagnosis *")
    with embeddings_of(context, rows, label, "diagnose") as E:
        try:
            context.call(lib.gate_mo_diagnose, E._live(), options, found)
            told: dict[str, Any] = {name: getattr(found, name) for name in ("offset", "spread", "radius", "mean_distance", "pairs", "missed")}
            prototypes = found.prototype[0 : found.classes]
            told["classes"] = values
            for name in ("norm", "distance", "inside", "included", "x", "y", "outer", "flagged"):
                told[name] = np.array([getattr(p, name) for p in prototypes])
            return told
        finally:
            context.call(lib.gate_mo_diagnosis_release, found)


def _lambda_of(heads, lam, tune, one_row):
    """The penalty, if a head has one; refuses an option without effect, as `mochi readouts` does."""
    checked.flag("few_shot_score: tune", tune)
    has = any(_has_lambda(h._pointer) for h in heads)
    why = None
    if lam is not None and (tune or not has):
        why = "lam beside tune, which chooses it" if tune else "lam, which none of the heads has"
    elif tune and not any(lib.mo_regularisation(h._pointer) >= 0 for h in heads):
        why = "tune, but none of the heads has a regularisation"
    elif tune and one_row:
        why = "tune, but a support of one row a class has no rows to hold out"
    if why:
        raise errors.InvalidError(f"few_shot_score: found {why}")
    return None if lam is None else checked.real("few_shot_score: lam", lam, 0)


def _has_lambda(pointer):
    return any(p.ndim == 0 and ffi.string(p.name) == b"lambda" for p in pointer.parameters[0 : pointer.n_parameters])


def _read_split(context, E, split, plan, n):
    """One problem given by the user, as lists of rows that the program can read."""
    if not isinstance(split, (tuple, list)) or len(split) != 2 or all(rows is None for rows in split):
        raise errors.InvalidError("few_shot_score: split, expected (rows to learn, rows to test), one of them may be None")
    with tempfile.TemporaryDirectory() as folder:
        paths = [ffi.NULL, ffi.NULL]
        for i, rows in enumerate(split):
            if rows is not None:
                path = os.path.join(folder, f"{'test' if i else 'train'}.npy")
                np.save(path, _rows_of(rows, n))
                paths[i] = ffi.new("char[]", os.fsencode(path))
        context.call(lib.gate_mo_split_read, E._live(), *paths, plan)


def _rows_of(rows, n):
    """Row numbers, or those that a mask marks."""
    array = array_of(rows)
    if array.dtype != bool:
        numbers = checked.indices("few_shot_score: a part of the split", array)
        outside = np.flatnonzero((numbers < 0) | (numbers >= n))
        if len(outside):
            raise errors.InvalidError(f"few_shot_score: row {numbers[outside[0]]} of the split, expected rows 0 .. {n - 1}")
        return numbers
    if array.shape != (n,):
        raise errors.InvalidError(f"few_shot_score: split by a mask {list(array.shape)}, expected [{n}]")
    return np.flatnonzero(array)
