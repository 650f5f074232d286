"""Rows and labels meet the nodes of their names: tables of pandas, dicts, networkx, ids of any size, sets of graphs."""

import types
import warnings

import mochi
import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
networkx = pytest.importorskip("networkx")


@pytest.fixture(scope="module")
def shop():
    """Two communities of customers with text names, a table of them in another order, and edges in a third."""
    rng = np.random.default_rng(7)
    names = [f"c{i:03d}" for i in rng.permutation(60)]
    kind = np.arange(60) % 2
    pairs = [(i, j) for i in range(60) for j in range(i) if rng.random() < (0.25 if kind[i] == kind[j] else 0.02)]
    pairs += [(i, (i + 2) % 60) for i in range(60)]  # no node is without an edge
    pairs = [pairs[i] for i in rng.permutation(len(pairs))]
    edges = pandas.DataFrame([(names[i], names[j]) for i, j in pairs], columns=["customer", "friend"])
    table = pandas.DataFrame({"age": rng.normal(40, 9, 60), "spent": kind + rng.normal(0, 0.5, 60)}, index=names)
    table["kind"] = np.where(kind == 0, "tea", "chess")
    return types.SimpleNamespace(names=names, edges=edges, table=table.iloc[rng.permutation(60)])


def row_of(g, name):
    return g.x[g.names.index(name)].tolist()


def test_tables_are_aligned_by_their_index(shop):
    graphs = [shop.edges, networkx.from_pandas_edgelist(shop.edges, "customer", "friend")]
    for source in graphs:
        for x, y in (
            (shop.table[["age", "spent"]], shop.table["kind"]), (shop.table[["age", "spent"]], shop.table[["kind"]]),
            ({n: row.to_numpy() for n, row in shop.table[["age", "spent"]].iterrows()}, shop.table["kind"].to_dict()),
            (shop.table[["age", "spent"]], shop.table["kind"].reset_index()), (shop.table[["age", "spent"]], shop.table["kind"].astype("category")),
        ):  # fmt: skip
            g = mochi.graph(source, x=x, y=y)
            assert [g.classes[c] for c in g.y] == [shop.table["kind"][n] for n in g.names]
            for name in shop.names[:5]:
                assert row_of(g, name) == pytest.approx(shop.table.loc[name, ["age", "spent"]].tolist(), rel=1e-6)
    # A Series means the same in graph, few_shot and score.
    model, seeds = mochi.load("best"), shop.table["kind"].groupby(shop.table["kind"]).head(8)
    g = mochi.graph(shop.edges, y=shop.table["kind"])
    fits = [model.few_shot(g, labels) for labels in (seeds, seeds.to_dict(), seeds.to_frame(), seeds.reset_index())]
    assert all(np.array_equal(fit.logits(), fits[0].logits()) for fit in fits)
    assert fits[0].score(shop.table["kind"]) == fits[0].score(shop.table[["kind"]]) > 0.9
    # Experts by an index, in any order.
    perfect = pandas.get_dummies(shop.table["kind"]).astype("float32")
    by_index, by_place = (model.few_shot(g, seeds, experts={"e": e}) for e in (perfect, perfect.loc[g.names].to_numpy()))
    assert np.array_equal(by_index.logits(), by_place.logits()) and by_index.score(shop.table["kind"]) > 0.95


