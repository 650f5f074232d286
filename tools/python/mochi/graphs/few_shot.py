"""Predicts the labels of a graph's examples from a few given ones."""

from __future__ import annotations

import dataclasses
import json
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import numpy as np

from .. import checked, errors
from .._library import ffi, lib
from ..handle import Handle, struct
from ..heads import Head
from ..heads import head as head_of
from ..tensor import constant, lists_of
from . import aligned
from .graph import Graph, _copied, graph
from .labelling import label_examples
from .sources import array_of, number_classes, plain_labels


@dataclasses.dataclass(frozen=True)
class Estimate:
    """The accuracy to expect, from fits that leave labelled examples out in turn.

    Attributes
    ----------
    accuracy, low, high : float
        The expected accuracy, mean over classes, and its 95% interval (Wilson 1927); NaN without held-out examples.
    n_classes, labelled, held_out, small_classes : int
        Numbers of: classes; labelled examples; examples left out; classes with one example, which cannot be left out.
    temperature : float
        Of the probabilities.
    nll : float
        Mean cross-entropy of the held-out labels.
    baseline : float
        The accuracy, estimated in the same way, of the features two hops away alone.
    transductive : bool
        Whether the readout is refitted on its predictions for all examples.
    other : float
        With transductive="auto", the accuracy, estimated in the same way, of the readout that was not chosen; else NaN.
    """

    accuracy: float
    low: float
    high: float
    n_classes: int
    labelled: int
    held_out: int
    small_classes: int
    temperature: float
    nll: float
    baseline: float
    transductive: bool
    other: float

    def __str__(self) -> str:
        if self.accuracy != self.accuracy:
            return "expected accuracy: unknown; it takes two labels of a class"
        low, high = 100 * self.low, 100 * self.high
        interval = f"(95%: {low:.1f} to {high:.1f})"
        return f"expected accuracy {100 * self.accuracy:.1f}% {interval}, from {self.held_out} labels left out"


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Why an example is predicted as it is.

    Attributes
    ----------
    example, label
        The example, and its predicted class.
    labels : list of (example, class, float)
        The labelled examples, and what each adds to the logit of its own class; those that add most come first.
    kernels : dict
        {kernel: {class: what it adds to the class's logit by all labels}}.
    logits : dict
        {class: logit}: the sums of either.

    Examples
    --------
    >>> labels = {"apple pie": "dessert", "brownies": "dessert", "beef stew": "main", "burger": "main"}
    >>> isinstance(mochi.load("best").few_shot(mochi.graph("kitchen"), labels).explain("cheesecake"), mochi.Explanation)
    True
    """

    example: Any
    label: Any
    labels: list[tuple[Any, Any, float]]
    kernels: dict[str, dict[Any, float]]
    logits: dict[Any, float]

    def __str__(self) -> str:
        lines = [f"{self.example}: {self.label}; each label adds to the logit of its own class:"]
        lines += [f"  {added:+9.3f}   {name}, {label}" for name, label, added in self.labels[:8]]
        if len(self.labels) > 8:
            lines.append(f"              {len(self.labels) - 8} others")
        return "\n".join(lines)


class FewShot(Handle):
    """A readout of a graph's examples, fitted on a few labels; made by `Trained.few_shot`.

    Features and embeddings are computed once; `fit` can be called with several sets of labels.

    Attributes
    ----------
    classes_ : numpy.ndarray
        The labels' values, rising [C]; columns of logits and probabilities are in this order.

    Arguments and results give an example by its name if the graph has names (`Graph.names`), else by its number. Results for all
    examples are in the order of their numbers, which is the order of the names.
    """

    release = lib.gate_mo_few_shot_release
    _asked = "labels"  # the argument of Trained.few_shot that a fit is given
    _given: dict[Any, Any] | None  # the labels of the fit by example

    def __init__(self, g: Graph, options: Any, held: list, labels: Any, weights: Any, saved: Any = None):
        place = g._live() if saved is None else saved.graph
        made = g.context.call(lib.gate_mo_few_shot_open_as, place, task_of(g), options, weights)
        super().__init__(g.context, made, keep=(g._held(), held))
        self._take_graph(g, options, weights)
        if saved is not None:
            self._take_saved(saved)
        elif labels is not None:
            self.fit(labels)

    def _take_graph(self, g, options, weights):
        self.graph, self._options, self._weights = g, options, weights
        self._examples = g.examples
        self._named = g.names is not None  # read now, as the graph may be closed later
        self._forget()
        self._made: tuple[Any, dict[str, Any]] | None = None  # (the model, the options) with which it was made
        self._moved = False  # whether it is a fit of another graph

    def fit(self, labels: Any) -> FewShot:
        """Fits the readout on labels, given as for `Trained.few_shot`; returns itself."""
        known, label, classes = _labelled(self.graph, labels)
        self._forget()  # a fit that fails leaves none
        self.context.call(lib.gate_mo_few_shot_fit, self._live(), integers(known), integers(label), len(label))
        return self._take(known, label, classes)

    def _take(self, known, label, classes):
        self._known, self._label, self.classes_ = known, label, classes
        self._given = dict(zip(_called(self.graph, known).tolist(), classes[label].tolist(), strict=True))
        self._fewest = int(np.bincount(label, minlength=1).min())
        return self

    def _take_saved(self, saved):
        """Takes a mo_saved_readout in place of fitting."""
        known = saved.known
        self.context.call(lib.gate_mo_few_shot_take, self._live(), saved)
        names = [ffi.string(known.name[c]).decode() for c in range(known.classes)]
        values = json.loads(ffi.string(saved.values)) if saved.values else names
        self._take(_copied(known.id, known.n), _copied(known.label, known.n), np.array(values))

    def _forget(self):
        """Leaves no fit."""
        self._known = self._label = self.classes_ = np.zeros(0, np.int64)
        self._given, self._fewest = None, 0

    def label(self, ask: Callable[[str], str] | None = None, show: Callable[[str], None] | None = None) -> dict[Any, Any]:
        """Labels the graph with you: shows an example with its attributes and neighbours, the most useful first, reads its class,
        fits again, and tells the expected accuracy; the loop of `mochi label` for notebooks and plain terminals.

        Answers are a class (a new one too), Enter for the one that is predicted, s to skip, u to undo, q (or Ctrl-C) to leave.

        Parameters
        ----------
        ask : callable
            ask(prompt) returns an answer; None: `input`, which notebooks show as a field.
        show : callable
            show(text) prints; None: `print`.

        Returns
        -------
        dict
            The labels {example: class}, those that were fitted before too; the readout is fitted on them, if they have two classes.

        Examples
        --------
        >>> fit = mochi.load("best").few_shot(mochi.graph("kitchen"))
        >>> answers = iter(["main", "dessert", "s", "q"])
        >>> fit.label(ask=lambda prompt: next(answers), show=lambda text: None)
        {'cottage pie': 'main', 'carrot cake': 'dessert'}
        """
        return label_examples(self, ask, show)

    @property
    def labelled(self) -> np.ndarray:
        """The labelled examples [n], in the order of their numbers."""
        return np.array(list(self._given or ()), object) if self._moved else _called(self.graph, self._known)

    @property
    def estimate(self) -> Estimate:
        """The expected accuracy, from leaving labels out in turn."""
        e = self.context.call(lib.gate_mo_few_shot_expect, self._live())
        return Estimate(**{f.name: getattr(e, f.name.removeprefix("n_")) for f in dataclasses.fields(Estimate)})

    def on(self, other: Any) -> FewShot:
        """The fit on another graph, for predictions of its examples: nothing is fitted again.

        Examples are compared with the labelled ones by features that have the fit's means and spreads; an example whose
        surroundings are as they were is predicted as before. A refit on its own predictions (`transductive`) is left out, and
        "ridge" and the other heads of embeddings are refused, as coordinates differ between graphs.

        Parameters
        ----------
        other : Graph
            Or what `graph` takes: the fit's graph as it is now, with nodes and edges come and gone, in which most labelled
            examples still have their names and attributes (without attributes, their edges); or another graph or set, which is
            then read beside the fit's own. Attributes are those of the fit's graph, matched by name, or refused by name.

        Examples
        --------
        >>> labels = {"apple pie": "dessert", "brownies": "dessert", "beef stew": "main", "burger": "main"}
        >>> fit = mochi.load("best").few_shot(mochi.graph("kitchen"), labels)
        >>> more = fit.graph.grown({"clafoutis": [40, 0, 0, 1, 1]}, [["clafoutis", "brownies"], ["clafoutis", "apple pie"]])
        >>> fit.on(more).predict(["clafoutis", "cottage pie"]).tolist()
        ['dessert', 'main']
        """
        now = graph(other)
        if now.context is not self.context:
            raise errors.InvalidError(f"{now.name}: expected a graph of the fit's context")
        if self._options.n_experts:
            raise errors.UnsupportedError(f"{now.name}: rows of experts are those of {self.graph.name}, and no other graph's")
        if not len(self._known):
            raise errors.StateError(f"few-shot: expected {self._asked} before the fit is applied to {now.name}, found none")
        same = [(list(g._live().hash), g.names, g.columns) for g in (now, self.graph)]
        if same[0] == same[1]:
            return self
        made, ids = type(self).__new__(type(self)), np.empty_like(self._known)
        options = ffi.new("mo_few_shot_options *", self._options[0])
        if options.transductive != lib.MO_TRANSDUCTIVE_NEVER:
            options.transductive = lib.MO_TRANSDUCTIVE_OFF
        call, known = self.context.call, (integers(self._known), len(self._known))
        inside = call(lib.gate_mo_graph_beside, self.graph._live(), now._live(), *known, b"few-shot", integers(ids))
        inside = Handle(self.context, inside, release=lib.gate_mo_graph_release)
        opened = call(lib.gate_mo_few_shot_open_as, inside._live(), task_of(now), options, self._weights)
        Handle.__init__(made, self.context, opened, keep=(inside, self))
        made._take_graph(now, options, self._weights)
        with lists_of(self.context, {}) as arrays:
            call(lib.gate_mo_few_shot_save, self._live(), arrays._live())
            saved = {"arrays": arrays._live(), "known": self._labels(ids), "old": known[0]}
            call(lib.gate_mo_few_shot_take, made._live(), ffi.new("mo_saved_readout *", saved))
        made._known, made._label, made.classes_, made._given, made._fewest = ids, self._label, self.classes_, self._given, self._fewest
        made._moved = True
        return made

    def predict_new(self, rows: Any, edges: Any = (), as_frame: bool = False) -> Any:
        """Predictions for nodes that join the graph, in the order of the rows: `on` the graph with them (`Graph.grown`).

        Parameters
        ----------
        rows, edges
            The new nodes' attributes, and their edges, as for `Graph.grown`.
        as_frame : bool
            Return a pandas Series, indexed by the nodes' names.

        Examples
        --------
        >>> kitchen = mochi.graph("kitchen")
        >>> labels = {"apple pie": "dessert", "brownies": "dessert", "beef stew": "main", "burger": "main"}
        >>> fit = mochi.load("best").few_shot(kitchen, labels)
        >>> clafoutis = {"minutes": 25, "served": "warm", "oven": 0}
        >>> fit.predict_new({"clafoutis": clafoutis}, [["clafoutis", "brownies"], ["clafoutis", "apple pie"]]).tolist()
        ['dessert']
        """
        more = self.graph.grown(rows, edges)
        fit: Any = self.on(more)
        return fit.predict(np.arange(more.nodes) >= self.graph.nodes, as_frame)

    @overload
    def predict(self, examples: Any = None, as_frame: Literal[False] = False) -> np.ndarray: ...
    @overload
    def predict(self, examples: Any = None, *, as_frame: Literal[True]) -> Any: ...
    def predict(self, examples=None, as_frame=False):
        """The class of each example [n], with the names used in the labels.

        Parameters
        ----------
        examples : sequence or Graph
            Examples, or a mask, bool [examples]; None: all. Or another graph, for all examples of that (`on`).
        as_frame : bool
            Return a pandas Series, indexed by the examples' names.
        """
        if _is_graph(examples):
            return self.on(examples).predict(as_frame=as_frame)
        found = self.classes_[np.argmax(self._rows(lib.gate_mo_few_shot_probabilities, examples), 1)]
        return self._frame(found, examples) if as_frame else found

    def score(self, labels: Any) -> float:
        """The accuracy on examples with known labels: a dict, a Series, a DataFrame or an array, as for `fit`."""
        if aligned.has_keys(labels):
            examples, values = map(list, zip(*aligned.label_pairs("score", labels), strict=True))
        else:
            examples, values = None, list(labels)
        found, plain = self.predict(examples), plain_labels(values)
        if len(found) != len(plain) or not any(value is not None for value in plain):
            raise errors.InvalidError(f"score: {len(plain)} labels, expected one or more, of {len(found)} examples")
        return float(np.mean([own == value for own, value in zip(found, plain, strict=True) if value is not None]))

    @overload
    def predict_proba(self, examples: Sequence | None = None, as_frame: Literal[False] = False) -> np.ndarray: ...
    @overload
    def predict_proba(self, examples: Sequence | None = None, *, as_frame: Literal[True]) -> Any: ...
    def predict_proba(self, examples=None, as_frame=False):
        """Probabilities softmax(logits / temperature), float64 [n, C]; the temperature is fitted to left-out labels.

        as_frame: return a pandas DataFrame with the examples' names as index and the classes as columns.

        Warns if a class has fewer than 4 labels: over 25 graphs the mean of the largest probabilities was up to 41 points below
        and 20 above the accuracy with one label per class, up to 20 below and 19 above with two.
        """
        if 0 < self._fewest < 4:
            text = f"few-shot: probabilities are rough below 4 labels of a class, found {self._fewest}"
            warnings.warn(text, errors.EstimateWarning, stacklevel=2)
        found = self._rows(lib.gate_mo_few_shot_probabilities, examples)
        return self._frame(found, examples) if as_frame else found

    def predict_sets(self, coverage: float = 0.9, examples: Sequence | None = None) -> np.ndarray:
        """The classes of each example that are as probable as held-out labels show the right one to be, bool [n, C].

        A set has the right class with probability `coverage`, as far as the labels are drawn as the examples are (conformal
        prediction, Vovk et al. 2005). It has every class with fewer than coverage / (1 - coverage) labels left out in turn, and for an
        example which no label reaches.
        """
        found = self._rows(lib.gate_mo_few_shot_probabilities, examples)
        share = checked.real("predict_sets: coverage", coverage)
        if not 0 < share < 1:
            raise errors.InvalidError(f"predict_sets: coverage {coverage}, expected one between 0 and 1")
        sets = found >= self.context.call(lib.gate_mo_few_shot_set_bound, self._live(), share)
        sets[np.arange(len(sets)), np.argmax(found, 1)] = True
        sets[~self.reached(examples)] = True
        return sets

    def explain(self, example: Any) -> Explanation:
        """Why an example is predicted as it is: what each label adds to the logit of its own class, by way of each kernel.

        The parts add up to the logits of the readout before it is refitted on its own predictions (if it is). The readout is that
        of the weights, with at most 1024 labels, or "ridge".

        Examples
        --------
        >>> labels = {"apple pie": "dessert", "brownies": "dessert", "beef stew": "main", "burger": "main"}
        >>> why = mochi.load("best").few_shot(mochi.graph("kitchen"), labels).explain("cheesecake")
        >>> print(why.label, len(why.labels), why.logits["dessert"] > why.logits["main"])
        dessert 4 True
        """
        self._unmoved("explain")
        (i,) = self._numbers_of([example])
        found = ffi.new("mo_few_shot_reasons *")
        try:
            self.context.call(lib.gate_mo_few_shot_explain, self._live(), int(i), found)
            n, experts = found.n, found.experts
            weight = np.frombuffer(ffi.buffer(found.weight, 8 * n * experts)).reshape(experts, n).copy()
            ids, label = _copied(found.id, n), self.classes_[_copied(found.label, n)]
            logit = np.frombuffer(ffi.buffer(found.logit, 8 * found.classes)).copy()
            names = [ffi.string(lib.mo_expert_words(found.expert[e])).decode() for e in range(experts)]
        finally:
            lib.mo_few_shot_reasons_release(found)
        adds = weight.sum(0)
        order = np.argsort(-np.abs(adds), kind="stable")
        called = _called(self.graph, ids)
        return Explanation(
            example=example,
            label=self.predict([example])[0],
            labels=[(called[k], label[k], float(adds[k])) for k in order],
            kernels={
                name: {c: float(row[label == c].sum()) for c in self.classes_.tolist()} for name, row in zip(names, weight, strict=True)
            },
            logits=dict(zip(self.classes_.tolist(), logit.tolist(), strict=True)),
        )

    def _unmoved(self, what):
        if self._moved:
            raise errors.UnsupportedError(f"{what}: a fit of another graph; ask that fit")

    def reached(self, examples: Sequence | None = None) -> np.ndarray:
        """Whether a label reaches each example, bool [n], by edges or by attributes that tell the classes apart.

        Of the others nothing is known: `predict_proba` gives each the classes' shares of the labels.
        """
        ids = np.arange(self.graph.examples) if examples is None else self._numbers_of(examples)
        p = self._live()
        return np.array([lib.mo_few_shot_reaches(p, int(i)) for i in ids], bool)

    def logits(self, examples: Sequence | None = None) -> np.ndarray:
        """Logits, float64 [n, C], also of examples that no label reaches."""
        return self._rows(lib.gate_mo_few_shot_logits, examples)

    decision_function = logits

    def _frame(self, found, examples):
        import pandas

        ids = np.arange(self._examples) if examples is None else self._numbers_of(examples)
        index = pandas.Index(_called(self.graph, ids), name="example")
        if found.ndim == 1:
            return pandas.Series(found, index, name="class")
        return pandas.DataFrame(found, index, pandas.Index(self.classes_, name="class"))

    def save(self, path: str | os.PathLike) -> None:
        """Writes the fitted readout and its labels, as `mochi predict --save` does: read by `Trained.few_shot` with `readout`, and
        by `mochi predict --readout`, for the same graph and weights. Nothing is fitted again."""
        self._unmoved("save")
        values = self.classes_.tolist()
        if not all(isinstance(v, (str, int, float)) for v in values):
            raise errors.InvalidError("save: expected classes that are texts or numbers, as a file has no others")
        names = [ffi.new("char[]", str(v).encode()) for v in values]
        list_of = ffi.new("char *[]", names)
        known = ffi.new("mo_labels *", {**self._labels(self._known), "name": list_of})
        told = json.dumps(values).encode() if values else ffi.NULL
        given = self._live(), self.graph._live(), self._options, self._weights, known
        self.context.call(lib.gate_mo_few_shot_write, *given, told, os.fsencode(path))

    def _labels(self, ids):
        """The members of mo_labels; of targets there are neither labels nor classes."""
        label = integers(self._label) if len(self._label) else ffi.NULL
        return {"n": len(ids), "classes": len(self.classes_), "id": integers(ids), "label": label}

    def _rows(self, gate, examples):
        ids = np.arange(self.graph.examples) if examples is None else self._numbers_of(examples)
        out = np.empty((len(ids), max(1, len(self.classes_))))
        self.context.call(gate, self._live(), integers(ids), len(ids), reals(out))
        return out

    def _numbers_of(self, examples):
        """The numbers of examples given by name (or by number without names), or marked by a mask."""
        name = self.graph.name if self.graph._owned is not None else "few-shot"
        if _is_graph(examples) or hasattr(examples, "columns"):
            raise errors.InvalidError(
                f"{name}: a {type(examples).__name__}, expected examples of the graph that the readout was fitted on; `on(graph)` is "
                "the fit on another graph, and `predict_new(rows, edges)` predicts nodes that join this one"
            )
        if isinstance(examples, (str, int, np.integer)):
            examples = [examples]
        elif hasattr(examples, "__array__"):
            examples = array_of(examples)
            if examples.ndim != 1:
                raise errors.InvalidError(f"{name}: examples {list(examples.shape)}, expected [n], or a mask [{self._examples}]")
        examples = list(examples) if not isinstance(examples, np.ndarray) else examples.tolist()
        if examples and all(isinstance(e, (bool, np.bool_)) for e in examples):
            if len(examples) != self._examples:
                raise errors.InvalidError(f"{name}: a mask of {len(examples)}, expected one of {self._examples} examples")
            return np.flatnonzero(examples)
        if self._named or not all(type(e) is int for e in examples):
            return np.array([self.graph.find(e) for e in examples], np.int64)
        for e in examples:
            if not 0 <= e < self._examples:
                raise errors.InvalidError(f"{name}: {e} is none of its {self._examples} examples")
        return np.array(examples, np.int64)

    def suggest(self, n: int) -> np.ndarray:
        """The n examples to label next [n], the most useful first (V-optimal design, Fedorov 1972)."""
        self._unmoved("suggest")
        out = np.empty(checked.whole("suggest: n", n, 1, self.graph.examples), np.int64)
        known = integers(self._known), len(self._known)
        self.context.call(lib.gate_mo_few_shot_suggest, self._live(), *known, n, integers(out))
        return _called(self.graph, out)

    def __repr__(self) -> str:
        return f"mochi.FewShot({self.graph.name!r}, labels={len(self._known)}, classes={len(self.classes_)})"

    def __reduce__(self):
        if self._made is None:
            raise TypeError(f"this {type(self).__name__} cannot be pickled: it was not made by Trained.few_shot")
        model, options = self._made
        return _refitted, (model, self.graph, {**options, self._asked: self._given})


def _is_graph(source):
    return any(hasattr(source, part) for part in ("adjacency", "edge_index", "tocoo", "is_directed"))


def _refitted(model, g, options):
    return model.few_shot(g, **options)


def integers(array: np.ndarray) -> Any:
    """The memory of an array of int64, for the library to read or write."""
    return ffi.from_buffer("int64_t[]", array, require_writable=array.flags.writeable)


def reals(array: np.ndarray) -> Any:
    """The memory of an array of float64, for the library to write."""
    return ffi.from_buffer("double[]", array, require_writable=True)


def task_of(g: Graph) -> int:
    """The classes of nodes, or of the graphs of a set."""
    return lib.MO_TASK_GC if g.graphs > 1 else lib.MO_TASK_NC


def cache_folder() -> Any:
    """The folder for cached features, from MOCHI_CACHE as in the program; NULL: none."""
    folder = os.environ.get("MOCHI_CACHE")
    return ffi.new("char[]", os.fsencode(folder)) if folder else ffi.NULL


ATTRIBUTES = ("auto", "scaled", "raw")  # in the order of mo_attributes


def options_of(
    g: Graph, weights: Any, head: str | Head | None, lam: float | None, experts: Any = (), attributes: str = "auto"
) -> tuple[Any, list]:
    """(the library's options, objects to keep alive); experts: rows [nodes, w], in a dict by name or in a sequence."""
    readout, lam = None if head is None else head_of(head), None if lam is None else checked.real("few_shot: lam", lam)
    if lam == 0:
        raise errors.InvalidError("few_shot: lam is 0, expected a number above 0, or None for the trained value")
    options, kept = struct("mo_few_shot_options", weights=weights, cache=cache_folder(), head=readout, lam=lam)
    if not isinstance(experts, dict) and hasattr(experts, "iloc"):
        experts = (experts,)
    named = experts if isinstance(experts, dict) else {f"rows {i}": rows for i, rows in enumerate(experts)}
    list_of = ffi.new("mo_expert[]", len(named))
    for at, (name, rows) in zip(list_of, named.items(), strict=True):
        expert, held = struct("mo_expert", name=str(name), rows=constant(_expert_rows(g, name, rows), context=g.context))
        at.name, at.rows = expert.name, expert.rows
        kept += held
    options.attributes = checked.choice("attributes", attributes, ATTRIBUTES)
    options.experts, options.n_experts = list_of if named else ffi.NULL, len(named)
    return options, [*kept, list_of]


def _expert_rows(g, name, rows):
    """The rows of an expert in the order of the nodes."""
    names = range(g.nodes) if g.names is None or g.graphs > 1 else g.names
    return array_of(aligned.rows(f"few-shot: expert {name}", rows, names))


def _called(g, ids):
    """Examples by the graph's names, or by number."""
    if g.names is None:
        return ids.copy()
    every = g.names
    names = [every[i] for i in ids]
    if names and all(type(name) is int for name in names):
        return np.array(names)
    called = np.empty(len(names), object)
    for i, name in enumerate(names):
        called[i] = name
    return called


def _labelled(g, labels):
    """(ids rising, classes 0 .. C - 1 of each, values of the classes)."""
    if isinstance(labels, (str, os.PathLike)):
        raise errors.InvalidError(
            f"few-shot: labels {os.fspath(labels)!r}, expected labels, not a path: read it, as by pandas.read_csv(path, index_col=0)"
        )
    if aligned.has_keys(labels):
        pairs = aligned.label_pairs("few-shot: labels", labels)
        ids = np.array([g.find(example) for example, _ in pairs], np.int64)
        values = plain_labels([value for _, value in pairs])
        mask = not isinstance(labels, dict) and _is_mask(values)
    else:
        ids = np.arange(g.examples)
        values = plain_labels(labels if hasattr(labels, "__array__") else list(labels))
        mask = _is_mask(values)
    if mask:
        marked = np.zeros(g.examples, bool)
        if len(values) != len(ids):
            raise errors.InvalidError(f"few-shot: a mask of {len(values)}, expected one of {len(ids)} examples")
        marked[ids] = values
        ids, values = np.arange(g.examples), _own_labels(g, marked)
    label, classes = number_classes(values, len(ids))
    if len(classes) < 2:
        raise errors.InvalidError(f"few-shot: labels of {len(classes)} classes, expected two or more")
    kept = np.argsort(ids, kind="stable")
    kept = kept[label[kept] >= 0]
    ids, label = ids[kept], label[kept]
    if (np.diff(ids) == 0).any():
        twice = _called(g, ids[:-1][np.diff(ids) == 0])[0]
        raise errors.InvalidError(f"few-shot: example {twice!r} is labelled twice")
    return ids, label, classes


def _is_mask(values):
    bools = any(isinstance(v, bool) for v in values)
    if bools and None in values:
        raise errors.InvalidError(
            "few-shot: True, False and gaps, which is neither a mask nor labels; a dict {example: class} may have classes "
            "True and False"
        )
    return bools


def _own_labels(g, mask):
    own = g.y
    if own is None:
        raise errors.InvalidError(f"few-shot: {g.name} has no labels of its own, which a mask asks for")
    return [g.classes[c] if known and c >= 0 else None for c, known in zip(own, mask, strict=True)]
