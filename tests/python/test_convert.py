"""Graphs in files that networkx, SciPy, NumPy and pandas wrote, and in the layouts of released data sets: names and weights are kept."""

import gzip
import json
import os
import pathlib
import subprocess
import sys

import mochi
import numpy as np
import pytest

networkx = pytest.importorskip("networkx")
pandas = pytest.importorskip("pandas")
scipy = pytest.importorskip("scipy")
import scipy.io  # noqa: E402
import scipy.sparse  # noqa: E402


def town():
    """People whose order by name is another than by number, with classes, and friendships with weights."""
    g = networkx.Graph()
    for name, club, age in (("zoe", "tea", 41), ("ann", "chess", 7), ("bob", "tea", 12), ("cat", "chess", 30)):
        g.add_node(name, club=club, age=age)
    g.add_weighted_edges_from([("zoe", "ann", 2.5), ("ann", "bob", 1.0), ("cat", "zoe", 4.0)])
    return g


def edges_of(g):
    """{two names: weight}."""
    return {frozenset(map(str, (u, v))): w for u, v, w in g.edges(data="weight", default=1.0)}


def told(path, classes=True):
    """Reads a file and compares it with town()."""
    g, want = mochi.graph(path), town()
    assert set(map(str, g.names)) == set(want.nodes)
    assert edges_of(g.to_networkx()) == edges_of(want)
    if classes:
        assert {name: g.classes[g.y[g.find(name)]] for name in g.names} == dict(want.nodes(data="club"))
        assert g.x[g.find("zoe")].max() == 41 and g.x[g.find("ann")].max() == 7
    return g


@pytest.mark.parametrize("ending", ["gml", "gml.gz", "graphml", "graphml.gz", "gexf", "json"])
def test_networkx_files_keep_names_weights_and_classes(tmp_path, ending):
    path, form = tmp_path / f"town.{ending}", ending.split(".")[0]
    if form == "json":
        path.write_text(json.dumps(networkx.node_link_data(town(), edges="links")))
    else:
        getattr(networkx, f"write_{form}")(town(), path)
    told(path)


def test_lists_of_neighbours_and_pajek(tmp_path):
    networkx.write_adjlist(town(), tmp_path / "town.adjlist")
    assert {frozenset(e) for e in mochi.graph(tmp_path / "town.adjlist").to_networkx().edges} == set(edges_of(town()))
    plain = networkx.Graph()
    plain.add_weighted_edges_from(town().edges(data="weight"))
    networkx.write_pajek(plain, tmp_path / "town.net")
    told(tmp_path / "town.net", classes=False)
    (tmp_path / "arcs.net").write_text('*Vertices 3\n1 "a b"\n2 "c"\n3 "d"\n*Arcs\n1 2 3\n2 1 3\n*Edges\n2 3 1\n')
    g = mochi.graph(tmp_path / "arcs.net")
    assert g.names == ["a b", "c", "d"] and edges_of(g.to_networkx()) == {frozenset({"a b", "c"}): 3, frozenset({"c", "d"}): 1}


def test_gml_has_labels_or_ids_as_names(tmp_path):
    path = tmp_path / "g.gml"
    path.write_text("graph [ node [ id 7 ] node [ id 30 ] node [ id 2 ] edge [ source 7 target 30 ] edge [ source 7 target 30 ] ]")
    g = mochi.graph(path)
    assert g.names == [2, 7, 30] and g.edges == 1
    path.write_text('graph [ node [ id 0 label "x" value 3 ] node [ id 1 label "y" value 5 ] node [ id 2 label "z" ] '
                    "edge [ source 0 target 1 value 2 ] edge [ source 1 target 2 value 3 ] ]")
    g = mochi.graph(path)
    assert g.names == ["x", "y", "z"] and g.y.tolist() == [0, 1, -1] and sorted(g.weights.tolist()) == [2, 2, 3, 3]
    for text in ("graph [", "graph [ node [ id 0 ] node [ id 0 ] ]", "graph [ node [ id 0 ] edge [ source 0 target 9 ] ]", "hello"):
        path.write_text(text)
        with pytest.raises(mochi.errors.FormatError, match=r"g\.gml: expected"):
            mochi.graph(path)


