"""Fits on other graphs than their own: `FewShot.on`, `predict(graph)`, `predict_new`, and `Graph.grown`."""

import mochi
import numpy as np
import pytest


@pytest.fixture(scope="module")
def model():
    return mochi.load("best")


@pytest.fixture(scope="module")
def rings():
    """Two rings of 40 named nodes with chords, attributes that tell the rings apart, and a target of each node."""
    random = np.random.default_rng(5)
    names = [f"v{i}" for i in range(80)]
    X = random.normal(size=(80, 3)) + np.repeat([[1.0, 0, 0], [-1.0, 0, 0]], 40, 0)
    edges = [(names[r + i], names[r + (i + 1) % 40]) for r in (0, 40) for i in range(40)]
    edges += [(names[r + 3 * i], names[r + (i * i + 11) % 40]) for r in (0, 40) for i in range(10)]
    y = {name: float(v) for name, v in zip(names, 3 + X @ [1.0, 2.0, 0.0] + 0.1 * random.normal(size=80), strict=True)}
    return names, dict(zip(names, X, strict=True)), edges, y


def without(rings, lost):
    """The rings without some nodes; the rows and the edges of those."""
    names, X, edges, _ = rings
    kept = [name for name in names if name not in lost]
    inside = [e for e in edges if not set(e) & set(lost)]
    small = mochi.graph(inside, x={v: X[v] for v in kept}, nodes=kept)
    return small, {v: X[v] for v in lost}, [e for e in edges if set(e) & set(lost)]


def test_a_saved_fit_opens_on_the_same_graph_with_its_columns_in_another_order(model, tmp_path):
    table = pytest.importorskip("pandas").DataFrame({"a": np.arange(12.0) % 5, "b": np.arange(12.0) ** 2 % 7}, [f"v{i}" for i in range(12)])
    edges = [(f"v{i}", f"v{(i + 1) % 12}") for i in range(12)]
    g, other = (mochi.graph(edges, x=x, nodes=list(table.index)) for x in (table, table[["b", "a"]]))
    fit = model.few_shot(g, {f"v{i}": "ab"[i > 5] for i in range(0, 12, 2)}, transductive=False)
    fit.save(tmp_path / "r.safetensors")
    again = model.few_shot(other, readout=tmp_path / "r.safetensors")
    np.testing.assert_array_equal(again.predict_proba(), fit.predict_proba())
    assert again.labelled.tolist() == fit.labelled.tolist()
    with pytest.raises(mochi.InvalidError, match="of other data than"):
        model.few_shot(g.grown({"v12": [1.0, 2.0]}, [["v12", "v0"]]), readout=tmp_path / "r.safetensors")


LOST = ["v5", "v20", "v45", "v70"]


def fits(model, rings, g):
    """A fit of classes and one of targets."""
    _, _, _, y = rings
    labels = {f"v{i}": "left" if i < 40 else "right" for i in (*range(0, 40, 3), *range(42, 80, 3)) if f"v{i}" not in LOST}
    yield model.few_shot(g, labels, transductive=False)
    yield model.few_shot(g, targets={v: t for i, (v, t) in enumerate(y.items()) if i % 2 and v not in LOST})


def test_the_same_graph_gives_the_same_predictions(model, rings):
    names, X, edges, _ = rings
    g, again = (mochi.graph(edges, x=X, nodes=names) for _ in range(2))
    for fit in fits(model, rings, g):
        assert fit.on(again) is fit
        np.testing.assert_array_equal(fit.predict(again), fit.predict())


def test_nodes_that_join_are_predicted_as_inside(model, rings):
    names, X, edges, y = rings
    whole, (small, rows, joined) = mochi.graph(edges, x=X, nodes=names), without(rings, LOST)
    for fit, inside in zip(fits(model, rings, small), fits(model, rings, whole), strict=True):
        before = fit.predict()
        found, expected = fit.predict_new(rows, joined), inside.predict(LOST)
        if isinstance(fit, mochi.FewShotTargets):
            np.testing.assert_allclose(found, expected, atol=0.1)
            assert abs(found - [y[v] for v in LOST]).mean() < 0.3
        else:
            assert found.tolist() == expected.tolist() == ["left", "left", "right", "right"]
        assert fit.predict_new(rows, joined, as_frame=True).index.tolist() == LOST
        np.testing.assert_array_equal(fit.predict(), before)


@pytest.mark.parametrize("at", [0, 1])
def test_where_little_else_changes_predictions_stay(model, rings, at):
    """A node without edges joins; features of 80 others hardly change."""
    names, X, edges, _ = rings
    g = mochi.graph(edges, x=X, nodes=names)
    fit = list(fits(model, rings, g))[at]
    more = fit.on(g.grown({"alone": np.mean(list(X.values()), 0)}))
    assert more.predict(names).shape == (80,) and more.predict().shape == (81,)
    now, then = (f.predict_interval(0.8, names) if at else f.predict_proba(names) for f in (more, fit))
    np.testing.assert_allclose(now, then, atol=0.05 * np.ptp(then))
    assert at or str(more.estimate) == str(fit.estimate)
    assert more.graph.names[-1] == "alone" and more.labelled.tolist() == fit.labelled.tolist()


