"""Writes the embedded graphs: train/data/NAME.npz from a folder of data sets (developers only; needs numpy).

    python3 tools/data/convert.py embedded DATA [NAME ...]

DATA is laid out as $MOCHI_DATA. The result has the keys of gnn-benchmark's npz form, cut down: the upper triangle of the
adjacency without loops and repetitions, no *_data where all values are 1, the narrowest integers, deflated; and, for a
set of graphs, graph_offset, with labels one a graph. Equal input gives equal bytes.
"""

import gzip
import io
import pathlib
import sys
import zipfile

import numpy as np

OUT = pathlib.Path(__file__).resolve().parent.parent.parent / "train" / "data"


def narrow(values):
    """The same integers in the narrowest type that the loader reads without widening the file."""
    values = np.asarray(values)
    for dtype in (np.uint8, np.int16, np.uint16, np.int32):
        info = np.iinfo(dtype)
        if values.size == 0 or (values.min() >= info.min and values.max() <= info.max):
            return values.astype(dtype)
    return values.astype(np.int64)


def adjacency(nodes, u, v):
    """Keys adj_*: each undirected edge once, in the row of its lower node."""
    u, v = np.minimum(u, v).astype(np.int64), np.maximum(u, v).astype(np.int64)
    edges = np.unique((u * nodes + v)[u != v])
    counts = np.bincount(edges // nodes, minlength=nodes)
    return {
        "adj_indptr": narrow(np.concatenate([[0], np.cumsum(counts)])),
        "adj_indices": narrow(edges % nodes),
        "adj_shape": narrow([nodes, nodes]),
    }


def from_npz(path):
    source = np.load(path)
    nodes = int(source["adj_shape"][0])
    rows = np.repeat(np.arange(nodes), np.diff(source["adj_indptr"]))
    arrays = adjacency(nodes, rows, source["adj_indices"])
    for key in ("attr_indptr", "attr_indices", "attr_shape", "labels", "idx_unlabelled"):
        if key in source.files and source[key].size:
            arrays[key] = narrow(source[key])
    for key in ("idx_train", "idx_val", "idx_test"):  # the public split of Planetoid
        if key in source.files:
            arrays[key] = narrow(source[key])
    if not (source["attr_data"] == 1).all():
        arrays["attr_data"] = source["attr_data"]
    return arrays


def from_tu(folder):
    def column(ending, **options):
        return np.loadtxt(folder / f"{folder.name}_{ending}.txt", dtype=np.int64, **options)

    indicator = column("graph_indicator")
    nodes, graphs = len(indicator), int(indicator[-1])
    ends = column("A", delimiter=",") - 1
    arrays = adjacency(nodes, ends[:, 0], ends[:, 1])
    arrays["graph_offset"] = narrow(np.concatenate([[0], np.cumsum(np.bincount(indicator)[1:])]))
    arrays["labels"] = narrow(np.unique(column("graph_labels"), return_inverse=True)[1])
    assert len(arrays["labels"]) == graphs
    if (folder / f"{folder.name}_node_labels.txt").exists():
        distinct, which = np.unique(column("node_labels"), return_inverse=True)
        arrays["attr_indptr"] = narrow(np.arange(nodes + 1))
        arrays["attr_indices"] = narrow(which)
        arrays["attr_shape"] = narrow([nodes, len(distinct)])
    return arrays


def from_edge_list(path):
    with gzip.open(path, "rt") as lines:
        ends = np.loadtxt(lines, dtype=np.int64, comments="#")
    ids, ranks = np.unique(ends, return_inverse=True)
    ranks = ranks.reshape(-1, 2)
    return adjacency(len(ids), ranks[:, 0], ranks[:, 1])


SOURCES = {
    "cora": (from_npz, "cora/planetoid_cora.npz"),
    "citeseer": (from_npz, "citeseer/planetoid_citeseer.npz"),
    "photo": (from_npz, "amazon_photo/amazon_electronics_photo.npz"),
    "mutag": (from_tu, "tu/MUTAG"),
    "proteins": (from_tu, "tu/PROTEINS"),
    "enzymes": (from_tu, "tu/ENZYMES"),
    "imdb-binary": (from_tu, "tu/IMDB-BINARY"),
    "gnutella06": (from_edge_list, "snap/p2p-Gnutella06.txt.gz"),
    "astroph": (from_edge_list, "snap/ca-AstroPh.txt.gz"),
}


def write_npz(path, arrays):
    """Like numpy.savez_compressed, but without the time of day and at the highest level."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for key in sorted(arrays):
            member = io.BytesIO()
            np.lib.format.write_array(member, np.ascontiguousarray(arrays[key]), version=(1, 0), allow_pickle=False)
            info = zipfile.ZipInfo(key + ".npy", date_time=(1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, member.getvalue())


def main(arguments):
    data = pathlib.Path(arguments[0])
    for name in arguments[1:] or SOURCES:
        if name not in SOURCES:
            sys.exit(f"convert.py: expected one of {', '.join(SOURCES)}, found '{name}'")
        read, source = SOURCES[name]
        write_npz(OUT / f"{name}.npz", read(data / source))
        print(f"{name}.npz: {(OUT / f'{name}.npz').stat().st_size} bytes")