def test_matrices_of_scipy_and_numpy(tmp_path):
    A = scipy.sparse.csr_array(networkx.to_numpy_array(town()))
    scipy.sparse.save_npz(tmp_path / "a.npz", A)
    scipy.io.mmwrite(tmp_path / "a.mtx", A)
    np.save(tmp_path / "a.npy", A.toarray())
    u, v = np.nonzero(A.toarray())
    np.savez(tmp_path / "e.npz", edge_index=np.stack([u, v]), edge_weight=A.toarray()[u, v], x=np.eye(4)[:, :2], y=np.array([1, 0, 1, 0]), train_mask=np.array([1, 0, 0, 1], bool))
    for name in ("a.npz", "a.mtx", "a.npy", "e.npz"):
        found = mochi.graph(tmp_path / name).to_scipy()
        np.testing.assert_array_equal(found.toarray(), A.toarray().astype("f4"))
    g = mochi.graph(tmp_path / "e.npz")
    assert g.x.tolist() == np.eye(4)[:, :2].tolist() and g.y.tolist() == [1, 0, 1, 0] and g.division("train").tolist() == [True, False, False, True]
    np.savez(tmp_path / "far.npz", edge_index=np.array([[0], [9]]), num_nodes=np.array(4))
    with pytest.raises(mochi.errors.FormatError, match=r"far\.npz: expected ends of edges 0\.\.3"):
        mochi.graph(tmp_path / "far.npz")


def test_tables_of_edges_with_further_columns(tmp_path):
    rows = [("zoe", "ann", "Undirected", 0, "", 2.5), ("ann", "bob", "Undirected", 1, "", 1.0), ("cat", "zoe", "Undirected", 2, "", 4.0)]
    table = pandas.DataFrame(rows, columns=["Source", "Target", "Type", "Id", "Label", "Weight"])
    table.to_csv(tmp_path / "gephi.csv", index=False)
    told(tmp_path / "gephi.csv", classes=False)
    table.rename(columns={"Source": "from", "Target": "to", "Weight": "weight"}).to_csv(tmp_path / "pandas.csv")  # with its index
    told(tmp_path / "pandas.csv", classes=False)
    (tmp_path / "bad.csv").write_text("source,target,type,weight\na,b,x,1\nb,c,x,heavy\n")
    with pytest.raises(mochi.errors.FormatError, match=r"bad\.csv:3: expected a number in column 'weight', found 'heavy'"):
        mochi.graph(tmp_path / "bad.csv")


