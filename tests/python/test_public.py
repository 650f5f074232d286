"""Results and errors have public types, and the examples in docstrings run."""

import doctest
import importlib
import pkgutil
import re

import mochi
import numpy as np
import pytest

pytest.importorskip("sklearn")
import mochi.sklearn  # noqa: E402  examples use it


def test_results_are_of_the_public_types():
    square = mochi.graph([[0, 1], [1, 2], [2, 3], [3, 0]])
    trained = mochi.load("best")
    fit = trained.few_shot(square, {0: "a", 1: "a", 2: "b", 3: "b"})
    assert type(square) is mochi.Graph and type(trained) is mochi.Trained and type(fit) is mochi.FewShot
    assert type(fit.estimate) is mochi.Estimate and type(mochi.head("ridge").check()) is mochi.Check
    step = mochi.Step(0, 4, 1.5, 2.0, 0.1, 0.0, {"nc": 0.5})
    run = mochi.Run("folder", history=[step])
    assert not run.finished and str(step) == "step 1 of 4: loss 1.5000, nc 50.0%"
    with mochi.Tape() as tape:
        assert mochi.current_tape() is tape
    assert not mochi.default_context().forked


def test_what_is_not_there_or_too_large_has_its_own_error():
    with pytest.raises(mochi.FileError) as caught:
        mochi.load("/no/such/weights.safetensors")
    assert isinstance(caught.value, OSError)
    with mochi.Tape(), pytest.raises(mochi.OutOfMemoryError) as caught:
        mochi.ops.contiguous(mochi.ops.broadcast_to(np.ones(1), (1 << 20, 1 << 20, 1 << 16)))
    assert isinstance(caught.value, MemoryError)


W = mochi.parameter(np.array([[2.0, 1.0], [1.0, 3.0]]))
ops = mochi.ops
# What a user gets wrong, and what the message has to say.
MISTAKES = {
    "no tape": (lambda: ops.exp(np.ones(2)), "write this inside `with mochi.Tape"),
    "a second gradient": (lambda: twice(lambda tape, y: tape.grad(y, W)), "retain=True"),
    "a number as the loss": (lambda: on_tape(lambda tape: tape.backward(3.0)), "the loss: found float 3.0, expected a tensor"),
    "a number as y": (lambda: on_tape(lambda tape: tape.grad(3.0, [W])), "grad: y: found float 3.0, expected a tensor"),
    "an array as x": (lambda: on_tape(lambda tape: tape.grad(W.sum(), [np.ones(2)])), "grad: xs: found ndarray"),
    "an array as parameter": (lambda: mochi.AdamW([np.ones(2)]), "AdamW: parameters: found ndarray"),
    "a gradient too many": (lambda: mochi.SGD([W]).step([np.ones((2, 2))] * 2), "2 gradients, expected one for each of 1 parameters"),
    "values of another shape": (lambda: W.write(np.ones(3)), "write: values [3], expected [2, 2], or a number"),
    "two axes": (lambda: on_tape(lambda tape: ops.cumsum(W, (0, 1))), "expected one axis, found 0, 1"),
    "an axis too far": (lambda: on_tape(lambda tape: W.sum(5)), "axis 5, expected -2 to 1"),
    "no solution": (lambda: on_tape(lambda tape: mochi.implicit(lambda w, a: w - a, np.zeros((2, 2)), W)), "implicit: x is no solution"),
    "memory": (lambda: on_tape(lambda tape: ops.exp(np.ones((1000, 1000))), mochi.Context(memory=2**20)), "raise memory of mochi.Context"),
    "an order too many": (lambda: on_tape(lambda tape: tape.grad(tape.grad((W * W * W).sum(), [W])[0].sum(), [W])), "create_graph=True"),
}  # fmt: skip


def on_tape(f, context=None):
    with mochi.Tape(context=context) as tape:
        return f(tape)


def twice(f):
    with mochi.Tape() as tape:
        y = (W * W).sum()
        return f(tape, y), f(tape, y)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_plain_mistake_is_told_in_the_words_of_python(name):
    """The message says what is wrong, and names nothing of the library's insides."""
    mistake, said = MISTAKES[name]
    with pytest.raises(mochi.Error) as caught:
        mistake()
    message = str(caught.value)
    print(f"{name}: {message}")
    assert said in message, message
    assert not re.search(r"\bmo_|MO_|0x|--|x_star|zip\(|NoneType|has no attribute|\b(slot|arena|node|header)s?\b", message), message


def modules():
    for found in pkgutil.walk_packages(mochi.__path__, "mochi."):
        if not found.name.rpartition(".")[2].startswith(("_mochi", "_v")) and found.name != "mochi.torch":
            yield found.name


@pytest.mark.parametrize("name", ["mochi", *modules(), "mochi.torch"])
def test_examples_of_docstrings_run(name):
    if name == "mochi.torch":
        pytest.importorskip("torch")
    module = importlib.import_module(name)
    before = mochi.default_context()
    with np.printoptions(legacy=False):
        outcome = doctest.testmod(module, extraglobs={"mochi": mochi, "np": np}, optionflags=doctest.NORMALIZE_WHITESPACE)
    mochi.set_default_context(before)
    assert outcome.failed == 0


def test_examples_are_found():
    """At least these modules have an example in a docstring."""
    for name in ("mochi", *(f"mochi.{part}" for part in ("functions", "heads", "solvers", "optimizers", "fit", "graphs.graph"))):
        module = importlib.import_module(name)
        assert any(test.examples for test in doctest.DocTestFinder().find(module)), name




def test_every_public_name_has_an_example_that_runs():
    """In its own docstring, or in that of mochi; test_examples_of_docstrings_run runs them."""
    shown = set(re.findall(r"mochi\.(\w+)", mochi.__doc__))
    bare = {n for n in mochi.__all__ if ">>>" not in (getattr(mochi, n).__doc__ or "")}
    assert bare <= shown, bare - shown
    sklearn = pytest.importorskip("mochi.sklearn")
    assert all(">>>" in getattr(sklearn, n).__doc__ for n in sklearn.__all__)
