"""Heads side by side on labelled embeddings: what `mochi fit` prints."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import checked, errors
from ._library import ffi, lib
from .context import Context, default_context
from .functions import failed
from .graphs.sources import array_of, number_classes
from .handle import Handle, struct
from .heads import Head, head
from .tensor import constant

EPISODES: dict[str, Any] = {"shots": (4, 8, 16, 32, 64), "episodes": 100, "queries": 30, "ways": 64}
FIGURES = ("accuracy", "ci95", "nll", "brier", "ece", "ece_temperature", "seconds")


class _Visit:
    """What the library's calls come back to."""

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
            self.stopped = True
            failed(self.context, exception, "few_shot_score")

    def repeated(self, k, draws):
        """How many classes have rows that are drawn repeatedly; warns of them, in the words of `mochi fit`."""
        small, left = draws.small_classes, draws.left_out
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
        found.update((name, getattr(row, name)) for name in FIGURES)
        found["repeated"] = self.repeated(row.k, row.draws) if row.draws else 0
        found["failure"] = ffi.string(row.failure).decode(errors="replace") if row.failure else None
        if self.outcomes:
            values = np.frombuffer(ffi.buffer(row.outcome, 8 * row.n_outcomes)).copy() if row.outcome else np.zeros(0)
            found["outcomes"] = values
        self.rows.append(found)


@ffi.def_extern()
def door_fit_row(row, state):
    """One head at one k."""
    visit = ffi.from_handle(state)
    visit.guarded(visit.take, row)


@ffi.def_extern()
def door_fit_progress(part, done, of, state):
    """Episodes of a head at a k that are done."""
    visit = ffi.from_handle(state)
    visit.guarded(visit.progress or (lambda *_: None), ffi.string(part).decode(), done, of)


