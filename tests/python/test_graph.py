"""Graphs from every kind of source, features, embeddings and few-shot labels; results are compared with what the
program writes."""

import csv
import itertools
import os
import pathlib
import pickle
import subprocess
import types
import warnings

import mochi
import numpy as np
import pytest

PROGRAM = os.environ.get("MOCHI_PROGRAM", "")
program = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="no program mochi beside the library")

# A square with a diagonal, a self-loop and a repeated edge; the last two are dropped.
EDGES = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2], [2, 0], [1, 1], [3, 0]])
X = np.array([[1.0, 0, 0], [0, 2, 0], [0, 0, 3], [0, 0, 0]])
Y = np.array([0, 1, 0, -1])


def same(a, b):
    return [a._live().hash[i] for i in (0, 1)] == [b._live().hash[i] for i in (0, 1)]


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """A folder for cached features, which the tests and the program share."""
    before = os.environ.get("MOCHI_CACHE")
    os.environ["MOCHI_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    os.environ.pop("MOCHI_CACHE") if before is None else os.environ.update(MOCHI_CACHE=before)


@pytest.fixture(scope="module")
def square():
    return mochi.graph(EDGES, x=X, y=Y)


@pytest.fixture(scope="module")
def cora():
    return mochi.graph("cora")


@pytest.fixture(scope="module")
def seeds(cora):
    return {int(i): int(c) for c in range(7) for i in np.flatnonzero(cora.y == c)[:4]}


@pytest.fixture(scope="module")
def fitted(cora, seeds):
    return mochi.load("best").few_shot(cora, seeds)


def test_edges_become_a_graph(square):
    assert (square.nodes, square.edges, square.graphs, square.examples) == (4, 5, 1, 4)
    assert square.dropped == (1, 1) and square.tasks == ["nc", "lp"]
    assert np.array_equal(square.x, X.astype(np.float32)) and square.y.tolist() == Y.tolist()
    indptr, indices = square.adjacency
    assert indptr.tolist() == [0, 3, 5, 8, 10] and indices.tolist() == [1, 2, 3, 0, 2, 0, 1, 3, 0, 2]
    assert same(mochi.graph(EDGES.T.copy(), x=X, y=Y), square)
    assert mochi.graph(EDGES, nodes=9).nodes == 9
    assert mochi.graph(np.zeros((0, 2), int), nodes=3).edges == 0


def test_a_matrix_of_scipy_becomes_a_graph(square):
    sparse = pytest.importorskip("scipy.sparse")
    A = sparse.coo_matrix((np.ones(len(EDGES), bool), EDGES.T), shape=(4, 4))  # numbers would add up where they repeat
    for make in (sparse.csr_matrix, sparse.coo_matrix, sparse.csc_array):
        assert same(mochi.graph(make(A), x=sparse.csr_matrix(X), y=Y), square)
    with pytest.raises(ValueError, match="square"):
        mochi.graph(sparse.csr_matrix((2, 3)))


def test_a_graph_of_networkx_keeps_the_names_of_its_nodes(square):
    networkx = pytest.importorskip("networkx")
    g = networkx.DiGraph()
    for i, name in enumerate("abcd"):
        g.add_node(name, feat=X[i], kind=None if Y[i] < 0 else Y[i])
    g.add_edges_from(("abcd"[u], "abcd"[v]) for u, v in EDGES)
    made = mochi.graph(g, x="feat", y="kind")
    assert same(made, square) and made.names == list("abcd")
    assert made.find("c") == 2
    with pytest.raises(ValueError, match="'e' is none of its 4"):
        made.find("e")
    assert mochi.graph(g, x="kind").x[:, 1].tolist() == [y < 0 for y in Y]  # marks the gap
    g.nodes["d"]["feat"] = None
    with pytest.raises(ValueError, match="the node 'd' has no attribute 'feat'"):
        mochi.graph(g, x="feat")
    with pytest.raises(ValueError, match="no attribute 'nope'"):
        mochi.graph(g, y="nope")


def test_pyg_and_dgl_are_read_by_their_interfaces(square):
    train = np.array([True, False, True, False])
    data = types.SimpleNamespace(edge_index=EDGES.T, x=X, y=Y, num_nodes=4, train_mask=train, test_mask=Y == 1)
    made = mochi.graph(data)
    assert same(made, square)
    assert made.division("train").tolist() == train.tolist() and made.division("test").tolist() == (Y == 1).tolist()
    assert not made.division("validation").any() and square.division("test") is None
    data = types.SimpleNamespace(edge_index=EDGES.T, x=X, y=Y, num_nodes=4, train_mask=train)  # as of PyG's karate club
    one = mochi.graph(data)
    assert one.division("train").tolist() == train.tolist() and not one.division("test").any()
    learned = np.array([[1, 0], [0, 1], [0, 0], [0, 1]], bool)
    several = {"train_mask": learned, "test_mask": ~learned}
    ten = mochi.graph(types.SimpleNamespace(edge_index=EDGES.T, x=X, y=Y, num_nodes=4, **several))  # as of PyG's WebKB
    assert ten.division("train").tolist() == several["train_mask"].T.tolist() and not ten.division("validation").any()
    dgl = types.SimpleNamespace(edges=lambda: tuple(EDGES.T), num_nodes=lambda: 4, ndata={"feat": X, "label": Y})
    assert same(mochi.graph(dgl), square)
    assert mochi.graph(dgl, y="label").y.tolist() == Y.tolist()
    with pytest.raises(ValueError, match="no attribute 'nope' of the nodes.*found: feat, label"):
        mochi.graph(dgl, x="nope")


def test_features_that_only_number_the_nodes_are_left_out_with_a_warning(square):
    with pytest.warns(mochi.DataWarning, match="graph airports: left out: 4 feature columns that number the nodes"):
        made = mochi.graph(EDGES, x=np.eye(4)[[2, 0, 3, 1]], y=Y, name="airports")
    assert made.x is None and square.x is not None


def test_a_header_is_read_without_a_warning(tmp_path, recwarn):
    (tmp_path / "edges.csv").write_text("from,to\na,b\nb,c\n")
    (tmp_path / "features.csv").write_text("node,x,y\na,1,0\nb,0,1\nc,1,1\n")
    assert mochi.graph(str(tmp_path)).x.shape == (3, 2) and not recwarn


def test_a_set_of_graphs():
    sources = [types.SimpleNamespace(edge_index=EDGES.T, x=X, y=np.array([c])) for c in (5, 7, 5)]
    made = mochi.graph_set(sources, name="three squares")
    assert (made.graphs, made.nodes, made.edges, made.name) == (3, 12, 15, "three squares")
    assert made.y.tolist() == [0, 1, 0] and made.offsets.tolist() == [0, 4, 8, 12] and made.tasks == ["gc"]
    assert made.classes.tolist() == [5, 7]
    assert same(mochi.graph_set([EDGES] * 2, y=["b", "a"]), mochi.graph_set([EDGES] * 2, y=[1, 0]))
    with pytest.raises(ValueError, match="2 or more"):
        mochi.graph_set([EDGES])


TEXTS = ("nan", "NaN", "NA", "N/A", "<NA>", "None", "null", "?", "-1")  # what tables write where nothing is known
MISSING = [
    ("None", None), ("nan", float("nan")), ("np.nan", np.float64("nan")), ("empty", ""), ("-1", -1), *((f"text {t}", t) for t in TEXTS),
]  # fmt: skip
FEW = ["b", "a", None, "a"]  # labels of the square's nodes


@pytest.mark.filterwarnings("ignore:labels. .* count as unknown")
@pytest.mark.parametrize("absent", [value for _, value in MISSING], ids=[name for name, _ in MISSING])
def test_a_missing_label_beside_texts_is_no_class(square, absent):
    """NumPy would turn these values into the texts "nan" and "None" in an array of texts."""
    values = [absent if label is None else label for label in FEW]
    column = np.empty(4, object)
    column[:] = values
    for y in (values, tuple(values), column, column[:, None]):
        g = mochi.graph(EDGES, y=y)
        assert g.classes.tolist() == ["a", "b"] and g.y.tolist() == [1, 0, -1, 0]
    for labels in (values, column, dict(enumerate(values))):
        fit = mochi.load("best").few_shot(square, labels)
        assert fit.classes_.tolist() == ["a", "b"] and fit.labelled.tolist() == [0, 1, 3]


def test_one_list_of_marks_of_the_unknown(tmp_path):
    """The program reads files, this package lists and tables: a mark of one is a mark of the other, of classes as of attributes."""
    from mochi.convert.archive import UNKNOWN, is_unknown

    parsers = pytest.importorskip("pandas._libs.parsers")
    words = [w for mark in {*UNKNOWN, *parsers.STR_NA_VALUES} for w in (mark, mark.lower(), mark.upper(), mark.title())]
    words = sorted({*words, "unknown", "missing", "-", "na.", "nonesuch", "x"} - {"", "-nan", "-NaN", "-NAN", "-Nan"}) + [""]  # -nan: a number
    names = [f"n{i}" for i in range(len(words))]
    edges = list(itertools.pairwise(names))
    (tmp_path / "edges.csv").write_text("from,to\n" + "".join(f"{u},{v}\n" for u, v in edges))
    (tmp_path / "labels.csv").write_text("node,label\n" + "".join(f"{n},{w}\n" for n, w in zip(names, words, strict=True)))
    # An attribute is a column of the words, each on two nodes, so that each that is no gap has a column of its own.
    twice = [f"{n}{end}" for n in names for end in "ab"]
    (tmp_path / "twice").mkdir()
    (tmp_path / "twice/edges.csv").write_text("from,to\n" + "".join(f"{u},{v}\n" for u, v in itertools.pairwise(twice)))
    rows = "".join(f"{n},{words[i // 2]}\n" for i, n in enumerate(twice))
    (tmp_path / "twice/features.csv").write_text("name,word\n" + rows)
    with pytest.warns(mochi.DataWarning, match="count as unknown"):
        given = mochi.graph(edges, nodes=names, y=words)
    known = sorted(w for w in words if not is_unknown(w))
    assert mochi.graph(tmp_path).classes.tolist() == given.classes.tolist() == known
    columns = mochi.graph(tmp_path / "twice").columns
    assert columns == [*(f"word={w}" for w in known), "word missing"]


def test_missing_labels_of_pandas_are_no_class(square):
    pandas = pytest.importorskip("pandas")
    texts, numbers = pandas.Series(["b", "a", None, "a"]), pandas.Series([7, 5, None, 5])
    forms = [
        texts, texts.astype(object), texts.astype("string"), texts.astype("category").cat.add_categories(["unused"]),
        numbers, numbers.astype("Int64"), numbers.astype("Float64"), numbers.astype("Int64").astype("category"),
        pandas.Series(["b", "a", pandas.NA, "a"], dtype=object), pandas.Series([True, False, pandas.NA, False], dtype="boolean"),
    ]  # fmt: skip
    for form in forms:
        for y in (form, form.array, form.to_frame(), list(form)):
            g = mochi.graph(EDGES, y=y)
            assert g.y.tolist() == [1, 0, -1, 0] and len(g.classes) == 2
        for labels in (form, form.to_dict()) if form.dtype != "boolean" else ({0: True, 1: False},):
            fit = mochi.load("best").few_shot(square, labels)
            assert fit.classes_.tolist() == g.classes.tolist() and set(fit.labelled.tolist()) <= {0, 1, 3}


def test_labels_of_any_one_type_are_classes():
    def classes(y):
        g = mochi.graph(EDGES, y=y)
        return g.y.tolist(), g.classes.tolist()

    assert classes(["b", "", "a", None]) == ([1, -1, 0, -1], ["a", "b"])
    assert classes([3.0, np.nan, 8.0, 3.0]) == ([0, -1, 1, 0], [3, 8])
    assert classes([[10], [-1], [2], [2]]) == ([1, -1, 0, 0], [2, 10])
    assert classes(np.array(["b", "a", "", "a"])) == ([1, 0, -1, 0], ["a", "b"])
    assert classes([b"b", b"a", b"", b"a"]) == ([1, 0, -1, 0], [b"a", b"b"])
    assert classes([True, False, None, np.False_]) == ([1, 0, -1, 0], [False, True])
    assert classes(np.ma.array([9, 2, 5, 2], mask=[0, 0, 1, 0])) == ([1, 0, -1, 0], [2, 9])
    assert classes(np.array([9, 2, np.nan, 2], np.float16)) == ([1, 0, -1, 0], [2, 9])
    assert classes(["b", "a", -1, np.str_("a")]) == ([1, 0, -1, 0], ["a", "b"])
    for wrong, message in (
        ([1, "1", 1, 2], "labels of int and str, expected one type"), ([True, 1, 0, 2], "bool and int"),
        ([0.5, 1, 1, 1], "label 0.5.*expected classes"), ([0, 1], "each of 4"), ([0, "a", {}, 1], "labels"),
        ([-0.5, 1, 1, 1], "label -0.5"), ([np.inf, 1, 1, 1], "label inf"),
        ([2**70, 1, 1, 1], "2\\^63"),
        ([1e300, 1, 1, 1], "2\\^63"), (["a\0", "a", "b", "b"], "zeroes"), ([1j, 1, 1, 1], "labels of complex"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            mochi.graph(EDGES, y=wrong)


def test_a_mask_of_labels_is_one_in_every_form(square):
    mask, expected = [True, True, False, False], [0, 1]
    forms = [mask, np.array(mask)]
    try:
        import pandas

        forms += [pandas.Series(mask), pandas.Series(mask, dtype="boolean")]
    except ImportError:
        pass
    for form in forms:
        fit = mochi.load("best").few_shot(square, form)
        assert fit.classes_.tolist() == expected and fit.labelled.tolist() == [0, 1]
        assert len(fit.predict(form)) == 2
    for wrong in (mask[:3], [*mask, True], [True, None, False, True]):
        with pytest.raises(ValueError, match="mask"):
            fit.fit(wrong)
        with pytest.raises(ValueError, match="mask|none of"):
            fit.predict(wrong)
    assert fit.fit({0: True, 1: False}).classes_.tolist() == [False, True]  # in a dict, booleans are classes


def rings(names):
    """Returns a networkx graph: two rings joined by a bridge, its nodes called `names`."""
    networkx = pytest.importorskip("networkx")
    g = networkx.Graph()
    g.add_nodes_from(names)
    for first in (0, 6):
        g.add_edges_from((names[first + i], names[first + (i + 1) % 6]) for i in range(6))
    g.add_edge(names[0], names[6])
    return g


PERMUTED = [7, 2, 11, 0, 9, 4, 1, 8, 3, 10, 5, 6]


@pytest.mark.parametrize(
    "names",
    [PERMUTED, [f"node {i}" for i in PERMUTED], [(i, i % 2) for i in range(12)], [7, *"abcdefghijk"]],
    ids=["numbers", "texts", "pairs", "mixed"],
)
def test_a_readout_speaks_in_the_names_of_the_graph(names):
    graph = mochi.graph(rings(names))
    fit = mochi.load("best").few_shot(graph, {names[2]: "a", names[9]: "b"})
    assert graph.names == names
    assert fit.labelled.tolist() == [names[2], names[9]]
    suggested = fit.suggest(4).tolist()
    assert set(suggested) <= set(names) - {names[2], names[9]} and len(set(suggested)) == 4
    every = dict(zip(names, fit.predict().tolist(), strict=True))
    assert fit.predict(suggested).tolist() == [every[name] for name in suggested]
    again = mochi.load("best").few_shot(graph, {**{name: every[name] for name in suggested}, names[2]: "a", names[9]: "b"})
    assert set(again.labelled.tolist()) == {*suggested, names[2], names[9]}


def test_names_of_a_file_are_those_of_the_readout(tmp_path):
    (tmp_path / "net.txt").write_text("7 8\n8 20\n20 31\n31 7\n7 20\n")
    graph = mochi.graph(tmp_path / "net.txt")
    assert graph.names == [7, 8, 20, 31] and graph.find(20) == graph.find("20") == 2
    fit = mochi.load("best").few_shot(graph, {7: "a", 20: "b"})
    assert fit.labelled.tolist() == [7, 20] and sorted(fit.suggest(2).tolist()) == [8, 31]
    assert fit.predict([20]).tolist() == fit.predict()[[2]].tolist()
    assert mochi.load("best").score_links(graph, [(7, 8), (7, 31)]).shape == (2,)
    with pytest.raises(ValueError, match="0 is none of its 4"):
        fit.predict([0])


def test_what_names_no_example_raises(square, fitted):
    for wrong in (True, np.True_, 4, -1, 1.0, "x", "1\0", None, [0], 2**64):
        with pytest.raises(ValueError, match="none of its 4 examples"):
            square.find(wrong)
    for wrong in ([-1], np.array([-1]), [2708], np.array([2**63], np.uint64), [0.0], [[0, 1]], np.array([[0, 1]]), [True]):
        with pytest.raises(ValueError, match="examples"):
            fitted.predict(wrong)
    assert fitted.predict(5).tolist() == fitted.predict([5]).tolist() and fitted.predict([]).shape == (0,)
    for wrong in (0, -1, 1.5, True, "2", None, 10**30):
        with pytest.raises(ValueError, match="suggest: n is"):
            fitted.suggest(wrong)
    for wrong in ([0, 1], ["01"], [(0, 1, 2)], [(0, True)]):
        with pytest.raises(ValueError, match="pairs|none of"):
            mochi.load("best").score_links(fitted.graph, wrong)


@pytest.mark.parametrize("lam", [-1, 0, float("nan"), float("inf"), 30.0, "x"])
def test_a_penalty_without_effect_is_refused(square, lam):
    """The readout of `best` and a prototype have no penalty, so any is refused; ridge has one, and a value above 0
    changes it."""
    best, labels = mochi.load("best"), {0: 0, 1: 1}
    for head in (None, "prototype_euclidean", "ridge"):
        if head == "ridge" and lam == 30.0:
            assert not np.array_equal(*(best.few_shot(square, labels, head=head, lam=v).logits() for v in (None, lam)))
            continue
        with pytest.raises((ValueError, TypeError)):
            best.few_shot(square, labels, head=head, lam=lam)
    with pytest.raises((ValueError, TypeError)):
        best.score_links(square, [(1, 3)], lam=lam)


def test_names_and_classes_survive_a_file(tmp_path):
    path = tmp_path / "g.npz"

    def again(g):
        g.save(path)
        return mochi.graph(path)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for y in (
            ["x", "y", "", "x"],
            [5, 7, -1, 5],
            ["5", "7", None, "5"],
            ["ö\n,'", "b", "b", None],
            [True, False, None, True],
        ):
            g = mochi.graph(EDGES, y=y)
            assert again(g).classes.tolist() == g.classes.tolist() and again(g).y.tolist() == g.y.tolist()
            assert again(again(g)).classes.tolist() == g.classes.tolist() and again(g).names is None
    for names in (PERMUTED, list(range(12)), [f"node {i}" for i in range(12)], [str(i) for i in PERMUTED], list(range(-3, 9))):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            g = mochi.graph(rings(names), y=["b", "a"] * 6)
            read = again(g)
        assert read.names == names and read.classes.tolist() == ["a", "b"] and same(read, g)
        assert [read.find(name) for name in names] == list(range(12))
        fit = mochi.load("best").few_shot(read, {names[2]: "a", names[9]: "b"})
        assert fit.labelled.tolist() == [names[2], names[9]] and set(fit.suggest(3).tolist()) < set(names)
        assert pickle.loads(pickle.dumps(read)).names == names
    pairs = mochi.graph(rings([(i, 0) for i in range(12)]))
    with pytest.warns(mochi.DataWarning, match="names of examples became texts"):
        assert again(pairs).names[3] == "(3, 0)"
    assert pickle.loads(pickle.dumps(pairs)).names[3] == (3, 0)
    with pytest.warns(mochi.DataWarning, match="names of examples are left out"):
        assert again(mochi.graph(rings([1, "1", *range(2, 12)]))).names is None


@program
def test_the_program_reads_the_names_of_a_saved_graph(tmp_path):
    mochi.graph(rings([f"node {i}" for i in range(12)]), y=["tea", "chess"] * 6).save(tmp_path / "g.npz")
    (tmp_path / "seeds.csv").write_text("node,class\nnode 2,tea\nnode 9,chess\n")
    command = [PROGRAM, "predict", "--data", tmp_path / "g.npz", "--labels", tmp_path / "seeds.csv", "--quiet"]
    rows = list(csv.reader(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()))
    assert rows[1][0] == "node 0" and {row[1] for row in rows[1:]} <= {"tea", "chess"}
    said = subprocess.run([PROGRAM, "data", "info", tmp_path / "g.npz"], check=True, capture_output=True, text=True).stdout
    assert "\n  class_names        chess, tea\n" in said


def told(make):
    """Returns the graph's `ignored`: what it left out of its source. A warning must come if and only if there is
    anything."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        g = make()
    assert len(caught) == (g.ignored != ())
    for warning in caught:
        assert " and ".join(g.ignored) + " are ignored" in str(warning.message) and warning.filename == __file__
    assert pickle.loads(pickle.dumps(g)).ignored == g.ignored
    return g.ignored


def test_weights_and_directions_of_a_matrix_are_told():
    sparse = pytest.importorskip("scipy.sparse")
    ring = np.roll(np.eye(4), 1, 1)
    for A, expected in (
        (ring + ring.T, ()), ((ring + ring.T).astype(bool), ()), (ring + ring.T + np.eye(4), ()),
        (2 * (ring + ring.T), ()), (ring, ("directions",)), (-0.5 * ring, ("weights", "directions")),
        (np.triu(ring + ring.T), ("directions",)),
    ):  # fmt: skip
        for kind in (sparse.csr_matrix, sparse.coo_array):
            assert told(lambda: mochi.graph(kind(A))) == expected  # noqa: B023
    stored = sparse.csr_matrix(([1.0, 0, 1], ([0, 0, 1], [1, 2, 0])), shape=(3, 3))  # an entry of 0 is no edge
    assert told(lambda: mochi.graph(stored)) == ()


def test_weights_and_directions_of_networkx_are_told():
    networkx = pytest.importorskip("networkx")
    for g, expected in (
        (networkx.Graph([(0, 1), (1, 2)]), ()), (networkx.Graph([(0, 1, {"weight": 1.0})]), ()),
        (networkx.Graph([(0, 1), (1, 2, {"weight": -3})]), ("weights",)), (networkx.DiGraph([(0, 1), (1, 0)]), ()),
        (networkx.Graph([(0, 1), (1, 2, {"weight": "far"})]), ("weights",)),
        (networkx.DiGraph([(0, 1), (1, 2)]), ("directions",)), (networkx.MultiGraph([(0, 1), (1, 0)]), ()),
        (networkx.MultiDiGraph([(0, 1, {"weight": np.nan})]), ("weights", "directions")), (networkx.DiGraph([(0, 0)]), ()),
    ):  # fmt: skip
        assert told(lambda: mochi.graph(g)) == expected  # noqa: B023
    directed, weighted = networkx.DiGraph([(0, 1)]), networkx.Graph([(0, 1, {"weight": 2})])
    g = mochi.graph_set([weighted, networkx.Graph([(0, 1)])], y=[0, 1])
    assert g.weights.tolist() == [2, 2, 1, 1]
    assert mochi.graph_set([weighted, networkx.Graph([(0, 1)])], y=[0, 1], weights=False).weights is None
    assert told(lambda: mochi.graph_set([directed, weighted], y=[0, 1])) == ("directions",)


def test_weights_and_directions_of_pyg_dgl_and_tables_are_told():
    both, one = np.concatenate([EDGES, EDGES[:, ::-1]]).T, EDGES[:5].T
    for more, ends, expected in (
        ({}, both, ()), ({}, one, ("directions",)), ({"edge_weight": np.ones(16)}, both, ()),
        ({"edge_weight": np.arange(16)}, both, ()), ({"edge_weight": np.ones((16, 2)) / 2}, both, ("weights",)),
        ({"edge_attr": np.full((5, 2), 0.5)}, one, ("weights", "directions")),
    ):  # fmt: skip
        data = types.SimpleNamespace(edge_index=ends, num_nodes=4, **more)
        assert told(lambda: mochi.graph(data)) == expected  # noqa: B023
    dgl = types.SimpleNamespace(edges=lambda: tuple(both), num_nodes=lambda: 4, ndata={}, edata={"w": np.arange(16)})
    assert told(lambda: mochi.graph(dgl)) == () and mochi.graph(dgl).weights.max() == 15
    assert told(lambda: mochi.graph(EDGES)) == ()  # either direction, or both
    with pytest.raises(ValueError, match="edge_index of float64"):
        mochi.graph(types.SimpleNamespace(edge_index=one + 0.5, num_nodes=9))
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"from": [0, 1], "to": [1, 2]})
    assert told(lambda: mochi.graph(table)) == told(lambda: mochi.graph(table.assign(w=1.0))) == ()
    assert mochi.graph(table.assign(w=[0.5, 2])).weights.tolist() == [0.5, 0.5, 2, 2]
    assert told(lambda: mochi.graph(table.assign(w=[0.5, -2]))) == ("weights",)
    assert mochi.graph(table.assign(w=1)).edges == 2  # three columns of two rows are two edges


def test_embeddings_propagate_by_the_weights(tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(0)
    W = np.triu(rng.random((40, 40)) * (rng.random((40, 40)) < 0.2), 1)
    W = W + W.T
    g, x = mochi.graph(sparse.csr_array(W)), rng.normal(size=(40, 3))
    np.testing.assert_array_equal(g.to_scipy().toarray(), W.astype(np.float32))
    g.save(tmp_path / "g.npz")
    for other in (pickle.loads(pickle.dumps(g)), mochi.graph(tmp_path / "g.npz"), mochi.graph(g, y=np.arange(40) % 2)):
        assert np.array_equal(other.weights, g.weights)
    plain = mochi.graph(sparse.csr_array(W), weights=False)
    assert plain.weights is None and plain.ignored == () and mochi.graph(g, weights=False).weights is None
    assert np.array_equal(mochi.features(plain, 1), mochi.features(mochi.graph(sparse.csr_array(W != 0)), 1))
    weighted = mochi.graph(sparse.csr_array(W), x=x)
    own, hop = mochi.features(weighted, 0)[:, -256:], mochi.features(weighted, 1)[:, -256:]
    degree = np.maximum(W.sum(1), 1e-30)
    np.testing.assert_allclose(hop, W / np.sqrt(np.outer(degree, degree)) @ own, atol=1e-5)


def test_what_would_be_ignored_or_cut_is_refused(square):
    for nodes in (-1, 1.5, float("nan"), "x", True, 2**31, 10**30):
        with pytest.raises(ValueError, match="nodes"):
            mochi.graph(EDGES, nodes=nodes)
    other = mochi.graph(square, y=["b", "a", "b", None], name="other")
    assert other.name == "other" and other.y.tolist() == [1, 0, 1, -1] and np.array_equal(other.x, square.x)
    context = mochi.Context(threads=1)
    assert mochi.graph(square, context=context).context is context
    with pytest.raises(ValueError, match="graph 0 has 4 labels, expected one"):
        mochi.graph_set([square, square])
    ends = types.SimpleNamespace(edge_index=EDGES.T, num_nodes=4)
    labelled = types.SimpleNamespace(edge_index=EDGES.T, num_nodes=4, y=np.array([3]))
    assert mochi.graph_set([labelled, ends]).y.tolist() == [0, -1]
    for wrong in ({"dim": 0}, {"hop": "x"}, {"hop": 1.5}):
        with pytest.raises(ValueError, match="features"):
            mochi.features(square, **wrong)
    for head in (-1, 1.5, ["ridge"]):
        with pytest.raises(ValueError, match="head"):
            mochi.load("best").few_shot(square, {0: 0, 1: 1}, head=head)
    with pytest.raises(ValueError, match="transductive"):
        mochi.load("best").few_shot(square, {0: 0, 1: 1}, transductive="x")


def test_what_is_no_graph_raises(tmp_path):
    for source, options, message in (
        ([[0, 1], [2, 7]], {"nodes": 4}, r"edge 1: 2, 7, expected nodes 0 \.\. 3"), ("no-such-graph", {}, "expected a path or one of"),
        (np.ones((3, 4)), {}, "expected a graph, or edges"), (EDGES, {"x": X[:3]}, "a row for each of 4"),
        (EDGES, {"x": np.full((4, 2), np.inf)}, "not finite"), (EDGES, {"x": np.ma.array(X, mask=X > 1)}, "masked"),
        ("cora", {"y": [1]}, "of its own"), ("cora", {"name": "mine"}, "of its own"), ("cora", {"weights": False}, "of its own"),
        (EDGES, {"weights": 2}, "weights is 2"), (np.ones((5, 3), int), {}, "third column of a pandas table"),
        (EDGES, {"x": "x"}, "no attribute 'x' of the nodes.*found: none"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            mochi.graph(source, **options)
    with pytest.raises(OSError, match="cannot open"):
        mochi.graph(tmp_path / "nothing.npz")
    mochi.graph(EDGES, y=["x", "y", "x", "y"]).save(tmp_path / "numbers.npz")
    with np.load(tmp_path / "numbers.npz") as file:
        np.savez(tmp_path / "texts.npz", **{**file, "labels": np.array(["x", "y", "x", "y"]), "notes": np.array(["a"])})
    with pytest.raises(NotImplementedError, match="labels: expected numbers, found text"):
        mochi.graph(tmp_path / "texts.npz")


def test_names_files_and_pickles(cora, square, tmp_path):
    assert (cora.nodes, cora.edges, len(cora.classes)) == (2708, 5278, 7) and cora.division("train").sum() == 140
    cora.save(tmp_path / "copy.npz")
    assert same(mochi.graph(tmp_path / "copy.npz"), cora)
    assert same(mochi.graph(str(tmp_path / "copy.npz")), cora)
    named = mochi.graph(EDGES, y=["x", "y", "x", ""], name="a/b")
    again = pickle.loads(pickle.dumps(named))
    assert same(again, named) and again.classes.tolist() == ["x", "y"]
    assert mochi.graph(square) is square
    with mochi.graph(EDGES) as closed:
        pass
    with pytest.raises(mochi.StateError, match="closed"):
        closed.nodes  # noqa: B018


def test_features_of_nodes(square):
    all_hops = mochi.features(square, dim=8)
    assert all_hops.shape == (4, 4, 8) and all_hops.dtype == np.float32
    assert np.array_equal(mochi.features(square, hop=2, dim=8), all_hops[2])
    np.testing.assert_allclose(all_hops[0].mean(1), 0, atol=1e-6)  # LayerNorm
    with pytest.raises(ValueError, match="hop 9, expected one of"):
        mochi.features(square, hop=9)


def test_ten_lines_find_the_subjects_of_cora(cora, fitted, seeds):
    rest = np.setdiff1d(np.arange(cora.nodes), list(seeds))
    accuracy = (fitted.predict(rest) == cora.y[rest]).mean()
    e = fitted.estimate
    assert 0.77 < accuracy < 0.82 and e.low < accuracy < e.high
    assert (e.n_classes, e.labelled, e.held_out, e.small_classes) == (7, 28, 28, 0) and "expected accuracy" in str(e)
    P, logits = fitted.predict_proba(), fitted.logits()
    assert P.shape == (2708, 7)
    scaled = np.exp((logits - logits.max(1, keepdims=True)) / e.temperature)
    np.testing.assert_allclose(P, scaled / scaled.sum(1, keepdims=True), rtol=1e-10)
    np.testing.assert_allclose(P[[5, 3]], fitted.predict_proba([5, 3]), rtol=1e-4)  # float32 rows of another matrix product


def test_probabilities_of_few_labels_warn(cora, fitted, seeds):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted.fit(seeds).predict_proba([0])
        fitted.fit(dict(list(seeds.items())[:-1])).predict([0])
        with pytest.raises(UserWarning, match="below 4 labels of a class, found 3"):
            fitted.predict_proba([0])
    fitted.fit(seeds)


def test_labels_as_dict_array_mask_and_series(cora, fitted, seeds):
    few = np.array(sorted(seeds))[:3]
    expected = fitted.logits(few)
    array = np.full(cora.nodes, -1)
    array[list(seeds)] = list(seeds.values())
    texts = [f"c{c}" if c >= 0 else "" for c in array]
    forms = [array, array >= 0, dict(reversed(seeds.items())), texts]
    try:
        import pandas

        forms += [pandas.Series(seeds), pandas.Series(texts, dtype="category")]
    except ImportError:
        pass
    for form in forms:
        assert np.array_equal(fitted.fit(form).logits(few), expected)
    assert fitted.predict([0])[0].startswith("c")
    fitted.fit(seeds)
    for wrong, message in (({0: 1, 1: 1}, "two or more"), ({0: 1, 9999: 2}, "9999 is none"), ([0, 1], "each of 2708")):
        with pytest.raises(ValueError, match=message):
            fitted.fit(wrong)
    assert np.array_equal(fitted.fit(seeds).logits(few), expected)


def test_suggestions_are_unlabelled_and_fit_no_labels(cora, fitted, seeds):
    suggested = fitted.suggest(9)
    assert len(set(suggested.tolist()) - set(seeds)) == 9
    bare = mochi.load("best").few_shot(cora)
    assert len(set(bare.suggest(3).tolist())) == 3
    with pytest.raises(mochi.StateError, match="expected labels"):
        bare.predict([0])


def test_a_fit_reads_the_weights_that_were_loaded(square, tmp_path):
    folder = pathlib.Path(__file__).resolve().parents[2] / "train/data"
    file = tmp_path / "w.safetensors"
    file.write_bytes((folder / "best.safetensors").read_bytes())
    model = mochi.load(file)
    expected = model.few_shot(square, {0: "a", 1: "b"}).logits()
    file.write_bytes((folder / "free.safetensors").read_bytes())
    assert np.array_equal(model.few_shot(square, {0: "a", 1: "b"}).logits(), expected)


def test_a_readout_is_kept_scored_and_a_table(tmp_path):
    pandas = pytest.importorskip("pandas")
    networkx = pytest.importorskip("networkx")
    club = networkx.karate_club_graph()
    for *_, edge in club.edges(data=True):
        edge["weight"] = 1
    names = {i: f"member {i}" for i in club}
    g = mochi.graph(networkx.relabel_nodes(club, names), y="club")
    labels = {"member 0": "a", "member 1": "a", "member 32": "b", "member 33": "b"}
    fitted = mochi.load("best").few_shot(g, labels, lam=3.0, head="ridge")
    table = fitted.predict_proba(as_frame=True)
    assert table.index.tolist() == list(names.values()) and table.columns.tolist() == ["a", "b"]
    assert table.idxmax(axis=1).tolist() == fitted.predict(as_frame=True).tolist() == fitted.predict().tolist()
    truth = pandas.Series({names[i]: "a" if club.nodes[i]["club"] == "Mr. Hi" else "b" for i in club})
    assert fitted.score(truth) == (fitted.predict() == truth.to_numpy()).mean() > 0.9
    assert fitted.score({"member 2": fitted.predict(["member 2"])[0]}) == 1
    path = tmp_path / "readout"
    fitted.save(path)
    again = mochi.load("best").few_shot(g, readout=path)
    assert np.array_equal(again.predict_proba(), fitted.predict_proba()) and str(again.estimate) == str(fitted.estimate)
    assert again.predict(["member 9"]) == fitted.predict(["member 9"]) and again.labelled.tolist() == fitted.labelled.tolist()
    assert np.array_equal(again.predict_sets(0.5), fitted.predict_sets(0.5))
    with pytest.raises(mochi.InvalidError, match="of other data"):
        mochi.load("best").few_shot("karate", readout=path)
    with pytest.raises(mochi.InvalidError, match="has its own labels"):
        mochi.load("best").few_shot(g, labels, readout=path)
    with pytest.raises(mochi.FormatError, match="mochi predict --save`, found a readout of logits"):
        mochi.head("ridge").fitted(np.eye(4), np.repeat(np.eye(2), 2, axis=0)).save(path)
        mochi.load("best").few_shot(g, readout=path)


@program
@pytest.mark.parametrize("transductive", [False, True, "auto", "never"])
def test_a_kept_readout_is_one_file_with_the_programs(tmp_path, transductive):
    name = "mutag" if transductive == "never" else "kitchen"
    path, g, model = tmp_path / "r.safetensors", mochi.graph(name), mochi.load("best")
    mask = np.zeros(g.examples, bool)
    mask[np.concatenate([np.flatnonzero(g.y == c)[:4] for c in range(len(g.classes))])] = True
    fit = model.few_shot(g, mask, transductive=transductive)
    fit.save(path)

    def predicted(*how):
        command = [PROGRAM, "predict", "--data", name, "--probabilities", "--quiet", *how]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    words = {False: "no", True: "yes"}.get(transductive, transductive)
    assert predicted("--readout", path) == predicted("--demo-labels", "4", "--transductive", words, "--save", path)
    assert np.array_equal(model.few_shot(g, readout=path).predict_proba(), fit.predict_proba())
    assert model.few_shot(g, readout=path).classes_.tolist() == [str(c) for c in fit.classes_]


def test_graphs_of_names_and_tables():
    pairs = [("ann", "bob"), ("bob", "eve"), ("eve", "ann"), ("eve", "dan")]
    expected = mochi.graph(np.array([[0, 1], [1, 2], [2, 0], [2, 3]]))
    pandas, networkx = pytest.importorskip("pandas"), pytest.importorskip("networkx")
    table = pandas.DataFrame(pairs, columns=["from", "to"])
    for source in (pairs, np.array(pairs), table, table.assign(w=1)):
        g = mochi.graph(source)
        assert g.names == ["ann", "bob", "eve", "dan"] and g.find("dan") == 3
        assert all(np.array_equal(a, b) for a, b in zip(g.adjacency, expected.adjacency, strict=True))
    A = expected.to_scipy().toarray()
    assert mochi.graph(A).edges == 4 and A.sum() == 8
    square = pandas.DataFrame(A, g.names, g.names)
    assert mochi.graph(square).names == g.names and mochi.graph(square).edges == 4
    assert mochi.graph([], nodes=5).nodes == 5
    for wrong in ([("a", None)], np.full((3, 3), np.nan), pandas.DataFrame(np.ones((3, 4)))):
        with pytest.raises(ValueError, match="graph: "):
            mochi.graph(wrong)
    back = g.to_networkx()
    assert sorted(map(sorted, back.edges)) == sorted(map(sorted, pairs))
    labelled = mochi.graph(EDGES, x=X, y=["red", "blue", None, "red"]).to_networkx()
    assert labelled.nodes[1]["y"] == "blue" and "y" not in labelled.nodes[2] and np.array_equal(labelled.nodes[3]["x"], X[3])
    assert mochi.graph(networkx.Graph(back)).names == g.names


def test_a_readout_outlives_the_close_of_its_graph():
    mutag = mochi.graph("mutag")
    fit = mochi.load("best").few_shot(mutag, mutag.y)
    expected = fit.logits([0, 5, 100])
    mutag.close()
    del mutag
    assert np.array_equal(fit.logits([0, 5, 100]), expected)
    with pytest.raises(mochi.StateError, match="Graph is closed"):
        fit.predict()
    with fit:
        pass
    with pytest.raises(mochi.StateError, match="FewShot is closed"):
        fit.logits([0])


def test_heads_and_sets_of_graphs():
    mutag = mochi.graph("mutag")
    mask = np.zeros(mutag.graphs, bool)
    for c in (0, 1):
        mask[np.flatnonzero(mutag.y == c)[:12]] = True
    for options in ({}, {"head": "logistic", "lam": 0.5}, {"transductive": True}, {"transductive": False},
                    {"transductive": "never"}):
        fit = mochi.load("best").few_shot(mutag, mask, **options)
        accuracy = (fit.predict(~mask) == mutag.y[~mask]).mean()
        assert accuracy > 0.6, (options, accuracy)
    assert mochi.load().embed(mutag).shape[0] == mutag.graphs
    with pytest.raises(mochi.UnsupportedError, match="inductive kernels are those of a set"):
        mochi.load("best").few_shot("cora", {0: "a", 1: "b"}, transductive="never")


def test_rows_of_ones_own_are_an_expert(cora, seeds):
    rows = np.random.default_rng(0).normal(size=(cora.nodes, 4))
    marked = rows + 9 * np.eye(4)[cora.y % 4]
    plain, noise, told = (
        mochi.load("best").few_shot(cora, seeds, transductive=False, experts=experts).estimate.accuracy
        for experts in ((), [rows], {"what it is": marked})
    )
    assert told > plain > noise - 0.1, (plain, noise, told)
    with pytest.raises(ValueError, match=r"expert short: expected rows \[2708, w\]"):
        mochi.load("best").few_shot(cora, seeds, experts={"short": rows[:-1]})
    with pytest.raises(NotImplementedError, match="a mixture of kernels"):
        mochi.load("best").few_shot(cora, seeds, head="ridge", experts=[rows])
    with pytest.raises(FloatingPointError, match="not|nan"):
        mochi.load("best").few_shot(cora, seeds, experts=[np.full((cora.nodes, 1), np.nan)])


def test_models_know_what_they_are(tmp_path):
    model = pickle.loads(pickle.dumps(mochi.load("best")))
    assert model.kind == "invariant" and model.recipe == "best" and len(model.parameters) == 5
    with pytest.raises(mochi.Error):
        mochi.load(tmp_path / "none.safetensors")


@program
def test_the_program_predicts_the_same(cora, fitted, seeds, tmp_path):
    labels, out = tmp_path / "seeds.csv", tmp_path / "p.csv"
    labels.write_text("node,class\n" + "".join(f"{i},{c}\n" for i, c in seeds.items()))
    command = [PROGRAM, "predict", "--data", "cora", "--labels", labels, "--probabilities", "--out", out]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    e = fitted.estimate
    assert f"{100 * e.accuracy:.1f}% (95%: {100 * e.low:.1f} to {100 * e.high:.1f})" in said
    header, *rows = csv.reader(out.open())
    ids = [int(row[0]) for row in rows]
    first = header.index("0")
    assert [[f"{p:.6f}" for p in row] for row in fitted.predict_proba(ids)] == [row[first:] for row in rows]
    assert fitted.predict(ids).tolist() == [int(row[1]) for row in rows]


@program
def test_the_program_embeds_to_the_same_bits(cora, tmp_path):
    cases = (
        ("mutag", ["--weights", "best"], mochi.load().embed("mutag")),
        ("cora", ["--weights", "none", "--hop", "1"], mochi.features(cora, 1)),
    )
    alone = {name: value for name, value in os.environ.items() if name != "MOCHI_CACHE"}
    for data, options, mine in cases:
        command = [PROGRAM, "embed", "--data", data, "--out", tmp_path / "Z.npy", "--quiet", *options]
        subprocess.run(command, check=True, env=alone)
        theirs = np.load(tmp_path / "Z.npy")
        assert mine.dtype == theirs.dtype and np.array_equal(mine.view(np.uint32), theirs.view(np.uint32))


@program
def test_the_program_scores_links_the_same(cora, tmp_path):
    pairs = [(0, 1), (0, 633), (5, 9), (3, 3), (17, 24)]
    (tmp_path / "pairs.csv").write_text("from,to\n" + "".join(f"{u},{v}\n" for u, v in pairs))
    command = [PROGRAM, "predict", "--data", "cora", "--task", "lp", "--pairs", tmp_path / "pairs.csv"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    theirs = [row[2] for row in list(csv.reader(text.splitlines()))[1:]]
    assert ["" if s != s else f"{s:.6f}" for s in mochi.load("best").score_links(cora, pairs)] == theirs


@program
def test_the_program_finds_the_same_partners(tmp_path):
    command = [PROGRAM, "predict", "--data", "kitchen", "--task", "lp", "--best", "3", "--quiet"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    theirs = [(row[0], row[1], row[4]) for row in list(csv.reader(text.splitlines()))[1:]]
    mine = mochi.load("best").best_links("kitchen", 3)
    assert [(u, v, f"{p:.6f}") for u, v, p in mine] == theirs and len(mine) == 3 * 88
    g = mochi.graph("kitchen")
    score = mochi.load("best").score_links(g, [(u, v) for u, v, _ in mine])
    np.testing.assert_allclose(1 / (1 + np.exp(-score)), [p for *_, p in mine], atol=1e-5)


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "2", None])
def test_partners_are_counted_by_whole_numbers(square, n):
    with pytest.raises(ValueError, match="best_links: n is .*, expected 1 or more"):
        mochi.load("best").best_links(square, n)


def shop(x, y=None):
    """Two rings of 30 nodes, joined once, with attributes."""
    edges = [(i, (i + step) % 30 + 30 * half) for half in (0, 1) for i in range(30 * half, 30 * half + 30) for step in (1, 3)]
    return mochi.graph(np.array([*edges, (0, 30)]), x=x, y=y, name="shop")


ROWS = [
    [None if i % 9 == 4 else 20 + i, ("red", "blue", None)[i % 3], ("yes", "No")[i % 2], 900.0 * i * i, i % 2 == 0]
    for i in range(60)
]
NAMES = ["age", "brand", "member", "income", "new"]


def check_columns(g, names):
    age, brand, member, income, new = names
    words = [f"{brand}=blue", f"{brand}=red", f"{brand} missing"]
    assert sorted(g.columns) == sorted([age, *words, member, income, new, f"{age} missing"])
    x = dict(zip(g.columns, g.x.T, strict=True))
    assert x[f"{brand}=red"].tolist() == [i % 3 == 0 for i in range(60)]
    assert x[f"{brand} missing"].tolist() == [i % 3 == 2 for i in range(60)]
    assert x[member].tolist() == x[new].tolist() == [i % 2 == 0 for i in range(60)]
    known = [20 + i for i in range(60) if i % 9 != 4]
    assert x[age].tolist() == [np.median(known) if i % 9 == 4 else 20 + i for i in range(60)]
    assert x[f"{age} missing"].tolist() == [i % 9 == 4 for i in range(60)]
    assert g.scaled == f"put on one scale: {', '.join(name for name in g.columns if name in (age, income))}"


def test_columns_of_words_truths_and_gaps_become_numbers():
    check_columns(shop(np.array(ROWS, object)), [f"column {i}" for i in range(5)])


def test_a_table_of_pandas_is_read_as_a_file_is():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(ROWS, columns=NAMES)
    check_columns(shop(table), NAMES)
    typed = table.astype({"age": "Int64", "brand": "category", "member": "string", "new": "boolean"})
    check_columns(shop(typed), NAMES)
    kinds = shop(pandas.DataFrame({"kind": pandas.Categorical([i % 3 for i in range(60)]), "x": np.arange(60.0)}))
    assert kinds.columns == ["kind=0", "kind=1", "kind=2", "x"]
    for joined in (pandas.Timestamp("2021-03-04"), "2021-03-04"):
        with pytest.raises(mochi.FormatError, match="attribute joined of row 0: found '2021-03-04.*a date has no zero"):
            shop(table.assign(joined=joined))
    with pytest.raises(mochi.InvalidError, match="attribute 'tags' has .*expected numbers, texts, booleans or gaps"):
        shop(table.assign(tags=[["a"]] * 60))


def test_a_column_of_another_scale_does_not_drown_the_others():
    cora = mochi.graph("cora")
    labels = {int(u): int(c) for c in range(7) for u in np.flatnonzero(cora.y == c)[:4]}
    best = mochi.load("best")
    rest = np.setdiff1d(np.arange(cora.nodes), list(labels))

    def right(g, **options):
        return 100 * float(np.mean(best.few_shot(g, labels, **options).predict(rest) == cora.y[rest]))

    alone, draws = right(cora), np.random.default_rng(0)
    assert cora.scaled is None
    constant = mochi.graph(cora, x=np.c_[cora.x, np.full(cora.nodes, 1000)])
    income = mochi.graph(cora, x=np.c_[cora.x, draws.lognormal(10, 1, cora.nodes)])
    assert constant.scaled == "the same in all rows, left out: column 1433"
    assert income.scaled == "put on one scale: column 1433"
    assert right(constant) == alone and abs(right(income) - alone) < 2.5
    assert right(constant, attributes="raw") < alone - 5
    assert np.array_equal(best.embed(constant), best.embed(cora))
    assert not np.array_equal(best.embed(constant, attributes="raw"), best.embed(cora))
    assert np.array_equal(mochi.features(constant, hop=0), mochi.features(cora, hop=0))
    first = mochi.graph(cora, x=np.c_[np.full(cora.nodes, 1000), cora.x])  # also where all other columns move up
    assert np.array_equal(best.embed(first), best.embed(cora))
    with pytest.raises(mochi.InvalidError, match="attributes is 'none', expected 'auto', 'scaled', 'raw'"):
        best.few_shot(cora, labels, attributes="none")


def test_nodes_that_no_label_reaches_get_the_shares_of_the_labels():
    cora = mochi.graph("cora")
    alone = np.random.default_rng(1).permutation(cora.nodes)[:134]
    kept = np.ones(cora.nodes, bool)
    kept[alone] = False
    indptr, column = cora.adjacency
    row = np.repeat(np.arange(cora.nodes), np.diff(indptr))
    edges = np.c_[row, column][kept[row] & kept[column]]
    g = mochi.graph(edges, nodes=cora.nodes, y=cora.y)
    labels = {int(u): int(c) for c in range(7) for u in np.flatnonzero(kept & (cora.y == c))[: 5 if c == 3 else 4]}
    fitted = mochi.load("best").few_shot(g, labels)
    reached, found = fitted.reached(), fitted.predict_proba()
    assert not reached[alone].any() and reached[list(labels)].all()
    prior = np.bincount(list(labels.values())) / len(labels)
    assert np.allclose(found[~reached], prior) and (fitted.predict()[~reached] == 3).all()
    assert fitted.reached([alone[0], list(labels)[0]]).tolist() == [False, True]
    linked = np.isin(np.arange(cora.nodes), edges)
    assert 0.85 < reached[linked].mean() < 1  # the others are in components without a label
    words = mochi.load("best").few_shot(mochi.graph(edges, nodes=cora.nodes, x=cora.x, y=cora.y), labels)
    assert words.reached().all()  # attributes of neighbours are alike


def test_labels_among_the_attributes_are_refused():
    """A column of labels left in the attributes says nothing of the nodes to predict."""
    pandas = pytest.importorskip("pandas")
    topic = ["sport", "sport", None, None, "food", "food", None]
    nodes = pandas.DataFrame({"page": list("abcdefg"), "views": range(7), "topic": topic}).set_index("page")
    edges = pandas.DataFrame({"from": list("abcdefg"), "to": list("bcadfge")})
    model = mochi.load("best")
    with pytest.raises(mochi.InvalidError, match="the attribute 'topic' is known of just the 4 nodes that have a label"):
        model.few_shot(mochi.graph(edges, x=nodes), nodes.topic)
    g = mochi.graph(edges, x=nodes[["views"]], y=nodes.topic)
    assert model.few_shot(g, g.y >= 0).predict(["c", "g"]).tolist() == ["sport", "food"]
