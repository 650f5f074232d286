"""Results and errors have public types, and the examples in docstrings run."""

import doctest
import importlib
import pathlib
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


def modules():
    for found in pkgutil.walk_packages(mochi.__path__, "mochi."):
        if not found.name.rpartition(".")[2].startswith(("_mochi", "_v")) and found.name != "mochi.torch":
            yield found.name


@pytest.mark.parametrize("name", ["mochi", *modules(), "mochi.torch"])
def test_examples_of_docstrings_run(name):
    if name == "mochi.torch":
        pytest.importorskip("torch")
    module = importlib.import_module(name)
    with np.printoptions(legacy=False):
        outcome = doctest.testmod(module, extraglobs={"mochi": mochi, "np": np}, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert outcome.failed == 0


def test_examples_are_found():
    """At least these modules have an example in a docstring."""
    for name in ("mochi", *(f"mochi.{part}" for part in ("functions", "heads", "solvers", "optimizers", "fit", "graphs.graph"))):
        module = importlib.import_module(name)
        assert any(test.examples for test in doctest.DocTestFinder().find(module)), name


GUIDE = pathlib.Path(__file__).parents[2] / "tools/python"


def test_every_public_name_has_an_example_that_runs():
    page = GUIDE / "EXAMPLES.md"
    assert doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0
    mochi.set_default_context(None)
    shown = set(re.findall(r"mochi\.(\w+)", page.read_text()))
    bare = {n for n in mochi.__all__ if ">>>" not in (getattr(mochi, n).__doc__ or "")}
    assert bare <= shown, bare - shown
    sklearn = pytest.importorskip("mochi.sklearn")
    assert all(">>>" in getattr(sklearn, n).__doc__ for n in sklearn.__all__)
