"""Models and episodes: losses, gradients, steps; pickled with their weights."""

import gc
import pickle

import mochi
import numpy as np
import pytest

rng = np.random.default_rng(0)


def episode(d=8, classes=3, k=4, q=5, context=None):
    n = classes * (k + q)
    order = rng.permutation(n)
    label = np.repeat(np.arange(classes), k), np.repeat(np.arange(classes), q)
    hops = rng.normal(size=(4, n, d)).astype("float32") + np.isin(np.arange(n), order[:k])[None, :, None]
    return mochi.Episode("nc", {"hops": hops}, order[: classes * k], order[classes * k :], *label, context=context)


def test_a_model_trains_on_an_episode():
    model, e = mochi.Model.mochi(dim=8, layers=2, seed=1), episode()
    W = model.parameters
    assert len(W) > 5 and all(p.requires_grad and p.name for p in W)
    adamw = mochi.AdamW(W, lr=0.01, clip=1.0)
    losses = []
    tape = mochi.Tape()
    for _ in range(30):
        loss = model.loss(tape, e)
        adamw.step(tape.grad(loss, W))
        losses.append(loss.item())
        tape.reset()
    assert losses[-1] < 0.7 * losses[0]
    logits = model.logits(tape, e)
    Zs, Zq = model.embed(tape, e)
    assert logits.shape == (15, 3) and Zs.shape == (12, 8) and Zq.shape == (15, 8)


def test_an_example_that_the_support_has_twice_leaves_with_its_copy():
    hops = rng.normal(size=(4, 5, 8)).astype("float32")
    model = mochi.Model.mochi(dim=8, layers=2, head="mixture", lam=0.1)
    once = mochi.Episode("nc", {"hops": hops}, [0, 1, 2], [3, 4], [0, 1, 1], [0, 1])
    twice = mochi.Episode("nc", {"hops": hops}, [0, 1, 0, 2], [3, 4], [0, 1, 0, 1], [0, 1])
    # the same numbers of rows, each of an example of its own
    copied = mochi.Episode("nc", {"hops": hops[:, [0, 1, 0, 2, 3, 4]]}, [0, 1, 2, 3], [4, 5], [0, 1, 0, 1], [0, 1])
    tape = mochi.Tape()
    assert not once.struct.support_weight and not copied.struct.support_weight
    assert twice.struct.support_weight
    assert np.abs(model.logits(tape, twice).numpy() - model.logits(tape, copied).numpy()).max() > 1e-3


def test_a_model_and_its_optimiser_go_on_from_a_pickle():
    model, e = mochi.Model.mochi(dim=8, layers=2, seed=1), episode()
    adamw, tape = mochi.AdamW(model.parameters, lr=0.01), mochi.Tape()

    def step(model, adamw):
        loss = model.loss(tape, e)
        adamw.step(tape.grad(loss, adamw.parameters))
        value = loss.item()
        tape.reset()
        return value

    step(model, adamw)
    other, its = pickle.loads(pickle.dumps((model, adamw)))
    for _ in range(3):
        assert step(model, adamw) == step(other, its)
    assert all(np.array_equal(mine, other.state()[name]) for name, mine in model.state().items())


def test_a_model_is_pickled_with_its_weights():
    model, e = mochi.Model.mochi(dim=8, layers=2, seed=1), episode()
    model.parameters[0].write(0.5)
    for one in (model, mochi.Model.open("best"), mochi.Model.invariant()):
        other = pickle.loads(pickle.dumps(one))
        mine, theirs = one.state(), other.state()
        assert mine.keys() == theirs.keys() and all(np.array_equal(mine[n], theirs[n]) for n in mine)
    with mochi.Tape() as tape:
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.logits(tape, e).numpy(), model.logits(tape, e).numpy())


def test_models_and_their_parameters_go_in_any_order():
    e = episode()
    tape = mochi.Tape()
    loss = mochi.Model.mochi(dim=8, layers=2).loss(tape, e)
    del e
    gc.collect()
    assert np.isfinite(loss.item())
    parameters = mochi.Model.mochi(dim=8).parameters
    gc.collect()
    assert np.isfinite(parameters[0].numpy()).all()
    model = mochi.Model.mochi(dim=8)
    model.close()
    with pytest.raises(mochi.StateError, match="closed"):
        _ = model.parameters


def test_what_is_no_model_or_episode_is_refused():
    with pytest.raises(mochi.Error, match="nowhere"):
        mochi.Model.open("/nowhere/weights.safetensors")
    with pytest.raises(ValueError, match="temperature"):
        mochi.Model.mochi(temperature="warm")
    with pytest.raises(mochi.Error):
        mochi.Model.mochi(dim=-1)
    with pytest.raises(ValueError, match="task"):
        mochi.Episode("xx", {}, [], [], [0], [0])
    e = mochi.Episode("nc", {"rows": np.zeros((2, 2), "float32")}, [0], [1], [0], [0])
    with mochi.Tape() as tape, pytest.raises(mochi.Error, match="hops"):
        mochi.Model.mochi(dim=2).loss(tape, e)
    with pytest.raises(mochi.FormatError, match="absent"):
        mochi.Model.mochi(dim=2).load({})
