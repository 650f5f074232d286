"""Gradients of gradients, gradient checks, implicit solvers whose residual is a Python function, and optimisers."""

import copy
import gc
import pickle

import mochi
import numpy as np
import pytest
from mochi import ops

rng = np.random.default_rng(0)
SPD = (lambda M: M @ M.T + np.eye(4))(rng.normal(size=(4, 4)))


def test_the_product_with_the_jacobian():
    x = mochi.parameter(np.array([1.0, 2.0]))
    with mochi.Tape() as tape:
        y = x * x
        (t,) = tape.jvp([y], [x], [np.array([1.0, 10.0])])
    assert t.numpy().tolist() == [2, 40]


def test_gradients_of_several_results_with_adjoints():
    x = mochi.parameter(np.array([1.0, 2.0]))
    with mochi.Tape() as tape:
        (g,) = tape.grad([x * 2.0, x.sum()], [x], gs=[np.array([1.0, 0.0]), None])
    assert g.numpy().tolist() == [3, 1]
    with mochi.Tape() as tape:
        y = mochi.constant(np.ones(2)) * 2.0
        with pytest.raises(mochi.InvalidError):
            tape.grad(y, [x])
        assert tape.grad(y, [x], allow_unused=True)[0].numpy().tolist() == [0, 0]
        with pytest.raises(mochi.InvalidError, match="adjoints"):
            tape.grad(x * 2.0, [x], gs=[None, None])


def test_gradcheck_passes_and_fails():
    good = mochi.gradcheck(lambda A, B: ops.solve_spd(A @ A.T + np.eye(4), B).tanh(), [SPD, np.ones((4, 2))], order=2)
    assert good and good.samples > 0 and good.error < 1e-5
    wrong = mochi.Op(lambda x: x**2, lambda y_bar, y, x: (y_bar * x,), name="wrong_square")
    bad = mochi.gradcheck(wrong, [np.array([1.0, 2.0])], order=1)
    assert not bad and bad.error > 0.1
    assert mochi.gradcheck(lambda X, i: ops.gather_rows(X, i), [np.ones((3, 2)), np.array([0, 2, 0])])


def test_an_exception_in_a_function_comes_out_as_it_is():
    def broken(x):
        raise KeyError("mine")

    def asks(w, a):
        return w @ a

    with pytest.raises(KeyError, match="mine"):
        mochi.gradcheck(broken, [np.ones(2)])
    with mochi.Tape() as tape:
        with pytest.raises(KeyError, match="mine") as caught:
            mochi.root(lambda w, a: broken(w), np.zeros(2), [mochi.parameter(np.ones(2))])
        assert any(entry.name == "broken" for entry in caught.traceback)
        with pytest.raises(mochi.InvalidError, match="matmul"):
            mochi.root(asks, np.zeros(2), [mochi.parameter(np.ones(3))])
        with pytest.raises(KeyboardInterrupt):
            mochi.root(interrupted, np.zeros(2), [mochi.parameter(np.ones(2))])
        with pytest.raises(mochi.StateError, match="in use"):
            mochi.root(lambda w, a: tape.reset(), np.zeros(2), [mochi.parameter(np.ones(2))])
        assert (mochi.parameter(np.ones(2)) * 2.0).sum().item() == 4


def test_a_closure_over_a_tensor_that_needs_a_gradient_is_refused():
    """Its gradient would be 0 without a word; a constant, a detached tensor and an evaluation lose nothing."""
    a, start = mochi.parameter(np.array([8.0, 27.0])), np.ones(2)
    refused = "needs a gradient and is not in theta, \\[2\\] float64: its gradient would be lost"
    with mochi.Tape() as tape:
        scale = mochi.parameter(np.array([1.0, 2.0]))
        closures = [a, a * 2.0, scale]
        for x in closures:
            with pytest.raises(mochi.InvalidError, match=refused):
                mochi.root(lambda w, x=x: w * w * w - x, start, [])
            with pytest.raises(mochi.InvalidError, match=refused):
                mochi.root(lambda w, b, x=x: w * w * w * b - x, start, [scale * 1.0])
            with pytest.raises(mochi.InvalidError, match=refused):
                mochi.minimize(lambda w, b, x=x: ((w - x) ** 2).sum() + (w * w * b).sum(), start, [scale * 1.0])
            with pytest.raises(mochi.InvalidError, match=refused):
                mochi.implicit_solve(lambda w, x=x: w * x, start, start, [])
        w = mochi.root(lambda w, b: w * w * w * b - a.detach(), start, [scale])
        assert np.allclose(tape.grad(w.sum(), [scale])[0].numpy(), -w.numpy() / (3 * scale.numpy()))
        with pytest.raises(mochi.InvalidError, match=refused):  # the Jacobian of a step reads it
            mochi.root(lambda w, b: w * w * w * b - a, start, [scale], unrolled=True)
    with mochi.Tape("eval"):
        assert np.allclose(mochi.root(lambda w: w * w * w - a, start, []).numpy(), [2, 3])
    print(len(closures), "closures refused by root, minimize and implicit_solve")


