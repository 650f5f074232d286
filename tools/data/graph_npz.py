"""The .npz of a graph, made of the standard library alone: its members and how they are written, whole or not at all."""

import array
import math
import os
import pathlib
import struct
import sys
import tempfile
import zipfile

from unpickle import Refused

EPOCH = (1980, 1, 1, 0, 0, 0)  # the date of zip members: no time of day in the bytes


def write_whole(path, write):
    """Calls write(file) for a temporary file beside path, which then takes its place."""
    path = pathlib.Path(path)
    handle, name = tempfile.mkstemp(prefix=path.name + ".", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


DESCRIPTIONS = {"B": "|u1", "f": "<f4", "i": "<i4", "q": "<i8"}


def npy(values):
    """An array.array as the bytes of a one-dimensional .npy."""
    if sys.byteorder != "little":
        values = array.array(values.typecode, values)
        values.byteswap()
    header = f"{{'descr': '{DESCRIPTIONS[values.typecode]}', 'fortran_order': False, 'shape': ({len(values)},), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values.tobytes()


def write_npz(path, members):
    def write(file):
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for key in sorted(members):
                info = zipfile.ZipInfo(key + ".npy", date_time=EPOCH)
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, npy(members[key]))
    write_whole(path, write)


def sorted_rows(nodes, u, v):
    """Keys adj_*: each undirected edge once, in the row of its lower node, without loops and repetitions."""
    low_high = sorted({(a, b) if a < b else (b, a) for a, b in zip(u, v) if a != b})
    pointer = array.array("q", bytes(8 * (nodes + 1)))
    for low, _ in low_high:
        pointer[low + 1] += 1
    for i in range(nodes):
        pointer[i + 1] += pointer[i]
    return {"adj_shape": array.array("q", [nodes, nodes]), "adj_indptr": pointer,
            "adj_indices": array.array("i", [high for _, high in low_high])}


def texts(words):
    """Words as a member of bytes, UTF-8, each with a zero behind."""
    return array.array("B", b"".join(word.encode() + b"\0" for word in words))


class Features:
    """Keys attr_*, row by row; zeros are left out."""

    def __init__(self, columns):
        self.columns, self.pointer = columns, array.array("q", [0])
        self.column, self.value = array.array("i"), array.array("f")

    def add(self, columns, values):
        for column, value in zip(columns, values):
            if not 0 <= column < self.columns or not math.isfinite(value):
                raise Refused(f"expected finite values in columns 0..{self.columns - 1}, found {value} in {column}")
            if value != 0:
                self.column.append(column)
                self.value.append(value)
        self.pointer.append(len(self.column))

    def members(self):
        rows = len(self.pointer) - 1
        keys = {"attr_shape": array.array("q", [rows, self.columns]), "attr_indptr": self.pointer,
                "attr_indices": self.column}
        if self.value.count(1.0) < len(self.value):
            keys["attr_data"] = self.value
        return keys
