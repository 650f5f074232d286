"""`FewShot.label`: shows one example after another, the most useful first, takes its class, and predicts again."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._library import ffi, lib
from .graph import Graph
from .sources import plain_labels

HELP = "a class in full, or Enter for the one that is predicted; s: skip, u: undo, q: leave"


def label_examples(fit: Any, ask: Any = None, show: Any = None) -> dict:
    """Asks for labels until all examples are labelled or the answer is q; returns the labels {example: class}."""
    ask, show = ask or input, show or print
    labels: dict = dict(fit._given or {})
    answered: list = []  # (example, class or None) of this session, for undo
    queue: list = []
    show(f"{fit.graph.name}: {fit.graph.examples} examples, {len(labels)} of them labelled; answer with {HELP}")
    while True:
        shown = {example for example, _ in answered} | set(labels)
        queue = [example for example in queue if example not in shown]
        if not queue and len(shown) < fit.graph.examples:
            many = min(32 + len(shown), fit.graph.examples)
            queue = [example for example in fit.suggest(many).tolist() if example not in shown]
        if not queue:
            show("every example is labelled or skipped")
            return labels
        guess = fit.predict([queue[0]])[0] if len(fit.classes_) else None
        show("\n" + describe(fit.graph, queue[0], labels))
        known_classes = ", ".join(sorted(map(str, set(labels.values()))))
        try:
            answer = ask(f"{known_classes} [{'' if guess is None else guess}] > ").strip()
        except (EOFError, KeyboardInterrupt):
            answer = "q"
        if answer == "q":
            return labels
        if answer == "n":  # a key of `mochi label`, from habit
            answer = ask("name of the class > ").strip()
        if answer == "s":
            answered.append((queue[0], None))
        elif answer == "u":
            if not answered:
                show("nothing to undo")
                continue
            example, known = answered.pop()
            queue.insert(0, example)
            if known is not None:
                del labels[example]
        else:
            known = guess if not answer else next((c for c in labels.values() if str(c) == answer), plain_labels([answer])[0])
            if known is None:
                show(f"expected {HELP}")
                continue
            labels[queue[0]] = known
            answered.append((queue[0], known))
        if answer != "s":
            refit(fit, labels)
            many = f"{len(labels)} label{'s' if len(labels) != 1 else ''}"
            show(str(fit.estimate) if len(fit.classes_) else f"{many}; predictions take two classes")


def refit(fit: Any, labels: dict) -> None:
    """Fits the labels; those of fewer than two classes leave no fit."""
    if len(set(labels.values())) > 1:
        fit.fit(labels)
    else:
        fit._forget()


def describe(graph: Graph, example: Any, labels: dict) -> str:
    """An example in words: its attributes, and its neighbours with their classes where these are known."""
    classes = list(dict.fromkeys(labels.values()))
    names = [ffi.new("char[]", str(c).encode(errors="replace")) for c in classes]
    class_of = np.full(graph.examples, -1)
    for one, c in labels.items():
        class_of[graph.find(one)] = classes.index(c)
    list_of = ffi.new("char *[]", names or [ffi.NULL])
    text = lib.mo_example_words(graph._live(), graph.find(example), ffi.from_buffer("int64_t[]", class_of), list_of)
    try:
        return f"{example}\n{ffi.string(text).decode(errors='replace').rstrip()}"
    finally:
        lib.free(text)
