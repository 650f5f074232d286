"""Data sets as they were released: Planetoid, AnyGraph, OGB, CSTAG, LINQS, MUSAE, SNAP's ego networks, and the lists of DGCNN and LightGCN.

Pickles are read as data: any name beyond those of arrays, matrices and containers is an error (unpickle.py).
"""

import csv
import gzip
import json

import numpy

from . import unpickle
from .archive import adjacency_members, feature_members, in_order, named, require, table_members, texts
from .unpickle import Refused

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


def read_planetoid(folder):
    """Row i of allx is node i, row k of tx is node test.index[k]; a node in neither has no features and no class."""
    graphs = [*folder.glob("ind.*.graph")]
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
    return {**adjacency_members(nodes, *zip(*ends)), **feature_members((nodes, columns), *both), "labels": label, **division}


def read_anygraph(folder):
    """Converts a square matrix to a graph on its rows, any other matrix to a graph of users (rows), then items
    (columns)."""
    path = folder / "trn_mat.pkl"
    (rows, columns), row, column, value = entries(path, unpickled(path, unpickle.MATRICES))
    shift = 0 if rows == columns else rows
    nodes = shift + columns
    members = adjacency_members(nodes, row[value != 0], column[value != 0] + shift)
    path = folder / "feats.pkl"
    if path.exists():
        table = unpickled(path, unpickle.MATRICES)
        require(isinstance(table, numpy.ndarray) and table.ndim == 2 and len(table) <= nodes, path, f"a table of at most {nodes} rows",
                getattr(table, "shape", type(table).__name__))
        row, column = numpy.indices(table.shape).reshape(2, -1)
        # AnyGraph's own program pads missing rows with zeros too.
        members.update(feature_members((nodes, table.shape[1]), row, column, table.ravel()))
    return members


# ---- tables ----

def numbers(path, dtype):
    """The numbers of a .csv or .csv.gz, one row per line."""
    path = path if path.exists() else path.with_name(path.name + ".gz")
    try:
        return numpy.loadtxt(path, dtype, comments=None, delimiter=",", ndmin=2)
    except ValueError as error:
        raise Refused(f"{path}: expected numbers between commas, found other text ({error})") from error


def read_ogb(folder):
    """raw/ of an OGB node or link data set: edge.csv.gz, node-feat.csv.gz, node-label.csv.gz."""
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
        members.update({"labels": table[:, 0]} if dtype is int else table_members(table))
    return members


def read_cstag(path):
    """A table with the columns node_id, label and neighbour."""
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
    return {**adjacency_members(nodes, *zip(*ends)), "labels": classes}


# ---- lists ----


def _opened(path):
    """The lines of a text, plain or gzipped, each as its words, with their numbers from 1; blank lines are left out."""
    if path.name.endswith(".gz"):
        data = gzip.decompress(path.read_bytes())
    else:
        data = path.read_bytes()
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise Refused(f"{path}: expected text in UTF-8 ({error})") from error
    return [(i, line.split()) for i, line in enumerate(lines, 1) if line.strip()]


def _whole(path, line, words, least=0):
    try:
        found = [int(word) for word in words]
    except ValueError:
        found = [least - 1]
    require(min(found, default=least) >= least, f"{path}:{line}", "whole numbers of 0 or more", " ".join(words[:4]))
    return found


def _is_lists(path):
    """The first line of DGCNN's lists is the number of graphs alone."""
    if not path.is_file() or not path.name.removesuffix(".gz").endswith(".txt"):
        return False
    try:
        with (gzip.open(path, "rt") if path.name.endswith(".gz") else open(path)) as lines:
            words = lines.readline().split()
    except (OSError, UnicodeDecodeError, EOFError):
        return False
    return len(words) == 1 and words[0].isascii() and words[0].isdigit()


