"""Heads as estimators of scikit-learn, and few_shot_score, the table of `mochi readouts` in Python."""

import json
import os
import pickle
import subprocess
import warnings

import mochi
import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")

from mochi.sklearn import (  # noqa: E402
    LDAHead,
    LogisticHead,
    LogisticHeadCV,
    PrototypeHead,
    RidgeHead,
    RidgeHeadCV,
    SVMHead,
    few_shot_score,
)
from sklearn.base import clone  # noqa: E402
from sklearn.datasets import make_blobs  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

PROGRAM = os.environ.get("MOCHI_PROGRAM", "")
EVERY = [
    RidgeHead(), RidgeHead(intercept="free", calibrated=True), LogisticHead(), LogisticHead(intercept="penalised"),
    SVMHead(centred=False), LDAHead(), PrototypeHead(), PrototypeHead("centred"),
    PrototypeHead("cosine", scale=5.0, calibrated=True),
]  # fmt: skip
Z, y = make_blobs(400, 8, centers=4, cluster_std=4.0, random_state=0)
names = np.array(["d", "a", "c", "b"])[y]


CHECKED = [
    RidgeHead(), LogisticHead(), SVMHead(), LDAHead(), PrototypeHead(), RidgeHead(calibrated=False), SVMHead(centred=False),
    RidgeHead(intercept="free"), LogisticHead(intercept="penalised"), LDAHead("auto"), PrototypeHead("cosine"), RidgeHeadCV(),
    LogisticHeadCV(calibrated=True),
]  # fmt: skip