def interrupted(w, a):
    raise KeyboardInterrupt


@pytest.mark.parametrize("limit", [0, -1])
def test_an_implicit_solution_has_the_gradient_of_the_solve(limit):
    b = mochi.parameter(np.array([1.0, 2.0, 3.0, 4.0]))
    report = mochi.Report()
    with mochi.Tape() as tape:
        options = {"symmetric": True, "dense_limit": limit, "report": report}
        w = mochi.root(lambda w, b: (w[None] @ SPD)[0] - b, np.zeros(4), [b], **options)
        gc.collect()
        (g,) = tape.grad((w * np.array([1.0, 0, 0, 0])).sum(), [b], create_graph=True)
    np.testing.assert_allclose(w.numpy(), np.linalg.solve(SPD, b.numpy()), rtol=1e-8)
    np.testing.assert_allclose(g.numpy(), np.linalg.inv(SPD)[0], rtol=1e-8)
    assert report.converged and report.iterations > 0 and report.adjoint_systems > 0 and report.missed == 0
    assert (report.adjoint_iterations > 0 and report.adjoint_residual < 1e-8) or limit == 0


def test_a_solution_found_elsewhere_and_a_jacobian():
    calls = []

    def jacobian(w, a):
        calls.append(1)
        return ops.diagonal_embed(w * 2.0)

    a = mochi.parameter(np.array([4.0, 9.0]))
    with mochi.Tape() as tape:
        w = mochi.implicit(lambda w, a: w * w - a, np.array([2.0, 3.0]), [a], jacobian=jacobian)
        (g,) = tape.grad(w.sum(), [a])
    np.testing.assert_allclose(g.numpy(), [1 / 4, 1 / 6], rtol=1e-12)
    assert calls
    with mochi.Tape(), pytest.raises(TypeError, match="unknown option"):
        mochi.implicit(lambda w, a: w - a, np.zeros(2), [a], nonsense=1)


def test_minimisers():
    a = mochi.parameter(np.array([0.2, 0.5, 0.9]))
    with mochi.Tape() as tape:
        x = mochi.minimize(lambda x, a: ((x - a) ** 2).sum() + (x**4).sum(), np.zeros(3), [a])
        (g,) = tape.grad(x.sum(), [a])
        p = mochi.minimize(lambda x, a: ((x - a) ** 2).sum(), np.full(3, 1 / 3), [a], method="projected_gradient")
    v = x.numpy()
    np.testing.assert_allclose(4 * v**3 + 2 * (v - a.numpy()), 0, atol=1e-8)
    np.testing.assert_allclose(g.numpy(), 2 / (2 + 12 * v**2), rtol=1e-6)
    assert abs(p.numpy().sum() - 1) < 1e-12
    with mochi.Tape(), pytest.raises(ValueError, match="expected one of lbfgs"):
        mochi.minimize(None, np.zeros(3), [a], method="bicg")


def test_recompute_has_the_gradient_of_its_function():
    W = mochi.parameter(rng.normal(size=(3, 3)))
    with mochi.Tape() as tape:
        direct = tape.grad((W @ W).tanh().sum(), [W])[0].numpy()
        again = tape.grad(mochi.recompute(lambda W: (W @ W).tanh(), W).sum(), [W])[0].numpy()
    assert np.array_equal(direct, again)


def test_tensors_of_a_callback_are_gone_when_it_returns():
    seen = []

    def residual(w, a):
        seen.extend([w, w * 2.0])
        return w - a

    with mochi.Tape():
        mochi.root(residual, np.zeros(2), [mochi.parameter(np.ones(2))])
    for tensor in seen:
        with pytest.raises(mochi.StateError, match="callback"):
            tensor.numpy()