def read_lists(path):
    """The number of graphs; for each a line `n class` and n lines `tag degree neighbour ..`; tags are one-hot features."""
    lines = _opened(path)
    count, at, start, classes, tags, ends = _whole(path, *lines[0])[0], 1, [0], [], [], []
    for _ in range(count):
        require(at < len(lines) and len(lines[at][1]) == 2, f"{path}:{lines[min(at, len(lines) - 1)][0]}", "the nodes of a graph and its class", "none")
        line, (nodes, label) = lines[at]
        (nodes,), (label,) = _whole(path, line, [nodes]), _whole(path, line, [label], -(2**53))  # a class may be negative
        at += 1
        for u in range(nodes):
            line, words = lines[at] if at < len(lines) else (lines[-1][0] + 1, [])
            tag, degree, *near = _whole(path, line, words) if len(words) > 1 else (0, -1)
            require(degree == len(near) and all(v < nodes for v in near), f"{path}:{line}", f"a tag and its neighbours 0..{nodes - 1}, as many as told", " ".join(words[:6]))
            tags.append(tag)
            ends += [(start[-1] + u, start[-1] + v) for v in near]
            at += 1
        start.append(start[-1] + nodes)
        classes.append(label)
    require(at == len(lines), f"{path}:{lines[min(at, len(lines) - 1)][0]}", "the end after the last graph", "more")
    kinds, kind = numpy.unique(tags, return_inverse=True)
    members = adjacency_members(start[-1], *numpy.array(ends, int).reshape(-1, 2).T)
    if len(kinds) > 1:
        members.update(feature_members((start[-1], len(kinds)), numpy.arange(start[-1]), kind, numpy.ones(start[-1])))
    known, label = numpy.unique(classes, return_inverse=True)
    return {**members, "graph_offset": numpy.array(start, "<i8"), "labels": label.astype("<i8"), **named("class_names", known.tolist())}


def _interactions(path):
    return [p for name in ("train.txt", "test.txt") for p in (path / name, path / (name + ".gz")) if p.is_file()] if path.is_dir() else [path]


def _is_interactions(path):
    names = ("train.txt", "test.txt", "train.txt.gz", "test.txt.gz")
    return bool(_interactions(path)) if path.is_dir() else path.is_file() and path.name in names


def read_interactions(path):
    """Lines `user item item ..` of LightGCN, of train.txt and test.txt together; item i becomes node users + i."""
    pairs = [(line[0], item) for file in _interactions(path) for i, words in _opened(file) for line in [_whole(file, i, words)] for item in line[1:]]
    require(pairs, path, "lines `user item item ..`", "none")
    user, item = numpy.array(pairs).T
    users, items = int(user.max()) + 1, int(item.max()) + 1
    require(users + items <= (1 << 20) + 1000 * len(pairs), path, "users and items numbered without wide gaps", users + items)
    return adjacency_members(users + items, user, item + users)


# ---- folders of LINQS, MUSAE and SNAP ----


def _only(folder, pattern):
    found = sorted(folder.glob(pattern))
    return found[0] if len(found) == 1 else None


def _is_linqs(folder):
    return folder.is_dir() and bool(_only(folder, "*.content")) and bool(_only(folder, "*.cites"))


def read_linqs(folder):
    """NAME.content: lines `id word word .. class`; NAME.cites: lines `cited citing`. Edges to papers without a line are left out."""
    content, cites = _only(folder, "*.content"), _only(folder, "*.cites")
    rows = {}
    for i, words in _opened(content):
        require(len(words) > 2 and words[0] not in rows, f"{content}:{i}", "a paper of its own, its words and its class", " ".join(words[:3]))
        rows[words[0]] = (i, words[1:-1], words[-1])
    names = in_order(rows)
    widths = {len(rows[name][1]) for name in names}
    require(len(widths) == 1, content, "as many words in each line", sorted(widths))
    number = {name: i for i, name in enumerate(names)}
    ends = [[number[end] for end in words] for i, words in _opened(cites) if len(words) == 2 and all(end in number for end in words)]
    try:
        table = numpy.array([[float(word) for word in rows[name][1]] for name in names])
    except ValueError as error:
        raise Refused(f"{content}: expected numbers between the paper and its class ({error})") from error
    known, label = numpy.unique([rows[name][2] for name in names], return_inverse=True)
    return {
        **adjacency_members(len(names), *numpy.array(ends, int).reshape(-1, 2).T), **table_members(table), **named("names", names),
        "labels": label.astype("<i8"), "class_names_text": texts(known.tolist()),
    }  # fmt: skip


MUSAE_CLASSES = ("page_type", "ml_target", "mature", "target")  # the columns that hold a node's class


def _is_musae(folder):
    return folder.is_dir() and bool(_only(folder, "*edges.csv")) and bool(_only(folder, "*features.json") or _only(folder, "*target.csv"))


