"""Training on a pool of graphs, as in `mochi train`, with progress and Ctrl-C."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import errors
from .._library import ffi, lib
from ..context import Context, default_context, failed, struck
from ..handle import Handle
from .few_shot import cache_folder
from .graph import TASKS, Graph
from .recipes import Recipe
from .trained import Trained

POOL = ("citeseer", "photo", "gnutella06", "astroph", "enzymes", "imdb-binary")


@dataclasses.dataclass(frozen=True)
class Step:
    """The figures of a training step.

    Attributes
    ----------
    step, steps : int
        Its number, from 0, and the run's number of steps.
    loss, gradient_norm, lr, seconds : float
        The mean loss of its episodes; the norm before clipping; the rate; how long it took.
    accuracy : dict
        On the queries of each task ("nc", "lp", "gc") that had an episode, 0 .. 1.
    """

    step: int
    steps: int
    loss: float
    gradient_norm: float
    lr: float
    seconds: float
    accuracy: dict[str, float]

    def __str__(self) -> str:
        tasks = "".join(f", {task} {100 * share:.1f}%" for task, share in self.accuracy.items())
        return f"step {self.step + 1} of {self.steps}: loss {self.loss:.4f}{tasks}"


@dataclasses.dataclass
class Run:
    """A run of `train`.

    Attributes
    ----------
    folder : str
        Contains checkpoint.safetensors, log.jsonl, run.json and, once the run is finished, weights.safetensors
        (train/FORMATS.md).
    finished : bool
        Whether all steps are done; else the run was stopped, and ``train(.., resume=True)`` goes on.
    history : list of Step
        The steps of this call.
    """

    folder: str
    finished: bool = False
    history: list[Step] = dataclasses.field(default_factory=list)

    def load(self) -> Trained:
        """The trained model of a finished run."""
        if not self.finished:
            raise errors.StateError(f"{self.folder}: the run is not finished; train(.., resume=True) goes on")
        return Trained(os.path.join(self.folder, "weights.safetensors"))


class _Watch:
    """The target of the library's callbacks."""

    def __init__(self, context, run, report, tell):
        self.context, self.run, self.report, self.tell = context, run, report, tell
        self.stop, self.failure = False, None

    def strike(self, exception):
        """Stops the run after its step, with a checkpoint; the call then raises the exception."""
        self.failure = exception

    def step(self, r):
        """Notes a step; returns whether to go on."""
        accuracy = {name: r.accuracy[task] for name, task in TASKS.items() if r.accuracy[task] == r.accuracy[task]}
        step = Step(r.step, r.steps, r.loss, r.gradient_norm, r.lr, r.seconds, accuracy)
        self.run.history.append(step)
        return self.report(step) is not False and not self.stop


@ffi.def_extern(error=False, onerror=struck)
def binding_report(r, state):
    """A step is done; an exception stops the run after it, and the call raises it."""
    watch = ffi.from_handle(state)
    try:
        return watch.step(r)
    except BaseException as exception:  # also KeyboardInterrupt, where Ctrl-C is the caller's
        watch.strike(exception)
        return False


@ffi.def_extern(onerror=struck)
def binding_notice(line, state):
    """Progress of a slow preparation; an exception ends it."""
    watch = ffi.from_handle(state)
    try:
        watch.tell(ffi.string(line).decode(errors="replace"))
    except BaseException as exception:
        watch.strike(exception)
        failed(watch.context, exception, "train")