def test_what_a_function_was_shown_stays_with_its_holder():
    W = mochi.parameter(np.ones(2))
    cube = mochi.Op(lambda x: x**3, lambda y_bar, y, x: (y_bar * 3.0 * x * x,), name="cube")
    with mochi.Tape() as tape:
        a = W * 2.0
        w = mochi.root(lambda w, a: w - a, np.zeros(2), [a])
        y = cube(w)
        (g,) = tape.grad(y.sum(), [W])
        assert [x.numpy().tolist() for x in (a, w, y, g)] == [[2, 2], [2, 2], [8, 8], [24, 24]]


def test_an_op_of_ones_own_with_two_outputs():
    def forward(x):
        return np.sin(x), np.cos(x)

    def vjp(y_bar, y, x):
        parts = [bar * slope for bar, slope in zip(y_bar, (y[1], -y[0]), strict=True) if bar is not None]
        return (parts[0] if len(parts) == 1 else parts[0] + parts[1],)

    sincos = mochi.Op(forward, vjp, outputs=2)
    assert sincos.name == "forward" and mochi.gradcheck(sincos, [np.array([0.3, 1.2])])
    x = mochi.parameter(np.array([0.3, 1.2]))
    with mochi.Tape() as tape:
        s, c = sincos(x)
        gc.collect()
        assert np.allclose(tape.grad(c.sum(), [x])[0].numpy(), -np.sin(x.numpy()))
    flat = mochi.Op(lambda x: np.sign(x), name="sign")
    with mochi.Tape() as tape, pytest.raises(mochi.Error, match="sign"):
        tape.grad(flat(x).sum(), [x])
    with mochi.Tape(), pytest.raises(ZeroDivisionError):
        mochi.Op(lambda x: 1 / 0, name="broken")(x)
    with mochi.Tape(), pytest.raises(mochi.InvalidError, match="2 results"):
        mochi.Op(lambda x: (x, x), name="twice")(x)
    with mochi.Tape(), pytest.raises(mochi.InvalidError, match="result 0 is an array with masked entries"):
        mochi.Op(lambda x: np.ma.masked_less(x, 1.0), name="masked")(x)
    with mochi.Tape():  # a mask of no entry hides nothing
        assert np.array_equal(mochi.Op(lambda x: np.ma.masked_less(x, 0.0), name="unmasked")(x), x)


def test_adamw_trains():
    W = mochi.parameter(np.zeros(3))
    target = np.array([1.0, -2.0, 3.0])
    adamw = mochi.AdamW([W], lr=0.1, clip=10.0)
    with mochi.Tape() as tape:
        for step in range(300):
            loss = ((W - target) ** 2).sum()
            norm = adamw.step(tape.grad(loss, [W]), lr=mochi.cosine(0.1, 0.0, step, 300))
            tape.reset()
    assert np.allclose(W.numpy(), target, atol=1e-3) and norm < 0.1
    before = W.numpy()
    with pytest.raises(FloatingPointError):
        adamw.step([np.full(3, np.nan)])
    assert np.array_equal(W.numpy(), before)
    with pytest.raises(ValueError):
        adamw.step([])
    with pytest.raises(ValueError, match="a parameter at least"):
        mochi.AdamW([])
    adamw.close()
    with pytest.raises(mochi.StateError, match="closed"):
        adamw.step([np.zeros(3)])
    with pytest.raises(mochi.StateError, match="closed"):
        pickle.dumps(adamw)


def test_sgd_is_its_formula_and_goes_on_after_a_pickle():
    rng = np.random.default_rng(1)
    p, m = rng.normal(size=(2, 3)), np.zeros((2, 3))
    sgd = mochi.SGD([mochi.parameter(p)], lr=0.1, momentum=0.9, weight_decay=0.5)
    for step in range(6):
        g = rng.normal(size=(2, 3))
        m = 0.9 * m + g
        p = (1 - 0.1 * 0.5) * p - 0.1 * m
        sgd.step([g])
        if step == 2:
            sgd = pickle.loads(pickle.dumps(sgd))
    assert sgd.steps == 6 and isinstance(sgd, mochi.SGD)
    np.testing.assert_allclose(sgd.parameters[0].numpy(), p, rtol=1e-13)
    with pytest.raises(ValueError, match="sgd: momentum is 1"):
        mochi.SGD(sgd.parameters, momentum=1.0)
    with pytest.raises(ValueError, match="SGD: expected a parameter at least"):
        mochi.SGD([])


