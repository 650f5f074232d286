"""Real targets of a graph's examples: `Trained.few_shot(g, targets=...)`."""

import os
import pickle
import subprocess

import mochi
import numpy as np
import pytest
from mochi.sklearn import KernelMixtureRegressor, RidgeRegressor, RidgeRegressorCV
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks


@pytest.fixture(scope="module")
def model():
    return mochi.load("best")


@pytest.fixture(scope="module")
def ring():
    """A ring of named nodes with two attributes, and a line through these with noise, by name."""
    random = np.random.default_rng(2)
    X = random.normal(size=(80, 2))
    names = [f"v{i}" for i in range(80)]
    edges = [(names[i], names[(i + 1) % 80]) for i in range(80)]
    y = 5 + X @ [2.0, -1.0] + 0.2 * random.normal(size=80)
    return mochi.graph(edges, x=dict(zip(names, X, strict=True))), dict(zip(names, y, strict=True))


def test_a_line_is_predicted_with_intervals(model, ring):
    g, y = ring
    known, rest = dict(list(y.items())[:50]), dict(list(y.items())[50:])
    fit = model.few_shot(g, targets=known)
    assert isinstance(fit, mochi.FewShotTargets) and fit.score(rest) > 0.9
    assert 0.9 < fit.estimate.r2 <= 1 and fit.estimate.labelled == fit.estimate.held_out == 50 and not fit.estimate.log
    assert "expected R² 0.9" in str(fit.estimate)
    names = list(rest)
    truth = np.array(list(rest.values()))
    for coverage in (0.5, 0.9):
        low, high = fit.predict_interval(coverage, names).T
        held = ((low <= truth) & (truth <= high)).mean()
        assert coverage - 0.3 < held <= 1 and (low < fit.predict(names)).all() and (fit.predict(names) < high).all()
    assert np.isnan(fit.predict_interval(0.99)).all()  # 50 targets cannot tell
    assert fit.predict(["v60"], as_frame=True).index.tolist() == ["v60"]
    with pytest.raises(mochi.StateError, match="has predictions and no probabilities"):
        fit.predict_proba()


def test_a_unit_changes_nothing_but_the_unit(model, ring):
    g, y = ring
    known = dict(list(y.items())[:30])
    one = model.few_shot(g, targets=known, transform="none").predict_interval(0.8)
    other = model.few_shot(g, targets={name: 1e6 * (v + 3) for name, v in known.items()}, transform="none").predict_interval(0.8)
    np.testing.assert_allclose(other, 1e6 * (one + 3), rtol=1e-6)


def test_logarithms_stay_above_zero_and_classes_come_back(model, ring):
    g, y = ring
    prices = {name: float(np.exp(v)) for name, v in list(y.items())[:50]}
    fit = model.few_shot(g, targets=prices)
    assert fit.estimate.log and (fit.predict_interval(0.9) > 0).all()
    plain = model.few_shot(g, targets=prices, transform="none")
    assert not plain.estimate.log and not np.allclose(plain.predict(), fit.predict())
    again = pickle.loads(pickle.dumps(fit))
    np.testing.assert_array_equal(again.predict(), fit.predict())


def test_a_fit_of_targets_is_kept(model, ring, tmp_path):
    g, y = ring
    for transform in ("none", "log"):
        fit, path = model.few_shot(g, targets={v: abs(t) for v, t in list(y.items())[:30]}, transform=transform), tmp_path / "fit"
        fit.save(path)
        again = model.few_shot(g, readout=path)
        assert isinstance(again, mochi.FewShotTargets) and str(again.estimate) == str(fit.estimate)
        assert again.labelled.tolist() == fit.labelled.tolist()
        np.testing.assert_array_equal(again.predict_interval(0.8), fit.predict_interval(0.8))
        np.testing.assert_allclose(pickle.loads(pickle.dumps(again)).predict(), fit.predict(), rtol=1e-6)
        g.save(tmp_path / "g.npz")
        program = [os.environ.get("MOCHI_PROGRAM", ""), "predict", "--data", str(tmp_path / "g.npz"), "--readout", str(path), "--quiet"]
        if "MOCHI_PROGRAM" in os.environ:
            lines = subprocess.run(program, capture_output=True, text=True, check=True).stdout.splitlines()[1:]
            told = {line.split(",")[0]: float(line.split(",")[1]) for line in lines}
            np.testing.assert_allclose(fit.predict(list(told)), list(told.values()), rtol=1e-4)
    with pytest.raises(mochi.InvalidError, match="one of them"):
        model.few_shot(g, targets=y, readout=path)