def _table(path):
    with open(path, newline="", encoding="utf-8-sig") as lines:
        rows = list(csv.DictReader(lines))
    require(rows, path, "a header and rows", "none")
    return rows


def read_musae(folder):
    """NAME_edges.csv; NAME_features.json: the columns that a node has; NAME_target.csv: its class."""
    path = _only(folder, "*edges.csv")
    ends = [list(row.values())[:2] for row in _table(path)]
    features = json.loads(_only(folder, "*features.json").read_text()) if _only(folder, "*features.json") else {}
    target, classes, keys = _only(folder, "*target.csv"), {}, {}
    if target:
        rows = _table(target)
        column = next((name for name in MUSAE_CLASSES if name in rows[0]), None)
        key = next((name for name in ("new_id", "id", "node", "numeric_id") if name in rows[0]), None)
        require(column and key, target, f"columns id and one of {', '.join(MUSAE_CLASSES)}", ", ".join(rows[0]))
        classes = {row[key]: row[column] for row in rows}
    nodes = in_order([*classes, *features, *(end for pair in ends for end in pair)])
    number = {name: i for i, name in enumerate(nodes)}
    members = {**adjacency_members(len(nodes), *numpy.array([[number[end] for end in pair] for pair in ends], int).reshape(-1, 2).T), **named("names", nodes)}
    entries = [(number[node], int(column)) for node, columns in features.items() for column in columns]
    if entries:
        row, column = numpy.array(sorted(set(entries))).T
        members.update(feature_members((len(nodes), int(column.max()) + 1), row, column, numpy.ones(len(row))))
    if classes:
        known = sorted({x for x in classes.values() if x})
        of = {x: i for i, x in enumerate(known)}
        members.update({"labels": numpy.array([of.get(classes.get(name), -1) for name in nodes], "<i8"), **named("class_names", known)})
    return members


def _is_ego(path):
    return path.is_file() and path.suffix == ".edges" and path.with_suffix(".feat").is_file()


def read_ego(path):
    """EGO.edges of SNAP: the ego has an edge to every node; EGO.feat and EGO.egofeat are the features."""
    feat, own = path.with_suffix(".feat"), path.with_suffix(".egofeat")
    rows = {words[0]: [float(x) for x in words[1:]] for _, words in _opened(feat)}
    if own.is_file():
        rows[path.stem] = [float(x) for x in _opened(own)[0][1]]
    pairs = [words[:2] for i, words in _opened(path)]
    others = in_order([*(name for name in rows if name != path.stem), *(end for pair in pairs for end in pair)])
    nodes = in_order([path.stem, *others])
    number, width = {name: i for i, name in enumerate(nodes)}, max(map(len, rows.values()), default=0)
    ends = [[number[end] for end in pair] for pair in [*pairs, *((path.stem, other) for other in others)]]
    table = numpy.array([rows.get(name, [0.0] * width) for name in nodes])
    return {**adjacency_members(len(nodes), *numpy.array(ends, int).reshape(-1, 2).T), **table_members(table), **named("names", nodes)}


def _has(*patterns):
    return lambda folder: folder.is_dir() and all(any(folder.glob(pattern)) for pattern in patterns)


def _is_cstag(path):
    if not path.is_file() or path.suffix != ".csv":
        return False
    with open(path, encoding="utf-8", errors="replace") as lines:
        return {"node_id", "label", "neighbour"} <= set(lines.readline().strip().split(","))


FORMS = (
    ("Planetoid (ind.NAME.*)", _has("ind.*.graph", "ind.*.allx"), read_planetoid),
    ("AnyGraph (trn_mat.pkl)", _has("trn_mat.pkl"), read_anygraph),
    ("OGB (raw/)", _has("edge.csv*", "num-node-list.csv*"), read_ogb),
    ("CSTAG", _is_cstag, read_cstag),
    ("LINQS (.content, .cites)", _is_linqs, read_linqs),
    ("MUSAE (edges.csv, features.json, target.csv)", _is_musae, read_musae),
    ("SNAP's ego networks (.edges, .feat)", _is_ego, read_ego),
    ("DGCNN's lists of graphs", _is_lists, read_lists),
    ("LightGCN's interactions (train.txt, test.txt)", _is_interactions, read_interactions),
)