def few_shot_score(
    Z: Any,
    y: Any,
    heads: Sequence[str | Head] | str = ("ridge", "logistic", "prototype_euclidean", "prototype_inner"),
    shots: Sequence[int] = EPISODES["shots"],
    episodes: int = EPISODES["episodes"],
    queries: int = EPISODES["queries"],
    ways: int = EPISODES["ways"],
    lam: float | None = None,
    tune: bool = False,
    seed: int = 0,
    split: tuple[Any, Any] | None = None,
    outcomes: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
    context: Context | None = None,
) -> list[dict[str, Any]]:
    """Few-shot accuracy and calibration of heads on labelled embeddings, all on the same episodes.

    Parameters
    ----------
    Z : array_like
        Embeddings [n, d]; computed in float64 where they are, in float32 else.
    y : array_like
        Labels [n], as `graph` takes them; rows of unlabelled ones are left out.
    heads : sequence of str or Head
        Readouts, by name (`mochi.head_names`) or of one's own.
    shots : sequence of int
        k, support rows of each class.
    episodes, queries, ways : int
        Of each k; query rows of each class; the most classes of an episode.
    lam : float
        For every head that has a lambda, one of them at least; None: each head's own.
    tune : bool
        Each episode chooses its head's regularisation by the held-out rows of its support; no lam beside it.
    seed : int
        Of the episodes.
    split : (array_like, array_like)
        Row numbers, or masks [n], to learn from and to test on, one problem in place of episodes; one of the two None: all
        other rows.
    outcomes : bool
        Also the accuracy of each episode (of a split, 100 or 0 of each query), which is paired between heads.
    progress : callable
        progress(part, done, of); an exception in it ends the call.

    Returns
    -------
    list of dict
        For each k and head: head, k, accuracy and ci95 in percent (mean over episodes and half width of its 95% interval),
        nll, brier, ece, ece_temperature (after a temperature fitted to held-out rows of the support; NaN at k = 1),
        seconds, repeated (classes of fewer than k + queries rows, which are drawn repeatedly, with a warning), failure (why a
        head has no fit, or None). ``pandas.DataFrame(rows)`` is the table.

    Source: train/fit/fit.c

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(90) % 3
    >>> Z = 5 * np.eye(3)[y] + rng.normal(size=(90, 3))
    >>> rows = mochi.few_shot_score(Z, y, ["ridge"], shots=(4,), episodes=5, queries=10)
    >>> rows[0]["head"], rows[0]["k"], rows[0]["accuracy"] > 90
    ('ridge', 4, True)
    """
    context = context or default_context()
    rows = array_of(Z) if hasattr(Z, "__array__") else np.asarray(Z)
    if rows.ndim != 2 or rows.dtype.kind not in "biuf":
        raise errors.InvalidError(f"few_shot_score: rows of {rows.dtype} {list(rows.shape)}, expected numbers [n, d]")
    label, values = number_classes(y, len(rows))
    if len(values) < 2:
        raise errors.InvalidError(f"few_shot_score: labels of {len(values)} classes, expected two or more")
    used = [head(h) for h in ([heads] if isinstance(heads, (str, Head)) else heads)]
    ks = [checked.whole("few_shot_score: k", k, 1) for k in ([shots] if isinstance(shots, (int, np.integer)) else shots)]
    if not used or not ks:
        raise errors.InvalidError(f"few_shot_score: {len(used)} heads and {len(ks)} shots, expected one or more of each")
    sizes = {"episodes": episodes, "queries": queries, "ways": ways}
    sizes = {name: checked.whole(f"few_shot_score: {name}", value, 1) for name, value in sizes.items()}
    if split is not None and {"shots": tuple(ks), **sizes} != EPISODES:
        raise errors.InvalidError(
            "few_shot_score: a split is one problem, on which shots, episodes, queries and ways have no effect"
        )
    lam = _lambda_of(used, lam, tune, split is None and all(k == 1 for k in ks))
    visit = _Visit(context, progress, outcomes, queries)
    handle = ffi.new_handle(visit)
    penalty = None if lam is None else ffi.new("double *", lam)
    number = checked.whole("few_shot_score: seed", seed, 0, 2**64 - 1)
    told = {"progress": lib.door_fit_progress, "state": handle}
    options, kept = struct(
        "mo_fit_options", n_shots=len(ks), shots=ffi.new("int64_t[]", ks), seed=number, tune=tune, lam=penalty, **sizes, **told
    )
    given = constant(rows, context=context), constant(label, context=context)
    made = context.call(lib.gate_mo_embeddings_create, given[0].pointer(), given[1].pointer(), b"few_shot_score")
    pointers = ffi.new("mo_head *[]", [h.pointer for h in used])
    draws = ffi.new("mo_draws *")
    with Handle(context, made, release=lib.gate_mo_embeddings_release) as E:
        try:
            if split is not None:
                _read_split(context, E, split, draws, len(rows))
                options.split = draws
            context.call(lib.gate_mo_fit, E.pointer(), pointers, len(used), options, lib.door_fit_row, handle)
        except errors.NumericalError:
            if not any(row["failure"] for row in visit.rows):
                raise
        finally:
            context.call(lib.gate_mo_draws_release, draws)
    for warning in visit.warned:
        warnings.warn(warning, stacklevel=2)
    return visit.rows


def _lambda_of(heads, lam, tune, one_row):
    """The penalty, where a head has one; what has no effect is refused, as `mochi fit` does."""
    checked.flag("few_shot_score: tune", tune)
    parameters = [p for h in heads for p in h.pointer.parameters[0 : h.pointer.n_parameters] if p.ndim == 0]
    has = any(ffi.string(p.name) == b"lambda" for p in parameters)
    why = None
    if lam is not None and (tune or not has):
        why = "lam beside tune, which chooses it" if tune else "lam, which none of the heads has"
    elif tune and not (has or any(0 <= p.low < p.high <= 1 for p in parameters)):
        why = "tune, but none of the heads has a regularisation"
    elif tune and one_row:
        why = "tune, but a support of one row a class has no rows to hold out"
    if why:
        raise errors.InvalidError(f"few_shot_score: found {why}")
    return None if lam is None else checked.real("few_shot_score: lam", lam, 0)


def _read_split(context, E, split, draws, n):
    """One problem of the user's own, by lists of rows as the program reads them."""
    if not isinstance(split, (tuple, list)) or len(split) != 2 or all(rows is None for rows in split):
        raise errors.InvalidError(
            "few_shot_score: split, expected (rows to learn from, rows to test on), one of them at most None"
        )
    with tempfile.TemporaryDirectory() as folder:
        paths = [ffi.NULL, ffi.NULL]
        for i, rows in enumerate(split):
            if rows is not None:
                path = os.path.join(folder, f"{'test' if i else 'train'}.npy")
                np.save(path, _rows_of(rows, n))
                paths[i] = ffi.new("char[]", os.fsencode(path))
        context.call(lib.gate_mo_draws_read, E.pointer(), *paths, draws)


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
