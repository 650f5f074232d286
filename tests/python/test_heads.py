"""The library's heads, and heads written in Python, which pass the library's checks."""

import pickle

import mochi
import numpy as np
import pytest
from mochi import ops

rng = np.random.default_rng(0)
Zs, Zq = rng.normal(size=(12, 5)), rng.normal(size=(7, 5))
Ys = np.eye(3)[np.arange(12) % 3]


def ridge(Zs, Ys, Zq, lam):
    Zs, Zq = ops.append_ones(Zs), ops.append_ones(Zq)
    Zst = ops.transpose(Zs)
    return Zq @ Zst @ ops.solve_spd(ops.add_diag(Zs @ Zst, lam), Ys)


def test_the_librarys_heads_are_there():
    names = mochi.head_names()
    assert {"ridge", "logistic", "prototype_euclidean"} <= set(names) and len(names) > 8
    W = mochi.parameter(Zs)
    with mochi.Tape() as tape:
        for name in names:
            logits = mochi.head(name)(W, Ys, Zq)
            assert logits.shape == (7, 3), name
            assert np.isfinite(tape.grad(logits.sum(), [W])[0].numpy()).all(), name
    with pytest.raises(ValueError, match="expected one of ridge"):
        mochi.head("nonsense")
    with mochi.Tape(), pytest.raises(ValueError, match="no parameter 'x'"):
        mochi.head("ridge")(Zs, Ys, Zq, x=1)
    assert pickle.loads(pickle.dumps(mochi.head("ridge"))).name == "ridge"


def test_a_head_of_python_is_the_librarys_ridge():
    own = mochi.Head("own_ridge", logits=ridge, parameters={"lam": (10.0, 0.0, 1e6)})
    with mochi.Tape():
        mine, theirs = own(Zs, Ys, Zq).numpy(), mochi.head("ridge")(Zs, Ys, Zq).numpy()
        other = own(Zs, Ys, Zq, lam=0.1).numpy()
    np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    assert np.abs(mine - other).max() > 1e-3
    check = own.check()
    assert check and check.samples > 0, check.worst
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(own)


def test_a_head_is_given_by_its_residual():
    def residual(W, Zs, Ys, lam):
        Z = ops.append_ones(Zs)
        return ops.transpose(Z) @ (Z @ W - Ys) + W * lam

    own = mochi.Head("own_residual", residual=residual, parameters={"lam": 10.0}, symmetric=True)
    with mochi.Tape():
        mine, theirs = own(Zs, Ys, Zq).numpy(), mochi.head("ridge")(Zs, Ys, Zq).numpy()
    np.testing.assert_allclose(mine, theirs, rtol=1e-7)
    assert own.check(order=1), own.check(order=1).worst


def test_a_wrong_head_is_told():
    wrong = mochi.Head("wrong", logits=lambda Zs, Ys, Zq: ridge(Zs.detach(), Ys, Zq, 1.0))
    assert not wrong.check(order=1)

    def broken(Zs, Ys, Zq):
        raise LookupError("mine")

    with mochi.Tape(), pytest.raises(LookupError, match="mine"):
        mochi.Head("broken", logits=broken)(Zs, Ys, Zq)
    with mochi.Tape(), pytest.raises(mochi.Error, match="shapeless"):
        mochi.Head("shapeless", logits=lambda Zs, Ys, Zq: Zq)(Zs, Ys, Zq)
    with pytest.raises(ValueError, match="one of them"):
        mochi.Head("neither")


def test_numbers_outside_their_bounds_are_refused():
    with mochi.Tape():
        for name, parameter, value in (
            ("ridge", "lam", -1), ("ridge", "lam", np.nan), ("ridge", "lam", "x"), ("lda", "shrinkage", 1.5),
            ("lda", "shrinkage", np.float32(-0.1)), ("svm", "lam", np.inf), ("prototype_cosine", "scale", np.nan),
        ):  # fmt: skip
            with pytest.raises(ValueError, match=f"head {name}: {parameter} is"):
                mochi.head(name)(Zs, Ys, Zq, **{parameter: value})
    for wrong in ({"order": 0}, {"order": -1}, {"parameters": {"a": np.nan}}, {"parameters": {"a": (3.0, 0.0, 1.0)}}):
        with pytest.raises(ValueError, match="head own"):
            mochi.Head("own", logits=lambda Zs, Ys, Zq, *p: Zq @ Zs.T @ Ys, **wrong)


def test_weights_and_absent_classes():
    rng = np.random.default_rng(0)
    Zs, Zq, label = rng.normal(size=(9, 4)), rng.normal(size=(5, 4)), np.arange(9) % 3
    Ys, weight = np.eye(4)[label], np.r_[np.ones(7), 0, 0]
    for name in mochi.head_names():
        head = mochi.head(name)
        with mochi.Tape():
            found = head(Zs, Ys, Zq, weight=weight).numpy()
            own = head(Zs[:7], Ys[:7, :3], Zq).numpy()
        assert np.isneginf(found[:, 3]).all()
        np.testing.assert_allclose(found[:, :3], own, atol=1e-9)
    with mochi.Tape(), pytest.raises(mochi.UnsupportedError, match="takes no weights of rows"):
        mochi.Head("mine", logits=lambda Zs, Ys, Zq: Zq @ (Zs.T @ Ys))(Zs, Ys, Zq, weight=weight)


def test_a_fit_is_kept_saved_and_loaded(tmp_path):
    def of_logits(Zs, Ys, Zq, lam):
        return ridge(Zs, Ys, Zq, lam)

    def residual(W, Zs, Ys, lam):
        Z = ops.append_ones(Zs)
        return ops.transpose(Z) @ ops.tanh(Z @ W - Ys) + W * lam

    own = [
        mochi.Head("of_logits", logits=of_logits, parameters={"lam": 2.0}),
        mochi.Head("of_residual", residual=residual, parameters={"lam": 2.0}, symmetric=True),
    ]
    for head in [*map(mochi.head, mochi.head_names()), *own]:
        with mochi.Tape():
            expected = head(Zs, Ys, Zq).numpy()
        fit = head.fitted(Zs, Ys)
        np.testing.assert_array_equal(fit(Zq), expected, err_msg=head.name)
        np.testing.assert_allclose(np.vstack([fit(Zq[:3]), fit(Zq[3:])]), expected, rtol=1e-9, atol=1e-9)
        fit.save(tmp_path / "state.safetensors")
        again = head.load(tmp_path / "state.safetensors")
        assert sorted(again.names) == sorted(fit.names)
        np.testing.assert_array_equal(again(Zq), expected, err_msg=head.name)
    with pytest.raises(mochi.Error, match="its head is .*, found lda"):
        mochi.head("prototype_inner").fitted(Zs, Ys).save(tmp_path / "other.safetensors")
        mochi.head("lda").load(tmp_path / "other.safetensors")(Zq)
    with pytest.raises(mochi.Error, match="expected real rows of 2 axes and width 5"):
        mochi.head("ridge").fitted(Zs, Ys)(Zq[:, :4])