def test_released_data_sets(tmp_path):
    linqs = tmp_path / "linqs"
    linqs.mkdir()
    (linqs / "p.content").write_text("31\t0\t1\tTheory\n4\t1\t0\tGenetic\n1033\t1\t1\tTheory\n")
    (linqs / "p.cites").write_text("31\t4\n1033\t31\n99\t31\n")
    g = mochi.graph(linqs)
    assert g.names == [4, 31, 1033] and g.edges == 2 and g.classes.tolist() == ["Genetic", "Theory"] and g.y.tolist() == [0, 1, 1]
    assert g.x.tolist() == [[1, 0], [0, 1], [1, 1]]

    musae = tmp_path / "musae"
    musae.mkdir()
    (musae / "m_edges.csv").write_text("id_1,id_2\n0,10\n10,2\n")
    (musae / "m_features.json").write_text('{"0": [3], "2": [0, 3], "10": []}')
    (musae / "m_target.csv").write_text("id,page_name,page_type\n0,a,tvshow\n10,b,company\n2,c,tvshow\n")
    g = mochi.graph(musae)
    assert g.names == [0, 2, 10] and g.classes.tolist() == ["company", "tvshow"] and g.y.tolist() == [1, 1, 0]
    assert g.x.tolist() == [[0, 0, 0, 1], [1, 0, 0, 1], [0, 0, 0, 0]]

    (tmp_path / "0.edges").write_text("1 12\n12 1\n")
    (tmp_path / "0.feat").write_text("1 0 1\n12 1 1\n")
    (tmp_path / "0.egofeat").write_text("1 0\n")
    g = mochi.graph(tmp_path / "0.edges")
    assert g.names == [0, 1, 12] and g.edges == 3 and g.x.tolist() == [[1, 0], [0, 1], [1, 1]]

    (tmp_path / "lists.txt").write_text("2\n2 7\n0 1 1\n5 1 0\n1 3\n0 0\n")
    g = mochi.graph(tmp_path / "lists.txt")
    assert g.graphs == 2 and g.classes.tolist() == [3, 7] and g.y.tolist() == [1, 0] and g.x.tolist() == [[1, 0], [0, 1], [1, 0]]

    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "train.txt").write_text("0 0 2\n1 1\n")
    (shop / "test.txt").write_bytes(b"1 2\n")
    assert mochi.graph(shop).edges == 4 and mochi.graph(shop / "train.txt").nodes == 5

    ogb = tmp_path / "ogb"
    ogb.mkdir()
    for name, text in (("edge", "0,1\n1,2\n"), ("num-node-list", "3\n"), ("node-label", "1\n0\n1\n"), ("node-feat", "1,0\n0,2\n0,0\n")):
        with gzip.open(ogb / f"{name}.csv.gz", "wt") as file:
            file.write(text)
    g = mochi.graph(ogb)
    assert g.edges == 2 and g.y.tolist() == [1, 0, 1] and g.x.tolist() == [[1, 0], [0, 2], [0, 0]]


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("l.txt", "1\n2 0\n0 1 1\n", "expected a tag and its neighbours"), ("l.txt", "1\n1 0\n0 1 4\n", "neighbours 0"),
        ("train.txt", "0 x\n", "train.txt:1: expected whole numbers"), ("j.json", "{}", "expected the lists nodes"),
        ("m.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n", "square"),
    ],
)  # fmt: skip
def test_damaged_files_are_refused_by_name(tmp_path, name, text, match):
    (tmp_path / name).write_text(text)
    with pytest.raises(mochi.errors.FormatError, match=match):
        mochi.graph(tmp_path / name)


def test_the_command_writes_what_the_program_reads(tmp_path):
    networkx.write_gml(town(), tmp_path / "town.gml")
    folder = mochi.convert.__path__[0]
    for how in (["-m", "mochi.convert"], [folder]):
        out = tmp_path / "out.npz"
        out.unlink(missing_ok=True)
        subprocess.run([sys.executable, "-B", *how, tmp_path / "town.gml", out], check=True)
        told(out)
        (tmp_path / "words.txt").write_text("a b\n")
        failed = subprocess.run([sys.executable, "-B", *how, tmp_path / "words.txt", out.with_name("none.npz")], capture_output=True, text=True)
        assert failed.returncode == 1 and failed.stderr.startswith("mochi.convert: ") and not out.with_name("none.npz").exists()
    assert subprocess.run([sys.executable, "-m", "mochi.convert"], capture_output=True).returncode == 1


SHARED = pathlib.Path(os.environ.get("MOCHI_SHARED", pathlib.Path(__file__).parents[3] / "shared")) / "data"


@pytest.mark.parametrize(
    ("path", "graphs", "nodes", "edges", "classes"),
    [
        ("classics/football.gml", 1, 115, 613, [9, 8, 11, 12, 10, 5, 13, 8, 10, 12, 7, 10]), ("classics/polbooks.gml", 1, 105, 441, [49, 43, 13]),
        ("classics/dolphins.gml", 1, 62, 159, []), ("classics/lesmis.gml", 1, 77, 254, []), ("gowalla", 1, 70839, 1027370, []),
        ("tu/REDDIT-BINARY/REDDIT-BINARY.txt.gz", 2000, 859254, 995508, [1000, 1000]),
    ],
)  # fmt: skip
def test_published_graphs_have_their_known_counts(path, graphs, nodes, edges, classes):
    if not (SHARED / path).exists():
        pytest.skip(f"no {path} in MOCHI_SHARED")
    g = mochi.graph(SHARED / path)
    assert (g.graphs, g.nodes, g.edges) == (graphs, nodes, edges)
    assert ([] if g.y is None else np.bincount(g.y).tolist()) == classes
