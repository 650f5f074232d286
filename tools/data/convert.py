#!/usr/bin/env python3
"""Converts files that mochi cannot read to files that it can: other formats of graphs become .npz.

    convert.py graph SOURCE OUT.npz          GraphML, node-link JSON, a folder of them (a set); an adjacency .mtx
    convert.py features FILE.mtx OUT.npy     Matrix Market, the features of a folder of tables
    convert.py planetoid FOLDER OUT.npz      ind.NAME.x, .y, .tx, .ty, .allx, .ally, .graph, .test.index
    convert.py anygraph FOLDER OUT.npz       trn_mat.pkl and, if there, feats.pkl
    convert.py ogb FOLDER OUT.npz            raw/ of an OGB node or link data set: edge.csv.gz, node-feat.csv.gz, ..
    convert.py cstag FILE.csv OUT.npz        columns node_id, label, neighbour

Pickles are read as data: any name beyond those of arrays, matrices and containers is an error (unpickle.py). Needs NumPy; for
GraphML networkx too, for .mtx SciPy. A file appears whole or not at all; equal input gives equal bytes.
"""

import csv
import json
import os
import pathlib
import sys

try:
    import numpy
except ImportError:
    # The first python3 in PATH need not be Debian's, which has the package.
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", "-B", *sys.argv])
    sys.exit("convert.py: expected the Python package numpy, found none: apt-get install python3-numpy, or pip install numpy")

import attributed
import unpickle
from graph_npz import adjacency_members, feature_members, write_npz, write_whole
from unpickle import Refused


def require(condition, path, expected, found):
    if not condition:
        raise Refused(f"{path}: expected {expected}, found {found}")


# ---- pickles ----

def unpickled(path, allowed):
    try:
        with open(path, "rb") as file:
            found = unpickle.load(file, allowed)
    except Refused as error:
        raise Refused(f"{path}: {error}") from error
    return found.values if isinstance(found, unpickle.Array) else found


def entries(path, matrix):
    """Shape, and the row, column and value of each entry of a sparse matrix."""
    require(isinstance(matrix, unpickle.Sparse), path, "a sparse matrix", type(matrix).__name__)
    state = vars(matrix)
    try:
        shape, value = tuple(map(int, state.get("_shape") or state["shape"])), state["data"].values
        row, column = (part.values for part in state.get("coords") or (state.get("row") or state["indptr"], state.get("col") or state["indices"]))
        if "indptr" in state:
            row = numpy.repeat(numpy.arange(shape[0]), numpy.diff(row))
        whole = len(row) == len(column) == len(value) and all(
            ((0 <= part) & (part < n)).all() for part, n in zip((row, column), shape, strict=True))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Refused(f"{path}: expected a whole sparse matrix, found another ({error!r})") from error
    require(whole, path, f"entries in {shape[0]} x {shape[1]}", "others")
    return shape, row, column, value


def one_hot(path, table):
    """Returns the class of every one-hot row; -1 for a row of zeros."""
    require(isinstance(table, numpy.ndarray) and table.ndim == 2, path, "a table of one-hot rows", type(table).__name__)
    require(((table == 0) | (table == 1)).all() and (table.sum(1) <= 1).all(), path, "one-hot rows", "others")
    return numpy.where(table.any(1), table.argmax(1), -1)


def planetoid(folder, out):
    """Row i of allx is node i, row k of tx is node test.index[k]; a node in neither has no features and no class."""
    graphs = [*pathlib.Path(folder).glob("ind.*.graph")]
    require(len(graphs) == 1, folder, "one file ind.NAME.graph", len(graphs))
    path = {key: graphs[0].with_suffix("." + key) for key in ("allx", "tx", "ally", "ty", "y", "graph", "test.index")}
    part = {key: unpickled(of_key, unpickle.PLANETOID) for key, of_key in path.items() if key != "test.index"}
    test = numbers(path["test.index"], int)[:, 0]
    (known, columns), *of_known = entries(path["allx"], part["allx"])
    (tested, test_columns), row, column, value = entries(path["tx"], part["tx"])
    known_class, test_class = one_hot(path["ally"], part["ally"]), one_hot(path["ty"], part["ty"])
    trained = len(one_hot(path["y"], part["y"]))
    require(isinstance(part["graph"], dict), path["graph"], "lists of neighbours by node", type(part["graph"]).__name__)
    nodes = len(part["graph"])
    require(columns == test_columns, path["tx"], f"{columns} columns", test_columns)
    require(trained <= known == len(known_class) <= nodes, path["ally"], f"{known} rows, at most {nodes}, of them the {trained} of y",
            len(known_class))
    require(len(test_class) == tested == len(set(test)) == len(test), path["ty"], f"{len(test)} rows", len(test_class))
    require(((known <= test) & (test < nodes)).all(), path["test.index"], f"nodes {known}..{nodes - 1}", "others")
    ends = [(u, v) for u, list_of_u in part["graph"].items() for v in list_of_u]
    require(all(isinstance(x, int) and 0 <= x < nodes for x in (x for end in ends for x in end)), path["graph"], f"nodes 0..{nodes - 1}", "others")
    label = numpy.full(nodes, -1, "<i8")
    label[:known], label[test] = known_class, test_class
    both = (numpy.concatenate(pair) for pair in zip(of_known, (test[row], column, value)))
    # The public split: training nodes are the rows of x, validation nodes the 500 after them, test nodes the rows of
    # tx.
    division = {"idx_train": numpy.arange(trained), "idx_val": numpy.arange(trained, min(trained + 500, known)), "idx_test": numpy.sort(test)}
    write_npz(out, {**adjacency_members(nodes, *zip(*ends)), **feature_members((nodes, columns), *both), "labels": label, **division})