def train(
    out: str | os.PathLike,
    pool: Sequence[str | Graph | tuple[Graph, str]] = POOL,
    recipe: str = "best",
    progress: bool | Callable[[Step], Any] = True,
    resume: bool = False,
    checkpoint_every: int | None = None,
    context: Context | None = None,
    **options: Any,
) -> Run:
    """Meta-trains on a pool of graphs, like `mochi train`; with the same BLAS core even the bits agree.

    Ctrl-C stops the run after the current step, writes a checkpoint, and the call returns.

    Parameters
    ----------
    out : path
        The folder of the run, new or empty unless it is resumed.
    pool : sequence
        Names or files, "cora:nc+lp" for these tasks only; a `Graph`, or (graph, "nc+lp"). The default comes with the library.
    recipe : str
        "best", "paper", "paper++" or "released".
    progress : bool or callable
        True: a tqdm bar if tqdm is installed, else lines of text. A callable gets each `Step` and stops the run by returning
        False; an exception in it also stops the run, and this call raises it.
    resume : bool
        Continue a stopped run, with the same arguments.
    checkpoint_every : int
        Steps; None: only at the end.
    **options
        Replace the recipe's: the settings of `mochi train`, whose ranges are its too; k and q are a number, or bounds. The signature
        has all by name; None there: the recipe's value.

    Source: train/run/
    """
    context = context or default_context()
    run = Run(os.fspath(out))
    with tempfile.TemporaryDirectory() as folder, _shown(progress) as (report, tell), contextlib.ExitStack() as stack:
        names, paths = _named(pool, folder)
        settings = Recipe(recipe, names, **options)
        watch = _Watch(context, run, report, tell)
        handle = ffi.new_handle(watch)
        check = lib.gate_mo_run_check if resume else lib.gate_mo_run_folder
        context.call(check, context._pointer, os.fsencode(out))
        opened = stack.enter_context(_opened(context, settings, paths, handle))
        made = context.call(lib.gate_mo_recipe_model, context._pointer, settings.settings, opened._live())
        model = stack.enter_context(Handle(context, made, release=lib.gate_mo_model_release))
        o = ffi.new("mo_trainer_options *", settings.settings.training)
        kept = ffi.new("char[]", os.fsencode(out)), ffi.new("char[]", settings.text().encode())
        o.out, o.settings, o.checkpoint_every = *kept, checkpoint_every or 0
        made = context.call(lib.gate_mo_trainer_create, model._live(), opened._live(), o)
        trainer = stack.enter_context(Handle(context, made, keep=kept, release=lib.gate_mo_trainer_release))
        if resume:
            context.call(lib.gate_mo_trainer_resume, trainer._live())
        with _interruptible(watch):
            context.call(lib.gate_mo_trainer_run, trainer._live(), lib.binding_report, handle)
        if watch.failure is not None:
            raise watch.failure
        run.finished = not run.history or run.history[-1].step + 1 == o.steps
        if run.finished:
            context.call(lib.gate_mo_trainer_finish, trainer._live())
    return run


def _signature() -> inspect.Signature:
    """What `help` and editors show: every setting of the recipes by name, with the type of its value."""
    told = {name: json.loads(Recipe(name, []).text()) for name in ("paper++", "best")}
    kinds = {key.replace("lambda", "lam"): type(value) for name in told for key, value in told[name].items()}
    own = [p for p in inspect.signature(train).parameters.values() if p.kind is not p.VAR_KEYWORD]
    for key in kinds.keys() - {"pool", "recipe"}:
        own.append(inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kinds[key] | None))
    return inspect.Signature(sorted(own, key=lambda p: p.kind), return_annotation=Run)


if not getattr(lib, "__sphinx_mock__", False):  # there is no library where the site is made
    train.__signature__ = _signature()  # type: ignore[attr-defined]


def _named(pool, folder):
    """(names of the graphs in run.json, names the library opens): graphs in memory become temporary files."""
    names, paths = [], []
    for i, item in enumerate([pool] if isinstance(pool, (str, Graph)) else pool):
        g, tasks = (item[0], ":" + item[1]) if isinstance(item, tuple) else (item, "")
        if isinstance(g, Graph):
            os.mkdir(os.path.join(folder, str(i)))
            path = os.path.join(folder, str(i), g.name.replace("/", "_") + ".npz")
            g.context.call(lib.gate_mo_graph_write, g._live(), os.fsencode(path))
            names.append(g.name + tasks)
            paths.append(path + tasks)
        else:
            names.append(os.fspath(g) + tasks)
            paths.append(names[-1])
    return names, paths


def _opened(context, settings, paths, handle):
    features = ffi.new("mo_feature_options *", settings.settings.features)
    kept = [ffi.new("char[]", os.fsencode(path)) for path in paths]
    list_of, folder = ffi.new("char *[]", kept), cache_folder()
    features.cache = folder
    given = list_of, len(paths), features, settings.settings.link_share, lib.binding_notice, handle
    made = context.call(lib.gate_mo_pool_open, context._pointer, *given)
    pool = Handle(context, made, keep=(kept, folder), release=lib.gate_mo_pool_release)
    context.call(lib.gate_mo_pool_set_families, made, ffi.addressof(settings.settings.family, 0))
    return pool


@contextlib.contextmanager
def _interruptible(watch) -> Iterator[None]:
    """The first Ctrl-C stops the run after its step; a second one acts as usual in Python."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def stop(number, frame):
        watch.stop = True
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _shown(progress) -> Iterator[tuple[Callable[[Step], Any], Callable[[str], Any]]]:
    """(callback for steps, callback for notices)."""
    if callable(progress):
        yield progress, lambda line: None
    elif not progress:
        yield (lambda step: None), (lambda line: None)
    else:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            yield _lines, print
            return
        with tqdm(unit="step") as bar:

            def report(step):
                bar.total, bar.n = step.steps, step.step + 1
                bar.set_postfix_str(str(step).partition(": ")[2])

            yield report, bar.set_description_str


def _lines(step):
    """A line of text for each twentieth of the run."""
    twentieth = max(1, step.steps // 20)
    if (step.step + 1) % twentieth == 0 or step.step + 1 == step.steps:
        print(step)
        sys.stdout.flush()
