#!/usr/bin/env python3
"""Makes the files that mochi reads of those that it does not: other forms of graphs become .npz, .pt becomes safetensors.

    convert.py graph SOURCE OUT.npz          GraphML, node-link JSON, a folder of them (a set); an adjacency .mtx
    convert.py features FILE.mtx OUT.npy     Matrix Market, the features of a folder of tables
    convert.py planetoid FOLDER OUT.npz      ind.NAME.x, .y, .tx, .ty, .allx, .ally, .graph, .test.index
    convert.py anygraph FOLDER OUT.npz       trn_mat.pkl and, if there, feats.pkl
    convert.py ogb FOLDER OUT.npz            raw/ of an OGB node or link data set: edge.csv.gz, node-feat.csv.gz, ..
    convert.py cstag FILE.csv OUT.npz        columns node_id, label, neighbour
    convert.py weights IN.pt OUT.safetensors a state dict; names stay as they are
    convert.py free BEST OUT.safetensors     those weights with nothing learned: first values, and s^0.75 of attributes

Pickles are read as data: a name that arrays, matrices, containers and tensors do not need is an error (unpickle.py). All
but `graph` of GraphML (networkx) and .mtx (SciPy) need the standard library alone. A file appears whole or not at all; equal input gives equal bytes.
"""

import array
import csv
import gzip
import json
import pathlib
import struct
import sys

import attributed
import unpickle
from graph_npz import Features, sorted_rows, write_npz, write_whole
from unpickle import Refused


# ---- pickles ----

def unpickled(path, allowed):
    try:
        with open(path, "rb") as file:
            return unpickle.load(file, allowed)
    except Refused as error:
        raise Refused(f"{path}: {error}") from error


def require(condition, path, expected, found):
    if not condition:
        raise Refused(f"{path}: expected {expected}, found {found}")


def kind(value):
    return type(value).__name__


def csr_rows(path, matrix):
    """Shape, and the rows as (columns, values)."""
    require(isinstance(matrix, unpickle.Csr), path, "a CSR matrix", kind(matrix))
    state = matrix.__dict__
    parts = [state.get(key) for key in ("indptr", "indices", "data")]
    require(all(isinstance(p, unpickle.Array) for p in parts), path, "indptr, indices and data", sorted(state))
    pointer, indices, data = (p.values for p in parts)
    shape = tuple(int(n) for n in state.get("_shape", state.get("shape", ())))
    require(len(shape) == 2 and len(pointer) == shape[0] + 1 and len(indices) == len(data), path, "a whole CSR matrix",
            f"shape {shape}, {len(pointer)} pointers")
    rows = []
    for i in range(shape[0]):
        require(0 <= pointer[i] <= pointer[i + 1] <= len(data), path, "pointers that rise", pointer[i + 1])
        rows.append((indices[pointer[i]:pointer[i + 1]], data[pointer[i]:pointer[i + 1]]))
    return shape, rows


def one_hot(path, table):
    """The class of every row; -1 where a row has none."""
    require(isinstance(table, unpickle.Array) and len(table.shape) == 2, path, "a table of one-hot rows", kind(table))
    rows, columns = table.shape
    classes = []
    for i in range(rows):
        row = table.values[i * columns:(i + 1) * columns]
        require(sum(row) in (0, 1) and set(row) <= {0, 1}, path, "one-hot rows", f"row {i}: {list(row)[:8]}")
        classes.append(row.index(1) if 1 in row else -1)
    return classes


