"""Every public name: a docstring that says what it is, and a test that uses it; the examples in docstrings run."""

import ast
import doctest
import importlib
import inspect
import pathlib
import pkgutil

import mochi
import mochi.plot
import numpy as np
import pytest

pytest.importorskip("sklearn")
import mochi.sklearn  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
MODULES = [mochi, mochi.ops, mochi.plot, mochi.sklearn]
try:
    import mochi.torch

    MODULES.append(mochi.torch)
except ImportError:
    pass  # without PyTorch: its names are enumerated where test_torch.py runs

# What a class takes over from Python's own or from scikit-learn, whose docstrings explain it.
FOREIGN = ("builtins", "sklearn", "numpy")
# Attributes that the docstring of their class explains.
EXPLAINED = {
    "iterations", "converged", "residual", "adjoint_residual", "adjoint_iterations", "adjoint_systems", "missed", "release", "T",
}  # fmt: skip
# What the package's own modules call of one another: every op, graph and head goes through them.
PLUMBING = {
    "Check.of", "Context.of", "Context.fail", "Context.leave", "Context.bury", "Context.emptied", "Graph.owned", "Head.of",
    "Tape.of", "Tape.fail", "Tape.lend", "Tape.holds", "Tensor.lent", "Tensor.passing",
}  # fmt: skip


def public():
    """(name, thing) of each name of the package, and of each method and property of its classes."""
    for module in MODULES:
        for name in getattr(module, "__all__", None) or [n for n in vars(module) if own(module, n)]:
            thing = getattr(module, name)
            yield f"{module.__name__}.{name}", thing
            for base in inspect.getmro(thing) if isinstance(thing, type) else ():
                if base.__module__.partition(".")[0] == "mochi":
                    for part, member in vars(base).items():
                        if not part.startswith("_") and (callable(member) or isinstance(member, (property, classmethod))):
                            yield f"{module.__name__}.{name}.{part}", member


def own(module, name):
    return not name.startswith("_") and getattr(getattr(module, name), "__module__", None) == module.__name__


NAMES = dict(public())


def used():
    """Every name that a test reads as an attribute, imports, or gives as a text."""
    found = set()
    for path in HERE.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.alias):
                found.add(node.name)
            elif isinstance(node, ast.Name):
                found.add(node.id)
    return found


def test_names_are_found():
    assert len(NAMES) > 250 and {"mochi.Tape.grad", "mochi.ops.solve_spd", "mochi.sklearn.RidgeHead.fit"} <= set(NAMES)


def test_every_public_name_says_what_it_is():
    short = []
    for name, thing in NAMES.items():
        text = inspect.getdoc(thing) or ""
        if len(text) < 15 and name.rpartition(".")[2] not in EXPLAINED and not inspect.ismodule(thing):
            short.append(name)
    assert not short


def test_every_function_explains_its_arguments():
    """A function of three arguments and more has a section of them, or names each in its text; an op has its source."""
    silent = []
    for name, thing in NAMES.items():
        text = inspect.getdoc(thing) or ""
        if name.startswith("mochi.ops."):
            if "Source: " not in text:
                silent.append(name)
        elif inspect.isfunction(thing) and len(name.split(".")) == 2:
            arguments = [a for a in inspect.signature(thing).parameters if a != "context"]
            if len(arguments) > 2 and "Parameters\n" not in text and not all(a in text for a in arguments):
                silent.append(name)
    assert not silent


def test_every_public_name_has_a_test():
    """Ops, and the methods of Tensor that are ops, run their samples in test_ops.py, which reads their names there."""
    known = used()
    untested = [name for name in NAMES if name.rpartition(".")[2] not in known and not name.startswith("mochi.ops.")]
    assert not [n for n in untested if n.removeprefix("mochi.") not in PLUMBING and not is_method_of_an_op(n)]


def is_method_of_an_op(name):
    owner, _, part = name.rpartition(".")
    return owner == "mochi.Tensor" and part in mochi.ops.__all__


def test_methods_are_ops():
    A = np.array([[4.0, 1.0], [1.0, 3.0]])
    with mochi.Tape():
        leaf = mochi.parameter(A)
        for name in ("logdet", "diagonal", "tril", "sigmoid", "softplus", "neg", "log_softmax", "gram"):
            assert np.array_equal(getattr(leaf, name)().numpy(), getattr(mochi.ops, name)(A).numpy()), name


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


def test_a_report_tells_of_the_adjoint_systems():
    A, b = np.array([[3.0, 1.0], [0.0, 2.0]]), mochi.parameter(np.ones(2))
    report = mochi.Report()
    with mochi.Tape() as tape:
        options = {"dense_limit": 1, "report": report}  # above it the adjoint system is solved by iterations
        w = mochi.implicit(lambda w, b: (w.reshape((1, 2)) @ A.T).reshape(2) - b, np.zeros(2), [b], solver="gmres", **options)
        (gradient,) = tape.grad(w.sum(), [b])
    np.testing.assert_allclose(gradient.numpy(), np.linalg.solve(A.T, np.ones(2)))
    assert report.converged and report.adjoint_systems == 1 and report.adjoint_iterations >= 1
    assert report.adjoint_residual < 1e-8 and report.missed == 0


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
    """At least these modules show how they are used."""
    for name in ("mochi", "mochi.user_op", "mochi.heads", "mochi.solvers.iterations", "mochi.solvers.health", "mochi.optimizers", "mochi.fit", "mochi.graphs.graph"):
        module = importlib.import_module(name)
        assert any(test.examples for test in doctest.DocTestFinder().find(module)), name