@parametrize_with_checks(CHECKED)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", EVERY, ids=str)
def test_the_logits_are_those_of_the_head(estimator):
    made = clone(estimator).fit(Z[:100], names[:100])
    name, parameters = made._head()
    Y = np.eye(4)[np.unique(names[:100], return_inverse=True)[1]]
    with mochi.Tape(mode="eval"):
        expected = mochi.head(name)(Z[:100], Y, Z[100:], **parameters).numpy()
    mine = made.logits(Z[100:])
    mine, expected = (a - a.mean(1, keepdims=True) for a in (mine, expected))
    np.testing.assert_allclose(mine, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
    assert made.predict(Z[100:]).tolist() == made.classes_[expected.argmax(1)].tolist()
    P = made.predict_proba(Z[100:])
    np.testing.assert_allclose(P.sum(1), 1)
    scaled = np.exp((expected - expected.max(1, keepdims=True)) / made.temperature_)
    np.testing.assert_allclose(P, scaled / scaled.sum(1, keepdims=True), atol=1e-7)
    again = pickle.loads(pickle.dumps(made))
    assert np.array_equal(again.predict_proba(Z), made.predict_proba(Z)) and again.score(Z[100:], names[100:]) > 0.7


LINEAR = [RidgeHead(), RidgeHead(intercept="free"), LogisticHead(), LogisticHead(intercept="penalised"), SVMHead(), LDAHead(),
          LDAHead("auto"), PrototypeHead(), PrototypeHead("centred")]  # fmt: skip


@pytest.mark.parametrize("estimator", LINEAR, ids=str)
def test_a_linear_head_is_its_coefficients(estimator):
    made = clone(estimator).fit(Z, names)
    assert made.coef_.shape == (4, 8) and made.intercept_.shape == (4,)
    np.testing.assert_allclose(Z @ made.coef_.T + made.intercept_, made.decision_function(Z), atol=1e-9)
    np.testing.assert_allclose(np.exp(made.predict_log_proba(Z)), made.predict_proba(Z), rtol=1e-9)
    two = clone(estimator).fit(Z, names < "c")
    assert two.coef_.shape == (1, 8)
    np.testing.assert_allclose(Z @ two.coef_[0] + two.intercept_[0], two.decision_function(Z), atol=1e-9)
    assert not hasattr(clone(estimator), "coef_") and not hasattr(PrototypeHead("cosine").fit(Z, y), "coef_")


@pytest.mark.parametrize("estimator", LINEAR, ids=str)
def test_a_weight_counts_rows(estimator):
    weight = np.arange(60) % 3
    weight[:4] = 1
    rows = np.repeat(np.arange(60), weight)
    made = clone(estimator).fit(Z[:60], names[:60], sample_weight=weight)
    again = clone(estimator).fit(Z[rows], names[rows])
    np.testing.assert_allclose(made.predict_proba(Z), again.predict_proba(Z), atol=1e-7)
    if "class_weight" not in estimator.get_params():
        return
    few = np.flatnonzero((y > 0) | (np.arange(400) % 9 == 0))  # makes class 0 rare
    plain, fair = (clone(estimator).set_params(class_weight=w).fit(Z[few], y[few]) for w in (None, "balanced"))
    assert (fair.predict(Z) == 0).sum() >= (plain.predict(Z) == 0).sum()


def test_the_svm_ends_on_raw_columns():
    raw = Z * np.logspace(0, 5, Z.shape[1])
    with pytest.raises(mochi.NumericalError, match="standardise the columns"):
        SVMHead(max_iter=30).fit(raw, y)


def test_iterations_are_counted():
    for estimator, most in ((LogisticHead(), 500), (SVMHead(), 5000), (LogisticHeadCV(), 500)):  # the SVM's are passes
        assert 0 < clone(estimator).fit(Z, y).n_iter_[0] < most
    assert RidgeHead().fit(Z, y).n_iter_ is None
    assert LogisticHead().fit(Z, np.stack([y > 1, y == 0], 1)).n_iter_.shape == (2,)


def test_logits_are_features_with_names():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(Z, columns=[f"z{i}" for i in range(8)])
    for estimator in EVERY:
        made = clone(estimator).set_output(transform="pandas").fit(table, names)
        features = made.transform(table)
        assert list(features.columns) == list(made.get_feature_names_out()) and features.index.equals(table.index)
        assert features.columns[3] == f"{type(made).__name__.lower()}3"
        np.testing.assert_array_equal(features.to_numpy(), made.logits(table))


def test_figures_are_those_of_scikit_learn():
    """C and the class weights mean what they do in scikit-learn; ridge without a penalty on the intercept equals
    RidgeClassifier, whose labels are 1 and -1."""
    from sklearn.linear_model import LogisticRegression, RidgeClassifier

    weight = np.random.default_rng(0).uniform(0.1, 3, 400)
    theirs = LogisticRegression(C=0.5, tol=1e-12, max_iter=10000, solver="newton-cg").fit(Z, names, weight)
    mine = LogisticHead(C=0.5).fit(Z, names, weight)
    np.testing.assert_allclose(mine.predict_proba(Z), theirs.predict_proba(Z), atol=1e-6)
    np.testing.assert_allclose(mine.coef_ - mine.coef_.mean(0), theirs.coef_ - theirs.coef_.mean(0), atol=1e-5)
    balanced = LogisticRegression(class_weight="balanced", tol=1e-12, max_iter=10000, solver="newton-cg").fit(Z[:90], names[:90])
    made = LogisticHead(class_weight="balanced").fit(Z[:90], names[:90])
    np.testing.assert_allclose(made.predict_proba(Z), balanced.predict_proba(Z), atol=1e-6)
    theirs = RidgeClassifier(alpha=3.0).fit(Z, names, weight)
    mine = RidgeHead(3.0, intercept="free").fit(Z, names, weight)
    np.testing.assert_allclose(2 * mine.coef_, theirs.coef_, atol=1e-9)
    np.testing.assert_allclose(2 * mine.intercept_ - 1, theirs.intercept_, atol=1e-9)
    from sklearn.covariance import ledoit_wolf_shrinkage

    R = Z - np.stack([Z[y == c].mean(0) for c in range(4)])[y]
    assert LDAHead("auto").fit(Z, y).shrinkage_ == pytest.approx(ledoit_wolf_shrinkage(R, assume_centered=True))


@pytest.mark.parametrize("rows", [28, 140])
def test_ridge_and_lda_are_those_of_scikit_learn(rows):
    """With fewer rows than the 40 columns, and with more. Two solvers agree to 1e-8 on systems of condition up to 1e5."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import Ridge

    rng, label = np.random.default_rng(rows), np.arange(rows + 35) % 7
    drawn = (1 + np.arange(40) % 3) * rng.normal(size=(len(label), 40)) + np.eye(40)[label]
    Zs, Zq, Y, ones = drawn[:rows], drawn[rows:], np.eye(7)[label[:rows]], np.ones((len(label), 1))

    def assert_scores(name, theirs, **parameters):
        with mochi.Tape(mode="eval"):
            mine = mochi.head(name)(Zs, Y, Zq, **parameters).numpy()
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-8 * np.abs(theirs).max())

    for lam in (0.1, 10.0):
        beside = Ridge(alpha=lam, fit_intercept=False).fit(np.hstack([Zs, ones[:rows]]), Y)
        assert_scores("ridge", beside.predict(np.hstack([Zq, ones[rows:]])), lam=lam)
        assert_scores("ridge_intercept", Ridge(alpha=lam).fit(Zs, Y).predict(Zq), lam=lam)
    for shrinkage in (0.1, 0.7, 1.0) if rows < 80 else (0.0, 0.1, 0.7, 1.0):
        mean = Zs.mean(0)  # lda's scores do not depend on it; other rows' scores of scikit-learn differ by a number a row
        theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(Zs - mean, label[:rows])
        assert_scores("lda", theirs.decision_function(Zq - mean), shrinkage=shrinkage)


SPARSE = [
    RidgeHead(), RidgeHead(intercept="free"), LogisticHead(), SVMHead(centred=False), PrototypeHead(), PrototypeHead("cosine"),
]  # fmt: skip


@pytest.mark.parametrize("estimator", SPARSE, ids=str)
@pytest.mark.parametrize("d", [30, 300])
def test_sparse_rows_give_the_fit_of_dense_ones(estimator, d):
    from scipy import sparse

    rng = np.random.default_rng(0)
    X = sparse.random_array((80, d), density=0.1, rng=rng, format="csr")
    label, weight = rng.integers(0, 3, 80), rng.uniform(0.5, 2, 80)
    made, dense = (clone(estimator).fit(rows, label, sample_weight=weight) for rows in (X, X.toarray()))
    np.testing.assert_allclose(made.logits(X), dense.logits(X.toarray()), atol=1e-6)
    with pytest.raises((ValueError, TypeError), match="[Ss]parse"):
        LDAHead().fit(X, label)


def test_rows_that_would_be_densified_are_refused():
    from scipy import sparse

    X = sparse.random_array((200_000, 3000), density=1e-5, rng=np.random.default_rng(0), format="csr")
    with pytest.raises(ValueError, match="take 200000 x 3000 dense numbers"):
        LogisticHead().fit(X, np.arange(200_000) % 2)


def test_several_labels_a_row():
    labels = np.stack([y > 1, y % 2, y == 0], 1).astype(int)
    for estimator in (RidgeHead(), LogisticHead()):
        made = clone(estimator).fit(Z, labels)
        assert made.predict(Z).shape == (400, 3) and (made.predict(Z) == labels).mean() > 0.8
        alone = clone(estimator).fit(Z, labels[:, 1])
        np.testing.assert_allclose(made.decision_function(Z)[:, 1], alone.decision_function(Z), atol=1e-9)
        np.testing.assert_allclose(made.predict_proba(Z)[:, 1], alone.predict_proba(Z)[:, 1], atol=1e-9)
    with pytest.raises(ValueError):
        LDAHead().fit(Z, labels)


def test_a_penalty_is_chosen_by_held_out_rows():
    train, test = np.arange(0, 400, 5), np.setdiff1d(np.arange(400), np.arange(0, 400, 5))
    for estimator, name in ((RidgeHeadCV(), "ridge"), (LogisticHeadCV(), "logistic")):
        (row,) = few_shot_score(Z, names, name, split=(train, test), tune=True)
        assert row["accuracy"] == pytest.approx(100 * estimator.fit(Z[train], names[train]).score(Z[test], names[test]))
        assert estimator.lam_ > 0 and estimator.fit(Z[train], names[train]).lam_ == estimator.lam_


@pytest.mark.parametrize("shape", [(24, 40), (60, 9)], ids=["wide", "tall"])
@pytest.mark.parametrize("free", [False, True], ids=["penalised", "free"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_ridge_without_rows_is_the_fit_of_the_others(shape, free, kind):
    from mochi.ridges import Ridges
    from scipy import sparse

    rng, head = np.random.default_rng(0), mochi.head("ridge_intercept" if free else "ridge")
    X = np.where(rng.random(shape) < 0.5, rng.normal(size=shape), 0) + (5.0 if kind == "dense" else 0.0)
    Y = np.eye(3)[np.arange(len(X)) % 3]

    def fit(rows, lam):
        with mochi.Tape():
            return [x.numpy() for x in head.fit(X[rows], Y[rows], lam=lam)]

    every = np.arange(len(X))
    parts = [every[:1], every[1:12:2], every[20:24]]
    ridges = Ridges(sparse.csr_array(X) if kind == "sparse" else X, Y, free, parts)
    for found, expected in zip(ridges.weights(0.7), fit(every, 0.7), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10)
    expected = [(X[J] @ W + b, J) for J in parts for W, b in [fit(np.setdiff1d(every, J), 0.7)]]
    np.testing.assert_allclose(np.concatenate(ridges.without(0.7)), np.concatenate([logits for logits, _ in expected]), atol=1e-9)
    for lam, logits in zip((0.01, 30.0), ridges.alone((0.01, 30.0)), strict=True):
        alone = [X[i] @ W + b for i in every for W, b in [fit(np.delete(every, i), lam)]]
        np.testing.assert_allclose(logits.T, np.concatenate(alone), atol=1e-8)


def test_penalties_to_try_can_be_given():
    from sklearn.linear_model import RidgeClassifierCV

    theirs = RidgeClassifierCV(alphas=[3.0]).fit(Z, y)
    made = RidgeHeadCV(intercept="free", alphas=[3.0]).fit(Z, y)
    assert made.lam_ == 3
    np.testing.assert_allclose(2 * made.coef_, theirs.coef_, atol=1e-10)
    assert RidgeHeadCV(alphas=[1e5, 1e9, 1.0]).fit(Z, y).lam_ == 1
    for wrong, what in (([0.0], "alphas is 0"), ([1.0, np.nan], "alphas is nan"), ("x", "alphas is 'x'")):
        with pytest.raises(ValueError, match=what):
            RidgeHeadCV(alphas=wrong).fit(Z, y)
    with pytest.raises(ValueError, match="alphas"):
        RidgeHeadCV(alphas=[]).fit(Z, y)


def test_a_logistic_fit_of_many_rows_ends_below_its_tolerance(monkeypatch):
    from sklearn.linear_model import LogisticRegression

    X, label, _, _ = embedded(100, 64, 10.0, 0)
    w, one_hot = 0.5 + np.arange(500) % 3, np.eye(5)[label]

    def measure(made, own):
        """(objective, largest gradient of the mean loss) of [W | b]."""
        W, b = made.coef_, made.intercept_
        F = X @ W.T + b
        R = (np.exp(F - np.logaddexp.reduce(F, 1)[:, None]) - one_hot) * own[:, None]
        free = getattr(made, "intercept", "free") == "free"
        loss = own @ (np.logaddexp.reduce(F, 1) - F[np.arange(500), label]) + (W**2).sum() / 2 + (not free) * (b**2).sum() / 2
        of_b = R.sum(0) + (0 if free else b)
        return loss, max(np.abs(R.T @ X + W).max(), np.abs(of_b).max()) / own.sum()

    with warnings.catch_warnings(action="ignore"):  # it does not converge
        theirs = LogisticRegression().fit(X, label)
    exact = LogisticHead(tol=0).fit(X, label)
    monkeypatch.setattr(mochi.sklearn, "MANY", 0)
    made, ones = LogisticHead().fit(X, label), np.ones(500)
    assert 1e-12 < measure(made, ones)[1] < 1e-5 and measure(exact, ones)[1] < 1e-12
    assert measure(exact, ones)[0] <= measure(made, ones)[0] < measure(theirs, ones)[0]
    for other in (LogisticHead(intercept="penalised"), LogisticHead(class_weight=None, tol=1e-4)):
        assert 1e-12 < measure(other.fit(X, label, sample_weight=w), w)[1] < 1e-4
    assert measure(LogisticHead(tol=0).fit(X, label), ones)[1] < 1e-12
    X += 1e3  # float32 is too narrow now
    assert measure(LogisticHead().fit(X, label), ones)[1] < 1e-8
    with pytest.raises(ValueError, match="tol is -1"):
        LogisticHead(tol=-1).fit(X, label)
    with pytest.raises(mochi.errors.NumericalError, match="separable"):
        LogisticHead(lam=0.0).fit(np.eye(5)[label], label)


def test_estimators_of_scikit_learn_are_scored_on_the_same_episodes():
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    theirs = LogisticRegression(tol=1e-8, max_iter=1000)
    rows = few_shot_score(Z, names, ["logistic", theirs], shots=(4, 8), episodes=9, outcomes=True)
    assert [(row["head"], row["k"]) for row in rows] == [
        ("logistic", 4), ("LogisticRegression", 4), ("logistic", 8), ("LogisticRegression", 8)
    ]  # fmt: skip
    for mine, other in (rows[:2], rows[2:]):
        assert np.array_equal(mine["outcomes"], other["outcomes"])
        for figure in ("accuracy", "ci95", "nll", "brier", "ece"):
            assert mine[figure] == pytest.approx(other[figure], rel=1e-3), figure
    piped = make_pipeline(StandardScaler(), theirs)
    scaled, other = few_shot_score(Z, names, ["logistic", piped], shots=(8,), episodes=9, scaling="standardise")
    assert scaled["accuracy"] == pytest.approx(other["accuracy"]) and other["head"] == "Pipeline"
    (row,) = few_shot_score(Z, names, LinearSVC(), split=(np.arange(100), None))
    assert row["accuracy"] == pytest.approx(100 * LinearSVC().fit(Z[:100], names[:100]).score(Z[100:], names[100:]))
    assert np.isnan(row["nll"])
    with pytest.raises(ValueError, match="sparse rows, expected dense"):
        from scipy import sparse

        few_shot_score(sparse.csr_array(Z), y, "ridge")


def test_an_svm_of_rows_far_from_0_is_better_centred():
    far = 100 + np.random.default_rng(0).normal(size=(100, 2))
    label = far[:, 0] > 100
    assert SVMHead().fit(far, label).score(far, label) > 0.9
    assert 0.6 < SVMHead(centred=False).fit(far, label).score(far, label) < 0.9
    centred, plain = SVMHead(centred=True).fit(Z, y), SVMHead(centred=False).fit(Z - Z.mean(0), y)
    assert np.allclose(centred.logits(Z), plain.logits(Z - Z.mean(0)))


def test_an_svm_is_as_accurate_as_that_of_scikit_learn():
    from sklearn.svm import LinearSVC

    for k, d, below in ((4, 64, 1.5), (16, 64, 0), (16, 200, 0.5)):
        margins = []
        for seed in range(6):
            X, label, Xq, right = embedded(k, d, 10.0, seed)
            margins.append(100 * (SVMHead().fit(X, label).score(Xq, right) - LinearSVC().fit(X, label).score(Xq, right)))
        assert np.mean(margins) > -below, (k, d, margins)


def test_a_column_in_other_units_does_not_make_an_svm_slow():
    """Times 1e4, such a column took 220 times as many passes over the kernel, times 1e6 more than there are."""
    made = {}
    for size in (1.0, 1e4, 1e8):
        X, label, Xq, right = embedded(16, 64, 10.0, 0)
        X[:, 3], Xq[:, 3] = size * X[:, 3], size * Xq[:, 3]
        made[size] = SVMHead(calibrated=True).fit(X, label)
        assert made[size].n_iter_[0] < 2000
        assert made[size].score(Xq, right) > made[1.0].score(embedded(16, 64, 10.0, 0)[2], right) - 0.03
    assert 0.1 < made[1e8].temperature_ < 0.4
    weight = np.arange(80) % 3
    rows = np.repeat(np.arange(80), weight)
    weighted, again = SVMHead().fit(X, label, sample_weight=weight), SVMHead().fit(X[rows], label[rows])
    np.testing.assert_allclose(weighted.logits(X), again.logits(X), atol=1e-6)


def test_an_svm_takes_more_than_4096_rows():
    X, label, Xq, right = embedded(830, 64, 10.0, 0)
    assert len(X) > 4096 and SVMHead().fit(X, label).score(Xq, right) > 0.95


def test_two_classes_have_one_decision():
    two = names < "c"
    made = LogisticHead().fit(Z, two)
    scores = made.decision_function(Z)
    assert scores.shape == (len(Z),) and np.array_equal(scores > 0, made.predict(Z))


def test_the_temperature_is_that_of_mochi_fit():
    train, test = np.arange(0, 400, 5), np.setdiff1d(np.arange(400), np.arange(0, 400, 5))
    for estimator, head in ((LogisticHead(0.01, calibrated=True), "logistic"), (RidgeHead(10.0), "ridge")):
        made = estimator.fit(Z[train], y[train])
        # The folds take rows in turn: an estimator's in an order of its own, mochi readouts's as they were given.
        rows = [*sorted(train, key=lambda i: (y[i], Z[i].tobytes())), *test]
        (row,) = few_shot_score(Z[rows], y[rows], head, split=(np.arange(len(train)), None), lam=made.lam)
        assert row["accuracy"] == pytest.approx(100 * made.score(Z[test], y[test]))
        P = made.predict_proba(Z[test])
        assert ece(P, y[test]) == pytest.approx(row["ece_temperature"], abs=1e-4) and row["ece_temperature"] < row["ece"]
        assert made.temperature_ != 1
    with pytest.raises(ValueError, match="expected one of euclidean"):
        PrototypeHead("manhattan").fit(Z, y)


def embedded(k, d, norm, seed):
    """Rows as a sentence encoder makes them: about a common direction, with a spectrum that falls as a power. k rows of
    each of 5 classes with 5% wrong labels, and 1,000 rows for a test."""
    rng, n = np.random.default_rng(seed), 5 * k
    label = np.concatenate([np.repeat(np.arange(5), k), np.repeat(np.arange(5), 200)])
    spectrum = (1 + np.arange(d)) ** -0.5
    X = rng.normal(size=(len(label), d)) * spectrum + (0.55 * rng.normal(size=(5, d)) * spectrum)[label]
    X[:, d // 2] += np.linalg.norm(spectrum)
    X = X @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    X *= norm / np.linalg.norm(X, axis=1, keepdims=True)
    given = np.where(rng.random(n) < 0.05, rng.integers(0, 5, n), label[:n])
    return X[:n], given, X[n:], label[n:]


def accuracy_of(estimator, k, d, norm, column=1.0):
    """The mean accuracy over two draws; the fourth column times a factor."""
    scores = []
    for seed in range(2):
        X, label, Xq, right = embedded(k, d, norm, seed)
        X[:, 3], Xq[:, 3] = column * X[:, 3], column * Xq[:, 3]
        scores.append(clone(estimator).fit(X, label).score(Xq, right))
    return 100 * np.mean(scores)


@pytest.mark.parametrize("d", [64, 200])
@pytest.mark.parametrize("k", [4, 16])
def test_the_penalty_of_a_ridge_follows_the_scale_of_the_rows(k, d):
    """A penalty of 10 loses up to 25 points on rows of norm 1. Where the intercept is penalised, the scale of the rows
    changes its share, by 2 points here."""
    from sklearn.linear_model import RidgeClassifier

    unit = accuracy_of(RidgeHead(), k, d, 1.0)
    assert unit > accuracy_of(RidgeClassifier(), k, d, 1.0) - 0.5
    for norm in (1e-6, 10.0):
        assert abs(accuracy_of(RidgeHead(), k, d, norm) - unit) < 2.5
        free = [accuracy_of(RidgeHead(intercept="free"), k, d, size) for size in (1.0, norm)]
        assert free[0] == pytest.approx(free[1], abs=0.1)
    assert accuracy_of(RidgeHead(), k, d, 10.0) > accuracy_of(RidgeHead(10.0), k, d, 10.0) - 1.5


def test_the_penalty_of_a_ridge_is_its_formula():
    X, label, _, _ = embedded(8, 12, 10.0, 0)
    X[:, 2], X[:, 5] = 4.0, 1e6 * X[:, 5]
    s = X.var(0)
    bound = 100 * np.sort(s[s > 1e-9])[5]  # the lower median of 11
    expected = 0.3 * (s[s < bound].sum() + bound)
    assert RidgeHead().fit(X, label).lam_ == pytest.approx(expected)
    weight = np.arange(40) % 3
    again = RidgeHead().fit(X[np.repeat(np.arange(40), weight)], label[np.repeat(np.arange(40), weight)])
    assert RidgeHead().fit(X, label, sample_weight=weight).lam_ == pytest.approx(again.lam_)
    assert RidgeHead(3.0).fit(X, label).lam_ == 3 and RidgeHead().fit(np.ones((4, 2)), [0, 0, 1, 1]).lam_ == 10


@pytest.mark.parametrize("head", ["ridge", "logistic"])
def test_a_column_of_another_scale_spoils_no_choice(head):
    """The grid of penalties would follow the mean square of the rows, and so that column alone."""
    estimator = {"ridge": RidgeHeadCV(), "logistic": LogisticHeadCV()}[head]
    plain = accuracy_of(estimator, 16, 64, 10.0)
    assert accuracy_of(estimator, 16, 64, 10.0, column=1e4) > plain - 4
    assert accuracy_of(estimator, 16, 64, 1e-4) > plain - 4
    if head == "ridge":
        rows, label, Xq, right = embedded(16, 64, 10.0, 0)
        assert estimator.fit(rows + 1e3, label).score(Xq + 1e3, right) > 0.01 * plain - 0.1


def test_probabilities_are_calibrated_at_first():
    """Uncalibrated, the log loss of a ridge is above 1 at every accuracy: its logits are regressions on 0 and 1."""
    from sklearn.metrics import log_loss

    for k, bound in ((4, 0.9), (16, 0.4)):
        X, label, Xq, right = embedded(k, 200, 1.0, 0)
        for estimator in (RidgeHead(), RidgeHead(intercept="free"), RidgeHeadCV()):
            assert log_loss(right, estimator.fit(X, label).predict_proba(Xq)) < bound, (k, estimator)
        assert log_loss(right, RidgeHead(calibrated=False).fit(X, label).predict_proba(Xq)) > 1


@pytest.mark.parametrize("estimator", [RidgeHead(), RidgeHeadCV(), LogisticHeadCV(calibrated=True)], ids=str)
def test_a_choice_depends_on_the_distinct_rows_alone(estimator):
    """Copies of a row would give away its label to the row that is left out."""
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(80), np.arange(80) % 3 + 1))
    made, again = clone(estimator).fit(Z[:80], y[:80]), clone(estimator).fit(Z[order], y[order])
    if "CV" in type(estimator).__name__:
        assert again.lam_ == pytest.approx(made.lam_) and again.temperature_ == pytest.approx(made.temperature_, rel=1e-3)
    weight = np.bincount(order)
    weighted = clone(estimator).fit(Z[:80], y[:80], sample_weight=weight)
    np.testing.assert_allclose(weighted.predict_proba(Z), again.predict_proba(Z), atol=1e-7)


def test_sparse_rows_that_stay_sparse_have_a_temperature(monkeypatch):
    from scipy import sparse

    rng = np.random.default_rng(0)
    X = sparse.random_array((900, 40), density=0.2, rng=rng, format="csr")
    label = (X @ rng.normal(size=(40, 3)) + 0.3 * rng.normal(size=(900, 3))).argmax(1)
    dense = RidgeHead().fit(X, label)
    monkeypatch.setattr(mochi.sklearn, "MOST_DENSE", 0)
    kept = RidgeHead().fit(X, label)
    assert kept.lam_ == dense.lam_ and dense.temperature_ < 0.5
    assert kept.temperature_ == pytest.approx(dense.temperature_, rel=0.05)  # five other folds


def test_float32_rows_are_not_copied_for_a_prediction():
    import tracemalloc

    rows = np.random.default_rng(0).normal(size=(40_000, 64)).astype(np.float32)
    for estimator in (RidgeHead(), PrototypeHead("cosine")):
        made = clone(estimator).fit(rows[:200], np.arange(200) % 2)
        wide = made.logits(rows.astype(np.float64))
        np.testing.assert_allclose(made.logits(rows), wide, atol=1e-5 * np.abs(wide).max())
        tracemalloc.start()
        made.predict(rows)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < rows.nbytes, peak  # as float64, the rows alone would take twice that


def ece(P, label):
    confidence, right = P.max(1), P.argmax(1) == label
    part = np.ceil(confidence * 15)
    return sum(abs((right[part == b].astype(float) - confidence[part == b]).sum()) for b in range(1, 16)) / len(label)


def test_grid_search_runs_in_processes_and_threads():
    joblib = pytest.importorskip("joblib")
    for backend in ("loky", "threading"):
        with joblib.parallel_config(backend):
            search = GridSearchCV(RidgeHead(), {"lam": [10.0], "calibrated": [False, True]}, n_jobs=2, cv=2)
            search.fit(Z, names)
        assert search.best_score_ > 0.8 and set(search.best_params_) == {"lam", "calibrated"}


def test_the_table_of_fit():
    rows = few_shot_score(Z, names, ["ridge", "svm"], shots=(1, 5), episodes=7, queries=10, outcomes=True)
    assert [(row["head"], row["k"]) for row in rows] == [("ridge", 1), ("svm", 1), ("ridge", 5), ("svm", 5)]
    for row in rows:
        assert row["failure"] is None and row["outcomes"].shape == (7,)
        assert row["accuracy"] == pytest.approx(row["outcomes"].mean())
        assert np.isnan(row["ece_temperature"]) == (row["k"] == 1)
    assert few_shot_score(Z, names, "ridge", shots=[5], episodes=7, queries=10)[0]["accuracy"] == rows[2]["accuracy"]
    pairs = rows.against("ridge")
    assert [(p["head"], p["k"]) for p in pairs] == [("svm", 1), ("svm", 5)]
    d = rows[3]["outcomes"] - rows[2]["outcomes"]
    assert pairs[1]["difference"] == pytest.approx(d.mean()) and pairs[1]["ci95"] >= 0
    assert repr(rows).count("\n") == 4 and f"{rows[0]['accuracy']:.2f} ±" in repr(rows)
    pandas = pytest.importorskip("pandas")
    assert isinstance(rows.to_frame(), pandas.DataFrame) and rows.to_frame()["head"].tolist() == ["ridge", "svm"] * 2
    with pytest.raises(mochi.InvalidError, match="'lda', expected one of"):
        rows.against("lda")
    with pytest.raises(mochi.InvalidError, match="outcomes=True"):
        few_shot_score(Z, names, "ridge", shots=[5], episodes=3).against("ridge")
    other = few_shot_score(Z, names, "ridge", shots=[5], episodes=7, queries=10, seed=1)[0]
    assert other["accuracy"] != rows[2]["accuracy"]
    tuned = few_shot_score(Z, names, "ridge", shots=[5], episodes=7, queries=10, tune=True)[0]
    assert tuned["nll"] != rows[2]["nll"]
    own = mochi.Head("mine", logits=lambda Zs, Ys, Zq: Zq @ mochi.ops.transpose(Zs) @ Ys)
    assert few_shot_score(Z, names, own, shots=[5], episodes=3)[0]["head"] == "mine"


def test_rows_that_are_drawn_repeatedly_are_told():
    """Classes have 100 rows. With 5000 examples of each, every row would be drawn about 50 times and the table would
    not show it."""
    with pytest.warns(UserWarning) as caught:
        rows = few_shot_score(Z, y, ["ridge", "lda"], shots=(4, 71, 5000), episodes=2)
    assert [(row["k"], row["repeated"]) for row in rows[::2]] == [(4, 0), (71, 4), (5000, 4)]
    words = "classes have fewer than k + 30 rows; theirs are divided between support and queries and drawn repeatedly"
    assert [str(w.message) for w in caught] == [f"few_shot_score: k = {k}: 4 {words}" for k in (71, 5000)]
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        few_shot_score(Z, y, "ridge", shots=(4, 70), episodes=2)
    one = np.array([*y[:-1], 9])
    with pytest.warns(UserWarning, match="k = 4: 1 class of one row is left out"):
        few_shot_score(Z, one, "ridge", shots=(4,), episodes=2)


@pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="no program mochi beside the library")
def test_the_program_warns_in_the_same_words(tmp_path):
    np.save(tmp_path / "Z.npy", Z)
    np.save(tmp_path / "y.npy", np.array([*y[:-1], 9]))
    command = [PROGRAM, "readouts", tmp_path / "Z.npy", tmp_path / "y.npy", "--head", "ridge", "--shots", "4,99", "--episodes", "2"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    with pytest.warns(UserWarning) as caught:
        few_shot_score(Z, np.array([*y[:-1], 9]), "ridge", shots=(4, 99), episodes=2)
    mine = {str(w.message).replace("few_shot_score", "mochi readouts") for w in caught}
    assert mine == {line for line in said.splitlines() if "k = " in line} and len(mine) == 3


def test_missing_labels_leave_their_rows_out():
    missing = [None, float("nan"), "", -1, np.float64("nan")]
    expected = few_shot_score(Z[:300], names[:300], "ridge", shots=[4], episodes=3)[0]["accuracy"]
    try:
        import pandas

        forms = [pandas.Series([*names[:300], *[None] * 100], dtype=dtype) for dtype in ("object", "string", "category")]
    except ImportError:
        forms = []
    forms += [[*names[:300].tolist(), *[missing[i % 5] for i in range(100)]]]
    for form in forms:
        assert few_shot_score(Z, form, "ridge", shots=[4], episodes=3)[0]["accuracy"] == expected


def test_estimators_refuse_missing_labels():
    """-1 and "" are classes in scikit-learn; a NaN among texts would become a class "nan"."""
    texts = names[:40].tolist()
    column = np.array([*texts[:-1], None], object)
    for wrong in ([*texts[:-1], float("nan")], [*texts[:-1], None], column, np.ma.array(y[:40], mask=np.arange(40) > 38)):
        with pytest.raises(ValueError, match="label 39 is .*; leave rows"):
            RidgeHead().fit(Z[:40], wrong)
    pandas = pytest.importorskip("pandas")
    for dtype in ("object", "string", "category"):
        with pytest.raises(ValueError, match="label 39 is .*; leave rows"):
            RidgeHead().fit(Z[:40], pandas.Series([*texts[:-1], None], dtype=dtype))
    with pytest.raises(ValueError, match="label 39 is"):
        RidgeHead().fit(Z[:40], pandas.Series([*y[:39], pandas.NA], dtype="Int64"))
    assert RidgeHead().fit(Z[:40], np.where(y[:40] > 1, 1, -1)).classes_.tolist() == [-1, 1]


def test_options_without_effect_are_refused():
    for options, message in (
        ({"lam": 2.0, "heads": "prototype_inner"}, "none of the heads has"), ({"lam": 2.0, "tune": True}, "tune, which chooses"),
        ({"lam": -1}, "lam is -1"), ({"lam": float("nan")}, "lam is nan"), ({"lam": "x"}, "lam is 'x'"),
        ({"tune": "x"}, "tune is 'x'"),
        ({"tune": True, "heads": "prototype_inner"}, "has a regularisation"), ({"tune": True, "shots": (1,)}, "rows to hold out"),
        ({"shots": (1.5,)}, "k is 1.5"), ({"shots": (True,)}, "k is True"), ({"shots": ()}, "0 shots"),
        ({"heads": ()}, "0 heads"), ({"episodes": 0}, "episodes is 0"), ({"queries": 2.5}, "queries is 2.5"),
        ({"ways": None}, "ways is None"), ({"seed": -1}, "seed"),
        ({"split": ([0, 1], None), "shots": (3,)}, "a split is one problem"), ({"split": (None, None)}, "one of them"),
        ({"split": (y[:50] > 1, None)}, r"mask \[50\], expected \[400\]"), ({"split": ([0.7, 1.2], None)}, "whole numbers"),
        ({"split": ([-1, 1], None)}, "row -1 of the split"), ({"split": ([0, 400], None)}, "row 400 of the split"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            few_shot_score(Z, y, **{"heads": "ridge", **options})
    mask = np.arange(400) < 80
    by_mask, by_number = (few_shot_score(Z, y, "ridge", split=(part, None))[0] for part in (mask, np.arange(80)))
    assert by_mask["accuracy"] == by_number["accuracy"]
    for estimator, message in (
        (RidgeHead(-1), "lam is -1"), (RidgeHead(float("nan")), "lam is nan"),
        (RidgeHead(calibrated="x"), "calibrated is 'x'"),
        (LogisticHead(-1), "lam is -1"), (SVMHead(float("inf")), "lam is inf"), (SVMHead(centred="x"), "centred is 'x'"),
        (LDAHead(1.5), "shrinkage is 1.5"), (LDAHead(-1), "shrinkage is -1"), (PrototypeHead("cosine", scale=-1), "scale is -1"),
        (PrototypeHead("cosine", scale=float("nan")), "scale is nan"), (PrototypeHead(scale="x"), "scale is 'x'"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            estimator.fit(Z, y)


def test_a_head_without_a_fit_loses_its_own_rows():
    rows = few_shot_score(Z, y, ["lda", "ridge"], shots=[1], episodes=3)
    assert "covariance" in rows[0]["failure"] and np.isnan(rows[0]["accuracy"]) and rows[1]["failure"] is None
    for wrong, message in (((Z[:, 0], y), "rows"), ((Z, y[:9]), "each of 400"), ((Z, y * 0), "two or more")):
        with pytest.raises(ValueError, match=message):
            few_shot_score(*wrong)
    with pytest.raises(ValueError, match="k is 0"):
        few_shot_score(Z, y, shots=[0])
    with pytest.raises(ValueError, match="expected different rows"):
        few_shot_score(Z, y, split=([1, 1], None))


def test_an_exception_in_progress_ends_the_call():
    seen = []

    def progress(part, done, of):
        seen.append(part)
        raise KeyboardInterrupt

    # Only the calling thread reports progress; if there are several threads, the others may take all episodes.
    alone = mochi.Context(threads=1)
    with pytest.raises(KeyboardInterrupt):
        few_shot_score(Z, y, "ridge", shots=[4, 8], progress=progress, context=alone)
    assert len(seen) == 1
    assert few_shot_score(Z, y, "ridge", shots=[4], episodes=2)


def test_pandas_takes_the_table():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(few_shot_score(Z, y, ["ridge", "lda"], shots=[4, 8], episodes=3))
    assert table.pivot(index="k", columns="head", values="accuracy").shape == (2, 2)


@pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="no program mochi beside the library")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_program_prints_the_same_figures(tmp_path, dtype):
    rows, heads = Z.astype(dtype), ["ridge", "logistic", "prototype_euclidean"]
    np.save(tmp_path / "Z.npy", rows)
    np.save(tmp_path / "y.npy", y.astype(np.int64))
    command = [PROGRAM, "readouts", tmp_path / "Z.npy", tmp_path / "y.npy", "--head", ",".join(heads), "--shots", "2,4"]
    said = subprocess.run([*command, "--episodes", "9", "--seed", "3", "--json"], check=True, capture_output=True, text=True)
    theirs = [line for line in map(json.loads, said.stdout.splitlines()) if "accuracy" in line and "k" in line]
    mine = few_shot_score(rows, y, heads, shots=(2, 4), episodes=9, seed=3)
    for a, b in zip(mine, theirs, strict=True):
        for figure in ("head", "k", "accuracy", "ci95", "nll", "brier", "ece", "nll_temperature", "ece_temperature"):
            printed = a[figure] if figure in ("head", "k") else float(f"{a[figure]:.9g}")
            assert printed == b[figure], figure


@pytest.mark.parametrize("intercept", ["penalised", "free"])
def test_many_sparse_rows_need_no_matrix_of_their_number(intercept, monkeypatch):
    """Fitted by conjugate gradients, without an eigendecomposition of 1,200 rows, and as the dense rows are."""
    from scipy import sparse

    rng = np.random.default_rng(3)
    X, label, weight = sparse.random_array((1200, 1500), density=0.02, rng=rng, format="csr"), np.arange(1200) % 3, rng.random(1200)
    estimator = RidgeHead(lam=0.3, intercept=intercept, calibrated=False)
    dense = estimator.fit(X.toarray(), label, weight).weights_
    monkeypatch.setattr("mochi.sklearn._rotated", None)
    assert np.abs(estimator.fit(X, label, weight).weights_ - dense).max() < 1e-7 * np.abs(dense).max()


def test_svm_follows_the_scale_of_the_rows():
    """At lam = 1 small rows would have nearly equal logits: the intercept alone would decide."""
    rows, label, Xq, right = embedded(16, 64, 10.0, 0)
    found = [SVMHead().fit(scale * rows, label).score(scale * Xq, right) for scale in (1, 1e-3)]
    assert abs(found[0] - found[1]) < 0.04
    assert SVMHead(lam=1.0).fit(rows, label).lam_ == 1


def test_a_penalty_is_chosen_by_folds_groups_and_a_scorer_as_in_scikit_learn():
    """The scores of each fold and penalty are those of LogisticRegressionCV at the same C."""
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.model_selection import GroupKFold

    rng = np.random.default_rng(3)
    y = np.array(["a", "b", "c"])[np.arange(90) % 3]
    X = rng.normal(size=(90, 6)) + np.eye(3).repeat(2, 1)[np.arange(90) % 3]
    Cs, groups = np.array([1e-3, 0.03, 1.0, 30.0]), np.arange(90) // 5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = LogisticRegressionCV(Cs=Cs, cv=5, scoring="neg_log_loss", tol=1e-9, max_iter=10000, random_state=0).fit(X, y)
    ours = mochi.sklearn.LogisticHeadCV(Cs=Cs, cv=5, scoring="neg_log_loss", tol=0, max_iter=10000, random_state=0).fit(X, y)
    expected = next(iter(theirs.scores_.values()))[:, ::-1] if isinstance(theirs.scores_, dict) else theirs.scores_[:, ::-1]
    assert ours.scores_ == pytest.approx(expected, abs=1e-5) and ours.C_ == pytest.approx(np.ravel(theirs.C_)[0])
    assert mochi.sklearn.LogisticHeadCV(Cs=Cs).fit(X, y).scores_.shape == (5, 4)
    copies, owner = np.tile(X, (4, 1)), np.tile(np.arange(90), 4)
    for name, grid in (("LogisticHeadCV", {"Cs": 5}), ("RidgeHeadCV", {"alphas": [0.1, 10.0, 1000.0]})):
        one = getattr(mochi.sklearn, name)
        alone = one(cv=GroupKFold(3), scoring="accuracy", **grid).fit(copies, np.tile(y, 4), groups=owner)
        assert alone.scores_.shape == (3, 5 if name == "LogisticHeadCV" else 3)
        assert alone.lam_ >= one(cv=3, scoring="accuracy", **grid).fit(copies, np.tile(y, 4)).lam_  # copies in both parts flatter
        assert one(cv=[(np.arange(60), np.arange(60, 90))], **grid).fit(X, y, np.ones(90)).scores_.shape[0] == 1
        assert one(cv=GroupKFold(3), **grid).fit(X, (y[:, None] == ["a", "b"]).astype(int), groups=groups).predict(X).shape == (90, 2)
        with pytest.raises(ValueError, match="groups, which only cv reads"):
            one(**grid).fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="scoring, which needs cv"):
        mochi.sklearn.RidgeHeadCV(scoring="accuracy").fit(X, y)
    with pytest.raises(ValueError, match="Cs, expected one penalty or more"):
        mochi.sklearn.LogisticHeadCV(Cs=[]).fit(X, y)


@pytest.mark.parametrize("name", ["RidgeHead", "LogisticHead", "SVMHead", "LDAHead", "PrototypeHead"])
def test_rows_of_float32_are_predicted_in_float32(name):
    rng = np.random.default_rng(4)
    y = np.arange(60) % 3
    X = (rng.normal(size=(60, 5)) + 2 * np.eye(3, 5)[y]).astype(np.float32)
    for more in ({},) if name != "PrototypeHead" else ({}, {"metric": "cosine"}):
        fit = getattr(mochi.sklearn, name)(**more).fit(X, y)
        narrow, wide = fit.logits(X), fit.logits(X.astype(float))
        assert narrow.dtype == fit.predict_proba(X).dtype == np.float32 and wide.dtype == np.float64
        assert narrow == pytest.approx(wide, rel=1e-5, abs=1e-5) and (fit.predict(X) == fit.predict(X.astype(float))).all()
