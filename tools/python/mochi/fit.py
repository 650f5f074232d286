"""Heads side by side on labelled embeddings: what `mochi fit` prints."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import errors
from ._library import ffi, lib
from .context import Context, default_context
from .graphs.sources import number_classes
from .handle import Handle
from .heads import Head, head
from .tensor import constant

FIGURES = ("accuracy", "ci95", "nll", "brier", "ece", "ece_temperature", "seconds")


class _Embeddings(Handle):
    release = lib.gate_mo_embeddings_release


class _Visit:
    """What the library's calls come back to."""

    def __init__(self, context, progress, outcomes):
        self.context, self.progress, self.outcomes = context, progress, outcomes
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
            errors.hold(self.context.address, exception)
            lib.door_raise(self.context.pointer, errors.code_of(exception), str(exception).encode(errors="replace"))

    def take(self, row):
        """A row of the table."""
        found = {"head": ffi.string(row.head).decode(), "k": row.k}
        found.update((name, getattr(row, name)) for name in FIGURES)
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
    shots: Sequence[int] = (4, 8, 16, 32, 64),
    episodes: int = 100,
    queries: int = 30,
    ways: int = 64,
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
        Labels [n] of any type; -1, None, NaN and "" mean unlabelled.
    heads : sequence of str or Head
        Readouts, by name (`mochi.head_names`) or of one's own.
    shots : sequence of int
        k, support rows of each class.
    episodes, queries, ways : int
        Of each k; query rows of each class; the most classes of an episode.
    lam : float
        For every head that has a lambda; None: each head's own.
    tune : bool
        Each episode chooses its head's regularisation by the held-out rows of its support.
    seed : int
        Of the episodes.
    split : (array_like, array_like)
        Row numbers to learn from and to test on, one problem in place of episodes; one of the two None: all other rows.
    outcomes : bool
        Also the accuracy of each episode (of a split, 100 or 0 of each query), which is paired between heads.
    progress : callable
        progress(part, done, of); an exception in it ends the call.

    Returns
    -------
    list of dict
        For each k and head: head, k, accuracy and ci95 in percent (mean over episodes and half width of its 95% interval),
        nll, brier, ece, ece_temperature (after a temperature fitted to held-out rows of the support; NaN at k = 1),
        seconds, failure (why a head has no fit, or None). ``pandas.DataFrame(rows)`` is the table.

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
    rows = np.asarray(Z)
    label, values = number_classes(y, len(rows))
    if rows.ndim != 2 or len(values) < 2:
        raise errors.InvalidError(f"few_shot_score: rows {list(rows.shape)} of {len(values)} classes, expected two or more")
    used = [head(h) for h in ([heads] if isinstance(heads, (str, Head)) else heads)]
    visit = _Visit(context, progress, outcomes)
    handle = ffi.new_handle(visit)
    options, ks = ffi.new("mo_fit_options *"), ffi.new("int64_t[]", [int(k) for k in shots])
    options.n_shots, options.shots = len(shots), ks
    options.episodes, options.queries, options.ways, options.seed, options.tune = episodes, queries, ways, seed, tune
    options.progress, options.state = lib.door_fit_progress, handle
    penalty = ffi.NULL if lam is None else ffi.new("double *", lam)
    setattr(options, "lambda", penalty)
    given = constant(rows, context=context), constant(label, context=context)
    made = context.call(lib.gate_mo_embeddings_create, given[0].pointer(), given[1].pointer(), b"few_shot_score")
    pointers = ffi.new("mo_head *[]", [h.pointer for h in used])
    draws = ffi.new("mo_draws *")
    with _Embeddings(context, made) as E:
        try:
            if split is not None:
                _read_split(context, E, split, draws)
                options.split = draws
            context.call(lib.gate_mo_fit, E.pointer(), pointers, len(used), options, lib.door_fit_row, handle)
        except errors.NumericalError:
            if not any(row["failure"] for row in visit.rows):
                raise
        finally:
            context.call(lib.gate_mo_draws_release, draws)
    return visit.rows


def _read_split(context, E, split, draws):
    """One problem of the user's own, by lists of rows as the program reads them."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [ffi.NULL, ffi.NULL]
        for i, rows in enumerate(split):
            if rows is not None:
                path = os.path.join(folder, f"{'test' if i else 'train'}.npy")
                np.save(path, np.flatnonzero(rows) if np.asarray(rows).dtype == bool else np.asarray(rows, np.int64))
                paths[i] = ffi.new("char[]", os.fsencode(path))
        context.call(lib.gate_mo_draws_read, E.pointer(), *paths, draws)