def anygraph(folder, out):
    """Converts a square matrix to a graph on its rows, any other matrix to a graph of users (rows), then items
    (columns)."""
    path = pathlib.Path(folder) / "trn_mat.pkl"
    (rows, columns), row, column, value = entries(path, unpickled(path, unpickle.MATRICES))
    shift = 0 if rows == columns else rows
    nodes = shift + columns
    members = adjacency_members(nodes, row[value != 0], column[value != 0] + shift)
    path = pathlib.Path(folder) / "feats.pkl"
    if path.exists():
        table = unpickled(path, unpickle.MATRICES)
        require(isinstance(table, numpy.ndarray) and table.ndim == 2 and len(table) <= nodes, path, f"a table of at most {nodes} rows",
                getattr(table, "shape", type(table).__name__))
        row, column = numpy.indices(table.shape).reshape(2, -1)
        # AnyGraph's own program pads missing rows with zeros too.
        members.update(feature_members((nodes, table.shape[1]), row, column, table.ravel()))
    write_npz(out, members)


# ---- tables ----

def numbers(path, dtype):
    """The numbers of a .csv or .csv.gz, one row per line."""
    path = path if path.exists() else path.with_name(path.name + ".gz")
    try:
        return numpy.loadtxt(path, dtype, comments=None, delimiter=",", ndmin=2)
    except ValueError as error:
        raise Refused(f"{path}: expected numbers between commas, found other text ({error})") from error


def ogb(folder, out):
    folder = pathlib.Path(folder)
    counts = numbers(folder / "num-node-list.csv", int)
    require(counts.shape == (1, 1), folder, "one graph", len(counts))
    nodes, ends = int(counts[0, 0]), numbers(folder / "edge.csv", int)
    outside = [*numpy.flatnonzero(((ends < 0) | (ends >= nodes)).any(1) | (ends.shape[1] != 2))]
    require(not outside, f"{folder}/edge.csv:{1 + sum(outside[:1])}", f"two nodes 0..{nodes - 1}", ends[outside[0]].tolist() if outside else "")
    members = adjacency_members(nodes, *ends.T)
    for name, dtype in (("node-feat.csv", numpy.float64), ("node-label.csv", int)):
        if not any((folder / (name + ending)).exists() for ending in ("", ".gz")):
            continue
        table = numbers(folder / name, dtype)
        require(len(table) == nodes, folder / name, f"{nodes} rows", len(table))
        row, column = numpy.indices(table.shape).reshape(2, -1)
        members.update({"labels": table[:, 0]} if dtype is int else feature_members(table.shape, row, column, table.ravel()))
    write_npz(out, members)


def cstag(path, out):
    csv.field_size_limit(1 << 30)
    label, ends = {}, []
    with open(path, newline="") as lines:
        for i, row in enumerate(csv.DictReader(lines), 2):
            try:
                node, neighbours = int(row["node_id"]), json.loads(row["neighbour"])
                label[node] = int(row["label"])
                ends += [(node, int(v)) for v in neighbours]
            except (KeyError, TypeError, ValueError) as error:
                raise Refused(f"{path}: row {i}: expected node_id, label and a list of nodes as neighbour, found others ({error!r})") from error
    nodes = len(label)
    require(label and set(label) == set(range(nodes)), path, f"nodes 0..{nodes - 1}, each once", "others")
    require(all(0 <= v < nodes for _, v in ends), path, f"neighbours 0..{nodes - 1}", "others")
    _, classes = numpy.unique([label[v] for v in range(nodes)], return_inverse=True)
    write_npz(out, {**adjacency_members(nodes, *zip(*ends)), "labels": classes})


# ---- graphs of other programs ----

def graph(source, out):
    source = pathlib.Path(source)
    if source.name.endswith((".mtx", ".mtx.gz")):
        write_npz(out, attributed.matrix_members(source))
    elif source.is_dir() or source.name.endswith(attributed.SUFFIXES):
        write_npz(out, attributed.graph_members(source))
    else:
        raise Refused(f"{source}: expected a folder, or a file {', '.join(attributed.SUFFIXES)}, .mtx or .mtx.gz")


def features(path, out):
    X = attributed.matrix_features(path)
    write_whole(out, lambda file: numpy.save(file, X, allow_pickle=False))


COMMANDS = {"graph": graph, "features": features, "planetoid": planetoid, "anygraph": anygraph, "ogb": ogb, "cstag": cstag}


def main(arguments):
    if len(arguments) != 3 or arguments[0] not in COMMANDS:
        sys.exit(__doc__)
    try:
        COMMANDS[arguments[0]](arguments[1], arguments[2])
    except ModuleNotFoundError as error:
        sys.exit(f"convert.py: {arguments[0]} {arguments[1]} needs {error.name}: pip install {error.name}")
    except (Refused, OSError, EOFError) as error:
        sys.exit(f"convert.py: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
