"""Adjacencies and edges as arrays: Matrix Market, SciPy's save_npz, edge_index, dense matrices."""

import numpy

from .archive import adjacency_members, require, table_members, weights_of
from .unpickle import Refused

MASKS = {"train": "train", "val": "val", "valid": "val", "test": "test"}


def _is_matrix_market(path):
    return path.is_file() and path.name.endswith((".mtx", ".mtx.gz"))


def _matrix(path):
    """A Matrix Market file, plain or gzipped: indices become 0-based, symmetric matrices get both triangles."""
    import scipy.io
    import scipy.sparse

    try:
        return scipy.sparse.coo_matrix(scipy.io.mmread(path))
    except (ValueError, TypeError, OverflowError, EOFError) as error:
        raise Refused(f"{path}: expected a matrix of Matrix Market ({error})") from error


def _of_entries(path, shape, row, column, value):
    """A square matrix as a graph, with an edge for each nonzero entry; values other than weights of 0 or more make plain edges."""
    if shape[0] != shape[1] or not shape[0]:
        raise Refused(f"{path}: expected an adjacency, which is square, found {shape[0]} x {shape[1]} (features become .npy: OUT.npy)")
    edge = numpy.asarray(value != 0)
    value = numpy.asarray(value)[edge]
    real = value.dtype.kind in "biuf" and numpy.isfinite(value.astype("f4")).all() and (value >= 0).all()
    return adjacency_members(shape[0], row[edge], column[edge], value if real else None)


def _read_matrix_market(path):
    A = _matrix(path)
    return _of_entries(path, A.shape, A.row, A.col, A.data)


def features_of(path):
    """A Matrix Market file as a float32 table."""
    A = _matrix(path)
    with numpy.errstate(over="ignore"):
        finite = A.dtype.kind in "biuf" and numpy.isfinite(A.data.astype("f4")).all()
    if not finite:
        raise Refused(f"{path}: expected finite float32 numbers, found others")
    return numpy.ascontiguousarray(A.astype("f4").toarray())


def _members(path):
    """The names of an archive's members; none if it is no archive."""
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            return {name.removesuffix(".npy") for name in archive.namelist()}
    except (OSError, zipfile.BadZipFile):
        return set()


def _is_archive(*needed):
    return lambda path: path.is_file() and path.name.endswith(".npz") and set(needed) <= _members(path)


def _read_sparse(path):
    import scipy.sparse

    try:
        A = scipy.sparse.load_npz(path).tocoo()
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(f"{path}: expected a matrix of scipy.sparse.save_npz ({error})") from error
    return _of_entries(path, A.shape, A.row, A.col, A.data)


def _read_edge_index(path):
    """edge_index [2, edges]; and, where present, num_nodes, edge_weight, x, y, and masks or indices of a division."""
    try:
        with numpy.load(path, allow_pickle=False) as archive:
            part = {key: archive[key] for key in archive.files}
    except ValueError as error:
        raise Refused(f"{path}: expected arrays of numbers ({error})") from error
    ends = part["edge_index"]
    require(ends.ndim == 2 and 2 in ends.shape and ends.dtype.kind in "iu", path, "edge_index [2, edges] of whole numbers", f"{ends.dtype} {list(ends.shape)}")
    ends = (ends if len(ends) == 2 else ends.T).astype("<i8")
    x, y = (next((part[key] for key in keys if key in part), None) for keys in (("x", "feat", "features", "node_feat"), ("y", "label", "labels", "node_label")))
    counts = [len(table) for table in (x, y) if table is not None and table.ndim]
    nodes = int(part["num_nodes"]) if "num_nodes" in part else max([int(ends.max(initial=-1)) + 1, *counts])
    require(not ends.size or (ends.min() >= 0 and ends.max() < nodes), path, f"ends of edges 0..{nodes - 1}", f"{ends.min(initial=0)}..{ends.max(initial=0)}")
    weight = part.get("edge_weight")
    members = adjacency_members(nodes, ends[0], ends[1], None if weight is None else weights_of(path, weight.reshape(-1).tolist()))
    if x is not None:
        require(x.ndim == 2 and len(x) == nodes, path, f"x [{nodes}, d]", list(x.shape))
        members.update(table_members(x))
    if y is not None:
        y = y.reshape(-1)
        require(len(y) == nodes and y.dtype.kind in "iubf" and (y == y.astype(int)).all(), path, f"whole numbers y [{nodes}]", f"{y.dtype} {list(y.shape)}")
        members["labels"] = y.astype("<i8")
    masks = {MASKS[key[:-5]]: array for key, array in part.items() if key[-5:] == "_mask" and key[:-5] in MASKS and array.shape == (nodes,)}
    for name in masks and ("train", "val", "test"):  # mochi's form has all parts, or none
        members["idx_" + name] = numpy.flatnonzero(masks.get(name, ())).astype("<i8")
    return members


def _is_dense(path):
    if not path.is_file() or path.suffix != ".npy":
        return False
    try:
        shape = numpy.load(path, mmap_mode="r", allow_pickle=False).shape
    except (ValueError, OSError, EOFError):
        return False
    return len(shape) == 2 and (shape[0] == shape[1] > 2 or 2 in shape)


def _read_dense(path):
    A = numpy.load(path, allow_pickle=False)
    if A.shape[0] != A.shape[1]:
        require(A.dtype.kind in "iu", path, "edges as whole numbers", A.dtype)
        ends = A if len(A) == 2 else A.T
        require((ends >= 0).all(), path, "numbers of nodes", ends.min(initial=0))
        return adjacency_members(int(ends.max(initial=-1)) + 1, ends[0], ends[1])
    require(A.dtype.kind in "biuf" and numpy.isfinite(A).all(), path, "an adjacency of finite numbers", A.dtype)
    row, column = numpy.nonzero(A)
    return _of_entries(path, A.shape, row, column, A[row, column])


FORMS = (
    ("Matrix Market", _is_matrix_market, _read_matrix_market),
    ("SciPy's save_npz", _is_archive("format", "shape", "data"), _read_sparse),
    ("edge_index in an .npz", _is_archive("edge_index"), _read_edge_index),
    ("a dense adjacency or edges as .npy", _is_dense, _read_dense),
)