def test_gaps_and_forms_of_targets(model, ring):
    g, y = ring
    column = np.full(80, np.nan)
    column[:20] = list(y.values())[:20]
    by_array = model.few_shot(g, targets=column).predict()
    by_dict = model.few_shot(g, targets={**dict(list(y.items())[:20]), "v70": None}).predict()
    np.testing.assert_array_equal(by_array, by_dict)


@pytest.mark.parametrize("targets, words", [
    ({"v0": 1.0, "v1": 2.0}, "expected 3 targets or more, found 2"),
    ({"v0": 1.0, "v1": 1.0, "v2": 1.0}, "expected targets that differ"),
    ({"v0": 1.0, "v1": 2.0, "v2": float("inf")}, "expected a finite number"),
    ({"v0": 1.0, "v1": 2.0, "v2": "dear"}, "'dear', expected a number"),
    ({"v0": 1.0, "v1": 2.0, "nobody": 3.0}, "nobody"),
    ([1.0, 2.0, 3.0], "expected one for each of 80 examples"),
])  # fmt: skip
def test_bad_targets_are_refused_in_words(model, ring, targets, words):
    g, y = ring
    fit = model.few_shot(g, targets=dict(list(y.items())[:9]))
    with pytest.raises(mochi.Error, match=words):
        fit.fit(targets)


def test_what_reads_classes_is_refused(model, ring):
    g, y = ring
    known = dict(list(y.items())[:9])
    for options in ({"head": "logistic"}, {"labels": {"v0": 0, "v1": 1}}):
        with pytest.raises(mochi.Error, match="real targets|labels and targets"):
            model.few_shot(g, targets=known, **options)
    with pytest.raises(mochi.InvalidError, match="above 0 for the transform log"):
        model.few_shot(g, targets={**known, "v0": -1.0}, transform="log")


def test_numbers_are_never_classes_in_silence(model, ring):
    g, y = ring
    with pytest.raises(mochi.InvalidError, match="targets"):
        model.few_shot(g, y)


@parametrize_with_checks([RidgeRegressor(), RidgeRegressorCV(), KernelMixtureRegressor()])
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_ridge_is_that_of_scikit_learn():
    random = np.random.default_rng(1)
    X, w = random.normal(size=(40, 5)) * [1, 10, 0.1, 3, 1], random.uniform(size=40)
    Y = np.where(random.uniform(size=(40, 2)) < 0.3, 0, X @ random.normal(size=(5, 2)))  # a target of 0 is no gap
    for y in (Y, Y[:, 0]):
        Z = (X - np.average(X, 0, w)) / np.sqrt(np.average((X - np.average(X, 0, w)) ** 2, 0, w))
        expected = Ridge(alpha=2.0).fit(Z, y, w).predict(Z)
        np.testing.assert_allclose(RidgeRegressor(lam=2.0).fit(X, y, w).predict(X), expected, atol=1e-8)


def test_penalties_are_mixed_by_what_is_left_out():
    random = np.random.default_rng(3)
    X = random.normal(size=(30, 20))
    for noise, penalty in ((0.01, 0.01), (30.0, 100.0)):
        y = X[:, 0] + noise * random.normal(size=30)
        mixed = RidgeRegressorCV().fit(X, y).coef_
        weak, strong = (RidgeRegressor(lam=lam).fit(X, y).coef_ for lam in (0.01, 100.0))
        nearer = weak if penalty < 1 else strong
        assert np.linalg.norm(mixed - nearer) < 0.5 * np.linalg.norm(weak - strong)