@pytest.mark.parametrize("targets", [False, True])
def test_new_graphs_are_predicted_beside_the_old(model, targets):
    """Of a set: with inductive kernels, of the labelled graphs and each graph alone, and with targets, to the rounding."""
    random, graphs = np.random.default_rng(0), []
    for i in range(60):
        n = int(random.integers(6, 14))
        ring = [(k, (k + 1) % n) for k in range(n)]
        chords = [(0, k) for k in range(2, 2 + (i % 2) * 3)]
        graphs.append(mochi.graph(np.array(ring + chords), x=np.eye(3)[random.integers(0, 3, n)]))
    old, new, whole = (mochi.graph_set(part) for part in (graphs[:40], graphs[40:], graphs))
    sizes = np.array([float(g.edges) for g in graphs])
    if targets:
        fit, inside = (model.few_shot(g, targets=dict(enumerate(sizes[:40].tolist()))) for g in (old, whole))
        found, expected = fit.predict(new), inside.predict(range(40, 60))
        np.testing.assert_allclose(found, expected, rtol=1e-3)
        assert np.corrcoef(found, sizes[40:])[0, 1] > 0.95
    else:
        labels = {i: "plain" if i % 2 == 0 else "chords" for i in range(40)}
        fit, inside = (model.few_shot(g, labels, transductive="never") for g in (old, whole))
        found = fit.on(new)
        np.testing.assert_allclose(found.predict_proba(), inside.predict_proba(range(40, 60)), atol=2e-3)
        assert found.predict().tolist() == ["plain", "chords"] * 10
        assert found.labelled.tolist() == list(range(40))
        for ask in (lambda: found.explain(0), lambda: found.suggest(2), lambda: found.save("nowhere")):
            with pytest.raises(mochi.UnsupportedError, match="a fit of another graph"):
                ask()


def test_what_does_not_fit_is_refused_by_name(model, rings):
    names, X, edges, _ = rings
    g = mochi.graph(edges, x=X, nodes=names)
    fit = next(fits(model, rings, g))
    import pandas

    table = pandas.DataFrame(list(X.values()), index=names, columns=["a", "b", "c"])
    named = next(fits(model, rings, mochi.graph(edges, x=table)))
    fits_not = ({"a": 1.0, "b": 2.0}, "lack the attribute 'c'"), ({"a": 1, "b": 2, "c": 3, "d": 4}, "'d', which it does not")
    for wrong, words in fits_not:
        with pytest.raises(mochi.InvalidError, match=words):
            named.predict_new({"new": wrong})
    with pytest.raises(mochi.InvalidError, match="'z'"):
        named.predict(mochi.graph(edges, x=table.rename(columns={"c": "z"})))
    for rows, joined, words in (
        ({"new": [1.0, 2.0]}, [], "expected \\[n, 3\\]"), ({"v3": [0.0] * 3}, [], "'v3', expected ones that no other"),
        ({"new": [0.0] * 3}, [["new", "nobody"]], "'nobody'"), ([[0.0] * 3], [], "by name"), ({"new": [0.0] * 3}, [["new"]], "two ends"),
    ):  # fmt: skip
        with pytest.raises(mochi.InvalidError, match=words):
            fit.predict_new(rows, joined)
    with pytest.raises(mochi.InvalidError, match="predict_new"):
        fit.predict_proba(g)
    with pytest.raises(mochi.UnsupportedError, match="ridge"):
        model.few_shot(g, {"v0": "l", "v1": "l", "v50": "r", "v51": "r"}, head="ridge").predict_new({"new": [0.0] * 3})
    with pytest.raises(mochi.UnsupportedError, match="experts"):
        model.few_shot(g, {"v0": "l", "v50": "r"}, experts=[np.eye(80)]).predict_new({"new": [0.0] * 3})
    with pytest.raises(mochi.StateError, match="expected labels"):
        model.few_shot(g).predict_new({"new": [0.0] * 3})


def test_values_of_new_nodes_become_the_columns_of_the_graph():
    import pandas

    table = pandas.DataFrame(
        {"size": [1.0, 2.0, 6.0, None], "hue": ["red", "blue", "red", "blue"], "old": ["yes", "no", "no", "yes"]},
        index=list("abcd"),
    )
    g = mochi.graph([["a", "b"], ["c", "d"]], x=table)
    new = {"e": {"size": None, "hue": "red", "old": "no"}, "f": {"size": 4, "hue": "green", "old": True}}
    more = g.grown(new, [["e", "a", 2.5]])
    given = {name: more.x[4:, g.columns.index(name)].tolist() for name in g.columns}
    assert given == {"size": [2, 4], "size missing": [1, 0], "hue=red": [1, 0], "hue=blue": [0, 0], "old": [0, 1]}
    assert more.names == list("abcdef") and more.to_scipy()[[0], [4]].tolist() == [2.5]
    again = g.grown(pandas.DataFrame([[3.0, "blue", "no"]], index=["e"], columns=["size", "hue", "old"]))
    assert again.x[4].tolist() == [3.0 if n == "size" else float(n == "hue=blue") for n in g.columns]
    plain = mochi.graph(np.array([[0, 1], [1, 2]]))
    assert plain.grown([3, 4], [[3, 4]]).edges == 3
    with pytest.raises(mochi.InvalidError, match="'big', expected a number"):
        g.grown({"e": {"size": "big", "hue": "red", "old": "no"}})