def planetoid(folder, out):
    """Row i of allx is node i; row k of tx is node test.index[k]. Nodes of neither have no features and no class."""
    folder = pathlib.Path(folder)
    names = [p.name[len("ind."):-len(".graph")] for p in folder.glob("ind.*.graph")]
    require(len(names) == 1, folder, "one file ind.NAME.graph", len(names))

    def part(key):
        return folder / f"ind.{names[0]}.{key}"

    path = part("test.index")
    try:
        test = [int(line) for line in path.read_text().split()]
    except ValueError as error:
        raise Refused(f"{path}: expected one node per line, found other text ({error})") from error
    (_, columns), known = csr_rows(part("allx"), unpickled(part("allx"), unpickle.PLANETOID))
    (_, test_columns), tested = csr_rows(part("tx"), unpickled(part("tx"), unpickle.PLANETOID))
    known_class = one_hot(part("ally"), unpickled(part("ally"), unpickle.PLANETOID))
    test_class = one_hot(part("ty"), unpickled(part("ty"), unpickle.PLANETOID))
    neighbours = unpickled(part("graph"), unpickle.PLANETOID)
    require(isinstance(neighbours, dict), part("graph"), "lists of neighbours by node", kind(neighbours))
    nodes = len(neighbours)
    require(columns == test_columns, part("tx"), f"{columns} columns", test_columns)
    require(len(known_class) == len(known), part("ally"), f"{len(known)} rows", len(known_class))
    require(len(test_class) == len(tested) == len(test), part("ty"), f"{len(test)} rows", len(test_class))
    row, label = [((), ())] * nodes, [-1] * nodes
    require(len(known) <= nodes, part("allx"), f"at most {nodes} rows", len(known))
    for node, (features, of_class) in enumerate(zip(known, known_class)):
        row[node], label[node] = features, of_class
    for node, features, of_class in zip(test, tested, test_class):
        require(len(known) <= node < nodes, path, f"nodes {len(known)}..{nodes - 1}", node)
        row[node], label[node] = features, of_class
    ends = [(u, v) for u, list_of_u in neighbours.items() for v in list_of_u]
    require(all(isinstance(u, int) and isinstance(v, int) and 0 <= u < nodes and 0 <= v < nodes for u, v in ends),
            part("graph"), f"nodes 0..{nodes - 1}", "others")
    features = Features(columns)
    for columns_of_row, values in row:
        features.add(columns_of_row, values)
    # The public split: the rows of x, the 500 nodes behind them, and the nodes of tx.
    trained = len(one_hot(part("y"), unpickled(part("y"), unpickle.PLANETOID)))
    require(trained <= len(known), part("y"), f"at most {len(known)} rows", trained)
    division = {"idx_train": range(trained), "idx_val": range(trained, min(trained + 500, len(known))),
                "idx_test": sorted(set(test))}
    write_npz(out, {**sorted_rows(nodes, *zip(*ends)), **features.members(), "labels": array.array("q", label),
                    **{key: array.array("q", nodes_of) for key, nodes_of in division.items()}})


def coo_entries(path, matrix):
    """Shape, rows and columns of the entries that are not 0."""
    if isinstance(matrix, unpickle.Csr):
        shape, rows = csr_rows(path, matrix)
        entries = [(i, c) for i, (columns, values) in enumerate(rows) for c, x in zip(columns, values) if x != 0]
        return shape, entries
    require(isinstance(matrix, unpickle.Coo), path, "a sparse matrix", kind(matrix))
    state = matrix.__dict__
    coords = state.get("coords", (state.get("row"), state.get("col")))
    shape = tuple(int(n) for n in state.get("_shape", state.get("shape", ())))
    arrays = [*coords, state.get("data")]
    require(len(shape) == 2 and len(arrays) == 3 and all(isinstance(a, unpickle.Array) for a in arrays) and
            len({len(a.values) for a in arrays}) == 1, path, "rows, columns and values of equal number", sorted(state))
    row, column, data = (a.values for a in arrays)
    return shape, [(u, v) for u, v, x in zip(row, column, data) if x != 0]


def anygraph(folder, out):
    """A square matrix is a graph; any other has users as rows and items as columns, which come behind the users."""
    path = pathlib.Path(folder) / "trn_mat.pkl"
    (rows, columns), entries = coo_entries(path, unpickled(path, unpickle.MATRICES))
    shift = 0 if rows == columns else rows
    nodes = rows if rows == columns else rows + columns
    require(all(0 <= u < rows and 0 <= v < columns for u, v in entries), path, f"entries in {rows} x {columns}", "others")
    members = sorted_rows(nodes, [u for u, _ in entries], [v + shift for _, v in entries])
    path = pathlib.Path(folder) / "feats.pkl"
    if path.exists():
        table = unpickled(path, unpickle.MATRICES)
        require(isinstance(table, unpickle.Array) and len(table.shape) == 2 and table.shape[0] <= nodes, path,
                f"a table of at most {nodes} rows", getattr(table, "shape", kind(table)))
        features, width = Features(table.shape[1]), table.shape[1]
        for i in range(nodes):  # the program behind these files pads with zeros too
            features.add(range(width), table.values[i * width:(i + 1) * width])
        members.update(features.members())
    write_npz(out, members)


# ---- tables ----

def table_rows(path, number):
    """The lines of a .csv or .csv.gz as lists of numbers."""
    path = path if path.exists() else path.with_name(path.name + ".gz")
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path)
    with opened as lines:
        for i, line in enumerate(lines, 1):
            try:
                yield [number(x) for x in line.split(",")]
            except ValueError as error:
                raise Refused(f"{path}:{i}: expected numbers between commas, found other text ({error})") from error


