"""Writes a graph as .npz: its members, and the file, whole or not at all."""

import io
import os
import pathlib
import zipfile

import numpy

from unpickle import Refused

EPOCH = (1980, 1, 1, 0, 0, 0)  # one date for all zip members, so that equal graphs give equal bytes


def write_whole(path, write):
    """Calls write(file) on a new file beside path, which then replaces path."""
    new = pathlib.Path(f"{path}.{os.getpid()}.new")
    try:
        with open(new, "wb") as file:
            write(file)
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)


def write_npz(path, members):
    def write(file):
        with zipfile.ZipFile(file, "w") as archive:
            for key in sorted(members):
                npy = io.BytesIO()
                numpy.lib.format.write_array(npy, members[key], allow_pickle=False)
                archive.writestr(zipfile.ZipInfo(key + ".npy", EPOCH), npy.getvalue(), zipfile.ZIP_DEFLATED)
    write_whole(path, write)


def pointers(row, rows):
    """Returns the index of the first entry of each row, for entries sorted by row."""
    return numpy.concatenate([[0], numpy.cumsum(numpy.bincount(row, minlength=rows))]).astype("<i8")


def adjacency_members(nodes, u, v):
    """Returns the adj_* members: each undirected edge once, in the row of its lower node, without loops and
    repetitions."""
    u, v = (numpy.asarray(ends, "<i8") for ends in (u, v))
    number = (numpy.minimum(u, v) * nodes + numpy.maximum(u, v))[u != v]
    low, high = numpy.divmod(numpy.unique(number), nodes)
    return {"adj_shape": numpy.array([nodes, nodes], "<i8"), "adj_indptr": pointers(low, nodes), "adj_indices": high.astype("<i4")}


def texts(words):
    """Packs words as a member of bytes: UTF-8, each followed by a zero byte."""
    return numpy.frombuffer(b"".join(word.encode() + b"\0" for word in words), "u1")


def feature_members(shape, row, column, value):
    """Returns the attr_* members of a sparse matrix, given by its entries; drops zeros."""
    with numpy.errstate(over="ignore"):
        single = numpy.asarray(value).astype("<f4")
    if not numpy.isfinite(single).all():
        i = numpy.flatnonzero(~numpy.isfinite(single))[0]
        raise Refused(f"expected features as finite float32, found {value[i]} in row {row[i]}, column {column[i]}")
    kept = numpy.flatnonzero(value)
    kept = kept[numpy.argsort(row[kept], kind="stable")]
    keys = {"attr_shape": numpy.array(shape, "<i8"), "attr_indptr": pointers(row[kept], shape[0]), "attr_indices": column[kept].astype("<i4")}
    return keys if (single[kept] == 1).all() else {**keys, "attr_data": single[kept]}
