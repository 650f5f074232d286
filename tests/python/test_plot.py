"""Figures: what is on their axes."""

import mochi
import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
import mochi.plot  # noqa: E402

rng = np.random.default_rng(0)
y = np.arange(90) % 3
Z = 3 * np.eye(3)[y] @ rng.normal(size=(3, 5)) + rng.normal(size=(90, 5))


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_accuracy_has_a_line_for_each_head_with_a_fit():
    rows = mochi.few_shot_score(Z, y, ["lda", "ridge"], shots=(8, 1, 4), episodes=5, queries=5)
    ax = mochi.plot.accuracy(rows)
    lines = {container.get_label(): container[0].get_xydata() for container in ax.containers}
    assert lines["ridge"][:, 0].tolist() == [1, 4, 8] and lines["lda"][:, 0].tolist() == [4, 8]
    expected = {row["k"]: row["accuracy"] for row in rows if row["head"] == "ridge"}
    assert dict(lines["ridge"].tolist()) == expected
    with pytest.raises(ValueError, match="without a fit"):
        mochi.plot.accuracy([row for row in rows if row["failure"]])


def test_reliability_shows_the_share_that_is_right():
    P = np.array([[0.8, 0.2], [0.8, 0.2], [0.3, 0.7], [0.0, 1.0]])
    names = np.array(["a", "b"])
    ax = mochi.plot.reliability(P, ["a", "b", "b", "b"], classes=names)
    points = ax.collections[0].get_offsets()
    np.testing.assert_allclose(points, [[0.7, 1.0], [0.8, 0.5], [1.0, 1.0]])
    assert ax.get_title() == f"ECE {100 * (0.3 + 2 * 0.3) / 4:.1f}%"
    with pytest.raises(ValueError, match=r"expected \[n, C\]"):
        mochi.plot.reliability(P, [0, 1])
    more = np.concatenate([P, np.full((3, 2), 0.5)])  # rows without a label count nowhere
    assert mochi.plot.reliability(more, ["a", "b", "b", "b", None, float("nan"), ""], classes=names).get_title() == ax.get_title()
    for wrong in ({"y": ["a", "b", "b", "c"], "classes": names}, {"y": [0, 1, 1, 2]}, {"y": [0] * 4, "classes": [0]}):
        with pytest.raises(ValueError, match="with each label"):
            mochi.plot.reliability(P, **wrong)


def test_the_plane_is_that_of_the_principal_components():
    ax = plt.subplots()[1]
    label = [None if i < 10 else "abc"[c] for i, c in enumerate(y)]
    assert mochi.plot.plane(Z, label, ax=ax) is ax
    points = np.concatenate([np.asarray(c.get_offsets()) for c in ax.collections])
    spread = np.linalg.svd(Z - Z.mean(0), compute_uv=False)
    np.testing.assert_allclose(np.sqrt((points**2).sum(0)), spread[:2])
    assert [len(c.get_offsets()) for c in ax.collections] == [10, 26, 27, 27]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    with pytest.raises(ValueError, match="d of 2 or more"):
        mochi.plot.plane(Z[:, :1])


def test_the_plane_of_a_readout():
    fit = mochi.load("best").few_shot("mutag")
    ax = mochi.plot.plane(fit, mochi.graph("mutag").y)
    points = np.concatenate([np.asarray(c.get_offsets()) for c in ax.collections[1:]])
    assert np.array_equal(points[np.lexsort(points.T)], fit.plane()[np.lexsort(fit.plane().T)])
