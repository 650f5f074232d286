"""Writes a graph as .npz: its members, and the file, whole or not at all."""

import io
import os
import pathlib
import re
import zipfile

import numpy

from .unpickle import Refused

WHOLE = re.compile(r"0|-?[1-9][0-9]*")
UNKNOWN = {"", "?", "na", "n/a", "<na>", "nan", "none", "null"}  # as in train/graphs/table_reader.c
EPOCH = (1980, 1, 1, 0, 0, 0)  # one date for all zip members, so that equal graphs give equal bytes


def is_unknown(text):
    """Whether a text marks a class or an attribute as unknown, in any case."""
    return text.lower() in UNKNOWN


def require(condition, path, expected, found):
    """Raises `Refused` with what was expected of a file and what was found, unless the condition holds."""
    if not condition:
        raise Refused(f"{path}: expected {expected}, found {found}")


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
    """Writes the members; equal members give equal bytes."""

    def write(file):
        with zipfile.ZipFile(file, "w") as archive:
            for key in sorted(members):
                npy = io.BytesIO()
                numpy.lib.format.write_array(npy, members[key], allow_pickle=False)
                archive.writestr(zipfile.ZipInfo(key + ".npy", EPOCH), npy.getvalue(), zipfile.ZIP_DEFLATED)

    write_whole(path, write)


def pointers(row, rows):
    """The index of the first entry of each row, for entries sorted by row."""
    return numpy.concatenate([[0], numpy.cumsum(numpy.bincount(row, minlength=rows))]).astype("<i8")


def adjacency_members(nodes, u, v, weight=None):
    """The adj_* members: each undirected edge once, in the row of its lower node, without loops and repetitions.

    weight: of each listed edge, or None. An edge has its largest weight, and is none if that is 0.
    """
    u, v = (numpy.asarray(ends, "<i8").reshape(-1) for ends in (u, v))
    value = numpy.ones(len(u), "<f4") if weight is None else numpy.asarray(weight, float).astype("<f4")
    kept = (u != v) & (value > 0)
    number = (numpy.minimum(u, v) * nodes + numpy.maximum(u, v))[kept]
    edges, place = numpy.unique(number, return_inverse=True)
    largest = numpy.zeros(len(edges), "<f4")
    numpy.maximum.at(largest, place, value[kept])
    low, high = numpy.divmod(edges, max(nodes, 1))
    members = {"adj_shape": numpy.array([nodes, nodes], "<i8"), "adj_indptr": pointers(low, nodes), "adj_indices": high.astype("<i4")}
    return members if (largest == 1).all() else {**members, "adj_data": largest}


def weights_of(path, values):
    """Weights of edges as numbers, None for a missing one; Refused if one is negative or no number."""
    given = [1.0 if value is None else value for value in values]
    try:
        weight = numpy.array(given, float)
        fine = numpy.isfinite(weight.astype("<f4")) & (weight >= 0)
    except (TypeError, ValueError):
        fine, weight = numpy.array([isinstance(value, (int, float)) for value in given]), None
    if not fine.all():
        wrong = given[numpy.flatnonzero(~fine)[0]]
        raise Refused(f"{path}: expected weights of edges as finite numbers of 0 or more, found {wrong!r}")
    return weight


def texts(words):
    """Words as a member of bytes: UTF-8, each followed by a zero byte."""
    return numpy.frombuffer(b"".join(word.encode() + b"\0" for word in words), "u1")


def named(key, names):
    """The member with names of nodes, graphs or classes: numbers if all are whole numbers, else texts; none for 0 .. n - 1."""
    names = list(names)
    whole = [int(name) for name in names if WHOLE.fullmatch(str(name))]
    if len(whole) == len(names) and all(-(2**63) <= name < 2**63 for name in whole):
        return {} if whole == list(range(len(names))) else {f"{key}_number": numpy.array(whole, "<i8")}
    return {f"{key}_text": texts(map(str, names))}


def in_order(names):
    """Distinct names in the order of a graph's nodes: whole numbers by their value, else as they first appear."""
    found = list(dict.fromkeys(names))
    if all(isinstance(name, int) for name in found):
        return sorted(found)
    if all(isinstance(name, str) and WHOLE.fullmatch(name) for name in found):
        return sorted(found, key=int)
    return found


def feature_members(shape, row, column, value):
    """The attr_* members of a sparse matrix, given by its entries; drops zeros."""
    with numpy.errstate(over="ignore"):
        single = numpy.asarray(value).astype("<f4")
    if not numpy.isfinite(single).all():
        i = numpy.flatnonzero(~numpy.isfinite(single))[0]
        raise Refused(f"expected features as finite float32, found {value[i]} in row {row[i]}, column {column[i]}")
    kept = numpy.flatnonzero(value)
    kept = kept[numpy.argsort(row[kept], kind="stable")]
    keys = {"attr_shape": numpy.array(shape, "<i8"), "attr_indptr": pointers(row[kept], shape[0]), "attr_indices": column[kept].astype("<i4")}
    return keys if (single[kept] == 1).all() else {**keys, "attr_data": single[kept]}


def table_members(table):
    """The attr_* members of a dense table [n, d] of numbers."""
    table = numpy.asarray(table)
    row, column = numpy.indices(table.shape).reshape(2, -1)
    return feature_members(table.shape, row, column, table.ravel())