def ogb(folder, out):
    folder = pathlib.Path(folder)
    counts = [row[0] for row in table_rows(folder / "num-node-list.csv", int)]
    require(len(counts) == 1, folder, "one graph", len(counts))
    nodes, ends = counts[0], []
    for i, row in enumerate(table_rows(folder / "edge.csv", int), 1):
        require(len(row) == 2 and all(0 <= end < nodes for end in row), f"{folder}/edge.csv:{i}",
                f"two nodes 0..{nodes - 1}", row)
        ends.append(row)
    members = sorted_rows(nodes, [u for u, _ in ends], [v for _, v in ends])
    if any((folder / f"node-feat.csv{ending}").exists() for ending in ("", ".gz")):
        features = None
        for i, row in enumerate(table_rows(folder / "node-feat.csv", float), 1):
            features = features or Features(len(row))
            require(len(row) == features.columns, f"{folder}/node-feat.csv:{i}", f"{features.columns} values", len(row))
            features.add(range(len(row)), row)
        rows = len(features.pointer) - 1 if features else 0
        require(rows == nodes, folder / "node-feat.csv", f"{nodes} rows", rows)
        members.update(features.members())
    if any((folder / f"node-label.csv{ending}").exists() for ending in ("", ".gz")):
        label = [row[0] for row in table_rows(folder / "node-label.csv", int)]
        require(len(label) == nodes, folder / "node-label.csv", f"{nodes} rows", len(label))
        members["labels"] = array.array("q", label)
    write_npz(out, members)


def cstag(path, out):
    csv.field_size_limit(1 << 30)
    label, ends = {}, []
    with open(path, newline="") as lines:
        for i, row in enumerate(csv.DictReader(lines), 2):
            try:
                node, neighbours = int(row["node_id"]), json.loads(row["neighbour"])
                label[node] = int(row["label"])
            except (KeyError, TypeError, ValueError) as error:
                raise Refused(f"{path}: row {i}: expected node_id, label and neighbour, found others ({error!r})") from error
            require(isinstance(neighbours, list) and all(isinstance(v, int) for v in neighbours), f"{path}: row {i}",
                    "a list of nodes as neighbour", row["neighbour"][:40])
            ends += [(node, v) for v in neighbours]
    nodes = len(label)
    require(nodes > 0 and all(0 <= v < nodes for v in label), path, f"nodes 0..{nodes - 1}, each once", "others")
    require(all(0 <= v < nodes for _, v in ends), path, f"neighbours 0..{nodes - 1}", "others")
    distinct = {value: k for k, value in enumerate(sorted(set(label.values())))}
    labels = array.array("q", [distinct[label[v]] for v in range(nodes)])
    write_npz(out, {**sorted_rows(nodes, [u for u, _ in ends], [v for _, v in ends]), "labels": labels})


# ---- weights ----

def weights(path, out):
    try:
        state = unpickle.load_state_dict(path)
    except Refused as error:
        raise Refused(f"{path}: {error}") from error
    write_safetensors(out, state, {})


def write_safetensors(out, state, header):
    """Tensors (type, shape, bytes) by name behind a header that may hold __metadata__."""
    at = 0
    for name in sorted(state):
        code, shape, data = state[name]
        header[name] = {"dtype": code, "shape": list(shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)

    def write(file):
        file.write(struct.pack("<Q", len(text)) + text)
        for name in sorted(state):
            file.write(state[name][2])
    write_whole(out, write)


def free(best, out):
    """The encoder of the recipe best before its first step (models/invariant.c), but for one number by hand: nodes'
    attributes are weighed by their singular values to the power 0.75."""
    with open(best, "rb") as file:
        about = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))["__metadata__"]
    about = {key: value for key, value in about.items() if key != "pool" and not key.startswith("xxh3_")}
    values = {"hop": [[0, 0, 1, 1]] * 2, "profile": [[0, 0], [0.75, 0]], "diffused": [[0, 0]] * 2,
              "log_weight": [[-0.5, 0.5, -2], [-0.5, 0.5, 0.5], [-0.5, 0.5, -0.5]], "set_log_weight": [[0, 0, 0]]}
    state = {}
    for name, rows in values.items():
        flat = array.array("f", [x for row in rows for x in row])
        shape = [len(rows[0])] if name == "set_log_weight" else [len(rows), len(rows[0])]
        state["encoder." + name] = ("F32", shape, flat.tobytes())
    write_safetensors(out, state, {"__metadata__": about | {"recipe": "free", "pool": "[]"}})


# ---- graphs of other programs ----

def graph(source, out):
    source = pathlib.Path(source)
    if source.name.endswith((".mtx", ".mtx.gz")):
        write_npz(out, attributed.adjacency_members(source))
    elif source.is_dir() or source.name.endswith(attributed.SUFFIXES):
        write_npz(out, attributed.graph_members(source))
    else:
        raise Refused(f"{source}: expected a folder, or a file {', '.join(attributed.SUFFIXES)}, .mtx or .mtx.gz")


def features(path, out):
    write_whole(out, attributed.features_writer(pathlib.Path(path)))


COMMANDS = {"graph": graph, "features": features, "planetoid": planetoid, "anygraph": anygraph, "ogb": ogb, "cstag": cstag, "weights": weights,
            "free": free}


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