def test_a_partial_overlap_is_refused_with_the_first_strangers(shop):
    x, y = shop.table[["age", "spent"]], shop.table["kind"]
    strange = x.rename(index=dict(zip(x.index[:5], ("s", "t", "u", "v", "w"), strict=True)))
    for options, message in (
        ({"x": strange}, r"x: 5 of 60 keys .*: 's', 't', 'u' and 2 more"), ({"x": x.iloc[4:]}, "no row for 4 of 60 examples"),
        ({"y": y.reset_index(drop=True)}, "60 of 60 keys of its index are none of .*: 0, 1, 2 and 57 more"),
        ({"x": pandas.concat([x, x.iloc[:1]])}, "is in its index twice"), ({"y": {"nobody": "tea"}}, "none of the 60 examples"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            mochi.graph(shop.edges, **options)
    part = mochi.graph(shop.edges, y=y.iloc[:20])
    assert (part.y >= 0).sum() == 20
    with pytest.raises(ValueError, match="expert e: no row for 1 of 60"):
        mochi.load("best").few_shot(part, y, experts={"e": x.iloc[1:]})
    g = mochi.graph(shop.edges, nodes=[*shop.names, "lone"], y=pandas.concat([y, pandas.Series({"lone": "tea"})]))
    assert g.names == [*shop.names, "lone"] and g.nodes == 61 and g.classes[g.y[60]] == "tea" and g.adjacency[0][61] == g.adjacency[0][60]
    with pytest.raises(ValueError, match="edges have 60 ends that nodes does not list"):
        mochi.graph(shop.edges, nodes=["a", "b"])


def test_ids_of_a_table_are_names_in_the_order_of_their_values():
    ids = [20_000_000, 7, 3_000_000_000, 123_456_789_012]
    table = pandas.DataFrame({"customer": ids[:3], "friend": ids[1:]})
    g = mochi.graph(table, y={7: "a", 3_000_000_000: "b"})
    assert g.nodes == 4 and g.names == sorted(ids) and g.find(20_000_000) == 1 and g.y.tolist() == [0, -1, 1, -1]
    for form in (table.astype("Int64"), table.astype(float), table.astype("category"), table.astype(object)):
        assert mochi.graph(form).names == g.names
    assert mochi.graph(table.astype(str)).names == [str(i) for i in sorted(ids)]
    assert mochi.graph(table.astype("int64") * 10**9 // 10**3 * 10).nodes == 4
    big = pandas.DataFrame({"u": [10**30, 10**25], "v": [10**25, 5]}, dtype=object)
    assert mochi.graph(big).names == [5, 10**25, 10**30]
    plain = mochi.graph(pandas.DataFrame({"u": [10, 2, 0, 1, 3, 4, 5, 6, 7, 8, 9], "v": [2, 0, 1, 3, 4, 5, 6, 7, 8, 9, 10]}), y=list(range(11)))
    assert plain.names is None and plain.y.tolist() == list(range(11)) and plain.nodes == 11
    gaps = pandas.DataFrame({"u": [0, 1], "v": [1, 4]})
    assert mochi.graph(gaps).names == [0, 1, 4] and mochi.graph(gaps, nodes=5).nodes == 5
    assert mochi.graph(gaps, nodes=[4, 1, 0, 9]).names == [4, 1, 0, 9]
    assert mochi.graph(np.array([[70, 80], [80, 90]]), nodes=[90, 80, 70]).adjacency[0].tolist() == [0, 1, 3, 4]
    with pytest.raises(ValueError, match="an array holds node numbers"):
        mochi.graph(np.array([[10**12, 5], [5, 7]]))


def test_columns_are_found_by_their_headers():
    ends = pandas.DataFrame({"id": [9, 8, 7], "weight": [1.0, 2, 3], "target": list("bca"), "source": list("abc"), "when": [5, 6, 7]})
    with pytest.warns(mochi.DataWarning, match="not read: column 'id', column 'when'; weights=NAME"):
        g = mochi.graph(ends)
    assert g.names == ["a", "b", "c"] and sorted(set(g.weights.tolist())) == [1, 2, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nameless = ends[["source", "target"]].reset_index().rename(columns={"index": "Unnamed: 0"})
        assert mochi.graph(nameless).names == ["a", "b", "c"] and mochi.graph(nameless).weights is None
    with pytest.warns(mochi.DataWarning, match="not read: column 'when'"):
        assert mochi.graph(ends[["source", "target", "when"]]).weights is None
    times = pandas.DataFrame({"x": list("ab"), "y": list("bc"), "t": [3, 4]})
    assert mochi.graph(times, weights="t").weights.tolist() == [3, 3, 4, 4]
    with pytest.raises(ValueError, match="no column 'nothing' of weights; found: 'x', 'y', 't'"):
        mochi.graph(times, weights="nothing")
    with pytest.raises(ValueError, match="the columns 'x', 'y', 't', 'z', expected source and target"):
        mochi.graph(times.assign(z=1))
    called = networkx.Graph([("a", "b", {"times": 3}), ("b", "c", {"times": 4})])
    with pytest.warns(mochi.DataWarning, match="not read: edge attribute 'times'; weights=NAME takes one as weights"):
        assert mochi.graph(called).weights is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mochi.graph(called, weights=False).weights is None
        assert mochi.graph(networkx.karate_club_graph()).weights is not None
    assert mochi.graph(called, weights="times").weights.tolist() == [3, 3, 4, 4]
    called.add_node("a", feature=1.0)
    with pytest.raises(ValueError, match="no attribute 'feat' .*found: feature"):
        mochi.graph(called, x="feat")


def test_marks_of_the_unknown_are_told():
    g = mochi.graph([[0, 1], [1, 2], [2, 3], [3, 4]])
    with pytest.warns(mochi.DataWarning, match="labels: 2 'NA', 1 '\\?' count as unknown"):
        fit = mochi.load("best").few_shot(g, ["a", "NA", "b", "NA", "?"])
    assert fit.labelled.tolist() == [0, 2]
    assert mochi.graph([[0, 1]], y=["1.0", "1"]).classes.tolist() == ["1"]
    with pytest.warns(mochi.DataWarning, match="labels: 1 'none', 1 'Na' count as unknown"):
        assert mochi.graph([[0, 1], [1, 2]], y=["none", "Na", "a"]).classes.tolist() == ["a"]
    assert mochi.graph([[0, 1], [1, 2]], y=["no", "nay", "a"]).classes.tolist() == ["a", "nay", "no"]


def test_pairs_of_a_table_are_scored(shop):
    g, model = mochi.graph(shop.edges), mochi.load("best")
    pairs = pandas.DataFrame({"from": shop.names[:4], "to": shop.names[4:8]})
    np.testing.assert_array_equal(model.score_links(g, pairs), model.score_links(g, list(zip(shop.names[:4], shop.names[4:8], strict=True))))


def test_rows_and_labels_of_tables_meet_by_their_index():
    rng = np.random.default_rng(3)
    label = np.arange(40) % 2
    rows = pandas.DataFrame(rng.normal(size=(40, 3)) + 3 * label[:, None], index=[f"r{i}" for i in range(40)])
    y = pandas.Series(label, index=rows.index)
    given = [y, y.iloc[::-1], y.to_dict(), y.iloc[::-1].to_frame()]
    scores = [mochi.few_shot_score(rows, labels, heads=["ridge"], shots=[4], episodes=5, queries=4)[0]["accuracy"] for labels in given]
    assert len(set(scores)) == 1 and scores[0] > 90
    with pytest.raises(ValueError, match="none of the 40 examples.*'x'"):
        mochi.few_shot_score(rows, {"x": 1}, heads=["ridge"])


def test_a_table_of_edges_is_no_example(shop):
    fit = mochi.load("best").few_shot(mochi.graph(shop.edges), {shop.names[0]: "a", shop.names[1]: "b"})
    with pytest.raises(ValueError, match="expected examples of the graph that the readout was fitted on; `on\\(graph\\)`"):
        fit.predict(shop.edges)
    new = networkx.Graph([(0, 1), (1, 2)])
    for source in (new, mochi.graph(new)):
        assert set(fit.predict(source)) <= {"a", "b"}
    molecules = mochi.graph_set([networkx.cycle_graph(n) for n in range(3, 9)], y=[0, 1] * 3)
    with pytest.raises(ValueError, match="of a set of graphs, found a single graph"):
        mochi.load("best").few_shot(molecules, molecules.y).predict(new)


def rings():
    return {f"m{n}": networkx.cycle_graph(n) for n in (5, 3, 6, 4)}


def test_a_set_of_graphs_keeps_names(tmp_path):
    sources, x = rings(), {name: np.full((g.number_of_nodes(), 2), i + 1.0) for i, (name, g) in enumerate(rings().items())}
    label = {"m3": "odd", "m4": "even", "m5": "odd", "m6": "even"}
    forms = [
        mochi.graph_set(sources, y=label, x=x), mochi.graph_set(pandas.Series(sources), y=pandas.Series(label), x=list(x.values())),
        mochi.graph_set(list(sources.values()), y=pandas.DataFrame({"name": list(label), "class": label.values()}), names=list(sources), x=x),
    ]  # fmt: skip
    for made in forms:
        assert made.names == ["m5", "m3", "m6", "m4"] and [made.classes[c] for c in made.y] == ["odd", "odd", "even", "even"]
        assert made.find("m6") == 2 and made.x[:, 0].tolist() == [1] * 5 + [2] * 3 + [3] * 6 + [4] * 4
        assert mochi.load("best").few_shot(made, {"m3": "odd", "m4": "even"}).labelled.tolist() == ["m3", "m4"]
    made.save(tmp_path / "set.npz")
    assert mochi.graph(tmp_path / "set.npz").names == made.names
    assert mochi.graph(made, y=pandas.Series({"m4": "a", "m5": "b"})).y.tolist() == [1, -1, -1, 0]
    for options, message in (
        ({"y": {**label, "m9": "odd"}}, "1 of 5 keys of its index are none of the 4 examples.*'m9'"),
        ({"names": ["a"]}, "1 names of 4 graphs"), ({"names": list("aabc")}, "a different one for each"), ({"x": {"m3": x["m3"]}}, "x has nothing for 'm5'"),
        ({"x": [1]}, "x has nothing for 'm5', 'm3', 'm6' and 1 more"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            mochi.graph_set(sources, **options)
    with pytest.raises(ValueError, match="expected several graphs"):
        mochi.graph_set(networkx.cycle_graph(4))
    for g in sources.values():
        networkx.set_node_attributes(g, 2.0, "charge")
    networkx.set_node_attributes(sources["m3"], 3.0, "charge")
    assert sorted(set(mochi.graph_set(sources, x="charge").x[:, 0].tolist())) == [2, 3]


def test_a_batch_and_graphs_without_nodes():
    data = [types.SimpleNamespace(edge_index=np.array([[0, 1], [1, 2]]).T, num_nodes=3, x=np.ones((3, 2)), y=np.array([i])) for i in (0, 1)]
    batch = types.SimpleNamespace(to_data_list=lambda: data, edge_index=None)
    assert mochi.graph_set(batch).graphs == 2 and mochi.graph_set(batch).y.tolist() == [0, 1]
    empty = types.SimpleNamespace(edge_index=np.zeros((2, 0), int), num_nodes=0, x=np.zeros((0, 2)), y=np.array([1]))
    with pytest.warns(mochi.DataWarning, match="graphs without nodes stand as one node: 1"):
        made = mochi.graph_set([data[0], empty, data[1]])
    assert made.graphs == 3 and made.y.tolist() == [0, 1, 1] and np.diff(made.offsets).tolist() == [3, 1, 3]
    with pytest.warns(mochi.DataWarning, match="stand as one node: 'none'"):
        assert mochi.graph_set({"none": networkx.Graph(), **rings()}, y={"m3": 1}).y.tolist() == [-1, -1, 0, -1, -1]