def wave(n, seed=4):
    """Rows, and two targets of these, of which one is a curve and far larger than the other."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 2))
    Y = np.stack([1e4 * np.sin(2 * X[:, 0]) + 1e3 * random.normal(size=n), X[:, 1] + 0.1 * random.normal(size=n)], 1)
    return X, Y


@pytest.mark.parametrize("estimator", [RidgeRegressor(), RidgeRegressorCV(), KernelMixtureRegressor()])
def test_several_targets_have_an_order_and_units_that_change_nothing(estimator):
    X, Y = wave(60)
    found = estimator.fit(X[:40], Y[:40]).predict(X[40:])
    assert found.shape == (20, 2)
    other = estimator.fit(X[:40], Y[:40, ::-1] * [7.0, 1e-4] + 5).predict(X[40:])
    np.testing.assert_allclose(other, found[:, ::-1] * [7.0, 1e-4] + 5, rtol=1e-6)
    if isinstance(estimator, RidgeRegressor):
        np.testing.assert_allclose(estimator.fit(X[:40], Y[:40, 1]).predict(X[40:]), found[:, 1], rtol=1e-9)


def test_a_mixture_of_kernels_follows_a_curve_with_intervals():
    (X, Y), (Xq, Yq) = wave(100), wave(1000, 5)
    fit = KernelMixtureRegressor().fit(X, Y[:, 0])
    assert fit.score(Xq, Yq[:, 0]) > 0.9 > 0.1 > RidgeRegressorCV().fit(X, Y[:, 0]).score(Xq, Yq[:, 0]) - 0.1
    for coverage in (0.5, 0.8, 0.9):
        low, high = fit.predict_interval(Xq, coverage).T
        assert abs(((low <= Yq[:, 0]) & (Yq[:, 0] <= high)).mean() - coverage) < 0.1
    far = fit.predict_interval([[30.0, 30.0], [0.0, 0.0]])
    assert np.ptp(far[0]) > 2 * np.ptp(far[1])  # nothing is known there
    assert np.isnan(fit.predict_interval(Xq, 0.995)).all()  # 100 rows cannot tell
    both = KernelMixtureRegressor().fit(X, Y).predict_interval(Xq)
    assert both.shape == (1000, 2, 2) and (abs(((both[..., 0] <= Yq) & (Yq <= both[..., 1])).mean(0) - 0.9) < 0.1).all()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fit)).predict_interval(Xq), fit.predict_interval(Xq))


def test_weights_are_repetitions_in_intervals_too():
    X, Y = wave(40)
    weight = np.random.default_rng(1).integers(0, 4, 40)
    one = KernelMixtureRegressor().fit(X, Y, weight).predict_interval(X, 0.8)
    again = KernelMixtureRegressor().fit(np.repeat(X, weight, 0), np.repeat(Y, weight, 0)).predict_interval(X, 0.8)
    np.testing.assert_allclose(one, again, rtol=1e-6)


def test_many_rows_are_fitted_by_some():
    (X, Y), (Xq, Yq) = wave(1500), wave(500, 6)
    fit = KernelMixtureRegressor().fit(X, Y[:, 0])
    assert len(fit._centres) == 1024 and fit.score(Xq, Yq[:, 0]) > 0.97
    low, high = fit.predict_interval(Xq, 0.8).T
    assert abs(((low <= Yq[:, 0]) & (Yq[:, 0] <= high)).mean() - 0.8) < 0.06


def test_a_head_takes_kernels_of_its_users_and_its_fit_is_pickled():
    X, Y = wave(30)
    K = np.exp(-((X[:, None] - X) ** 2).sum(-1))[None]
    fit = mochi.head("mixture").fitted(X, Y, targets=True, kernels=K)
    again = pickle.loads(pickle.dumps(fit))
    np.testing.assert_array_equal(again(X, K), fit(X, K))
    assert fit["share"].shape == (3, 5) and np.isclose(fit["share"].sum(), 1)
    with pytest.raises(mochi.InvalidError, match="0 kernels, expected 1"):
        fit(X)
    assert (fit.spread(X, K, np.ones((1, 30))) > 0).all()