@pytest.mark.parametrize("how", ["pickle", "joblib", "deepcopy"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_adamw_goes_on_where_its_copy_left_off(how, dtype, tmp_path):
    rng = np.random.default_rng(0)
    W = [mochi.parameter(rng.normal(size=(3, 4)), name="W", dtype=dtype), mochi.parameter(0.5, dtype=dtype)]
    adamw = mochi.AdamW(W, lr=0.1, beta1=0.8, weight_decay=0.01, clip=1.0)
    gradients = [[rng.normal(size=(3, 4)).astype(dtype), np.asarray(rng.normal(), dtype)] for _ in range(6)]
    for g in gradients[:3]:
        adamw.step(g)
    if how == "joblib":
        joblib = pytest.importorskip("joblib")
        joblib.dump({"W": W, "adamw": adamw}, tmp_path / "state")
        again = joblib.load(tmp_path / "state")
    else:
        copied = copy.deepcopy if how == "deepcopy" else lambda x: pickle.loads(pickle.dumps(x))
        again = copied({"adamw": adamw, "W": W})
    other, V = again["adamw"], again["W"]
    assert other.steps == 3 and other.lr == 0.1 and all(a is b for a, b in zip(other.parameters, V, strict=True))
    assert V[0].name == "W" and V[0].dtype == dtype
    for g in gradients[3:]:
        assert adamw.step(g) == other.step(g)
    assert adamw.steps == 6 and all(np.array_equal(a.numpy(), b.numpy()) for a, b in zip(W, V, strict=True))


def test_random_numbers_follow_their_seed():
    with mochi.Tape():
        x, y = (ops.dropout(np.ones(1000), 0.5, mochi.Random(2)).numpy() for _ in range(2))
    assert np.array_equal(x, y) and 400 < (x == 0).sum() < 600


def test_values_that_would_be_ignored_are_refused():
    a, A, b = mochi.parameter([8.0, 27.0], dtype="float64"), np.array([[3.0, 1.0], [1.0, 2.0]]), np.ones((2, 1))

    def cube(w, a):
        return w * w * w - a

    with mochi.Tape():
        for options in (
            {"tolerance": -1}, {"tolerance": np.nan}, {"tolerance": np.inf}, {"iterations": 1.5}, {"restart": -1},
            {"dense_limit": -2}, {"symmetric": "x"}, {"accept": None}, {"batch_axes": -1},
        ):  # fmt: skip
            with pytest.raises(ValueError, match=f"{next(iter(options))} is"):
                mochi.implicit(cube, np.ones(2), [a], **options)
        for options in ({"tolerance": -1}, {"tolerance": np.nan}, {"iterations": 0}, {"memory": 3}, {"unrolled": "x"}):
            with pytest.raises(ValueError, match=f"{next(iter(options))} is"):
                mochi.minimize(cube, np.ones(2), [a], method="projected_gradient", **options)
        with pytest.raises(ValueError, match="transposed is"):
            mochi.implicit_solve(cube, np.ones(2), np.ones(2), [a], transposed="x")
        with pytest.raises(ValueError, match="spd is"):
            mochi.solve_check(A, b, b, spd=2)
    for wrong in ((-1, 0, 0, 4), (1, np.nan, 0, 4), (1, 0, -1, 4), (1, 0, 5, 4), (1, 0, 0, 0), (1, 0, 1.5, 4)):
        with pytest.raises(ValueError, match="cosine"):
            mochi.cosine(*wrong)
    for wrong in ({"seed": -1}, {"seed": 1.5}, {"seed": 0, "stream": 2**48}, {"seed": 0, "purpose": 2**16}):
        with pytest.raises(ValueError, match="Random"):
            mochi.Random(**wrong)
    for parts in (([0, 1], [0.5], None), ([0, 1], [2**32], None), ([0.0, 1.0], [0], None)):
        with pytest.raises(ValueError, match="Sparse"):
            mochi.Sparse(parts, shape=(1, 2))
    with mochi.Tape(), pytest.raises(mochi.MismatchError, match="dtype None"):
        mochi.ops.cast(np.ones(2), None)


def test_a_sparse_matrix_multiplies():
    sparse = pytest.importorskip("scipy.sparse")
    A = sparse.random(5, 4, density=0.5, random_state=0, format="coo")
    X = mochi.parameter(rng.normal(size=(4, 3)))
    with mochi.Tape() as tape:
        y = mochi.Sparse(A) @ X
        gc.collect()
        (g,) = tape.grad(y.sum(), [X])
    np.testing.assert_allclose(y.numpy(), A @ X.numpy(), rtol=1e-14)
    np.testing.assert_allclose(g.numpy(), A.T @ np.ones((5, 3)), rtol=1e-14)
    with pytest.raises(ValueError, match="not those of a matrix"):
        mochi.Sparse((np.array([0, 2]), np.array([0]), None), shape=(1, 3))
    with pytest.raises(mochi.InvalidError, match="without its shape"):
        mochi.Sparse((np.array([0, 1]), np.array([0]), None))
    with pytest.raises(mochi.InvalidError):
        mochi.Sparse((np.array([0, 1]), np.array([7]), None), shape=(1, 3))
    mochi.Sparse((np.array([0, 1, 2]), np.array([1, 0]), None), shape=(2, 2), symmetric=True)


def test_the_health_of_a_solve():
    A = np.stack([np.eye(2), [[1.0, 1.0], [1.0, 1.0 + 1e-6]]]).astype("float32")
    B = np.ones((2, 2, 1), "float32")
    with mochi.Tape():
        leaf = mochi.parameter(A)
        X = ops.solve_or_nan(leaf, B)
        assert np.array_equal(X.numpy(), ops.solve(leaf, B).numpy())
        health = mochi.solve_check(leaf, B, X)
        assert health.info.numpy().tolist() == [0, 0]
        exact = 1 / np.linalg.cond(A[1].astype("float64"), 1)
        assert health.rcond.numpy()[0] == 1 and health.rcond.numpy()[1] == pytest.approx(exact, rel=1e-3)
        assert health.residual.numpy().max() < 10 and health.error.numpy()[1] > 0.1
        zero = np.zeros((1, 2, 2), "float32")
        assert np.isnan(ops.solve_or_nan(zero, zero).numpy()).all()
        assert mochi.solve_check(zero, zero, ops.solve_spd_or_nan(zero, zero), spd=True).rcond.item() == 0
        with pytest.raises(mochi.InvalidError, match="solve_check: expected A"):
            mochi.solve_check(zero, zero, B)


@pytest.mark.parametrize("name", ["mean_squared_error", "huber", "gaussian_nll"])
def test_losses_of_real_targets_have_derivatives_of_three_orders(name):
    random = np.random.default_rng(3)
    X, Y, w = random.normal(size=(3, 6, 2))
    given = [X, np.exp(Y), Y, np.exp(w)] if name == "gaussian_nll" else [X, 3 * Y, np.exp(w)]
    loss = getattr(mochi.losses, name)
    f = (lambda *xs: loss(*xs[:-1], weight=xs[-1])) if name != "huber" else lambda a, b, w: loss(a, b, 0.7, w)
    assert mochi.gradcheck(f, given, order=2)
    assert mochi.gradcheck(lambda *xs: mochi.grad(lambda *ys: mochi.ops.exp(f(*ys)), range(len(xs)))(*xs)[0], given, order=2)


def test_losses_are_their_formulas():
    random = np.random.default_rng(4)
    X, Y, v = *random.normal(size=(2, 8)), random.uniform(0.5, 2, 8)
    e, w = X - Y, random.integers(0, 3, 8).astype(float)
    of = {
        "mean_squared_error": (e**2, ()),
        "huber": (np.where(abs(e) <= 0.5, e**2 / 2, 0.5 * (abs(e) - 0.25)), (0.5,)),
        "gaussian_nll": ((np.log(2 * np.pi * v) + e**2 / v) / 2, ()),
    }
    with mochi.Tape():
        for name, (expected, options) in of.items():
            loss, x = getattr(mochi.losses, name), mochi.constant(X)
            given = (x, v, Y) if name == "gaussian_nll" else (x, Y, *options)
            assert abs(loss(*given).item() - expected.mean()) < 1e-12
            assert abs(loss(*given, weight=w).item() - np.average(expected, weights=w)) < 1e-12
            with pytest.raises(mochi.InvalidError, match="expected one shape"):
                loss(mochi.constant(X[:, None]), *given[1:])
