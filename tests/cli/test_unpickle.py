#!/usr/bin/env python3
"""Tests of tools/python/mochi/convert/unpickle.py: what it refuses. Skipped (77) if no Python has NumPy. tests/cli/forms.cases has the forms of
data sets that tools/python/mochi/convert reads by it."""

import array
import importlib.util
import io
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
if not importlib.util.find_spec("numpy"):
    if sys.executable == "/usr/bin/python3" or subprocess.run(["/usr/bin/python3", "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode:
        print("skipped: no Python with NumPy (Debian package python3-numpy)")
        sys.exit(77)
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools/python/mochi/convert"))
import unpickle  # noqa: E402


class Global:
    """When pickled, a call of module.name with arguments; the module need not exist."""

    def __init__(self, module, name, *arguments, state=None):
        self.text, self.arguments, self.state = f"c{module}\n{name}\n".encode(), arguments, state


class Writer(pickle._Pickler):
    def save(self, o, *rest):
        if not isinstance(o, Global):
            return super().save(o, *rest)
        self.write(o.text)
        if o.arguments or o.state is not None:
            super().save(o.arguments)
            self.write(b"R")
        if o.state is not None:
            super().save(o.state)
            self.write(b"b")


def pickled(o):
    file = io.BytesIO()
    Writer(file, 2).dump(o)
    return file.getvalue()


def numpy_array(shape, values):
    dtype = Global("numpy", "dtype", "f4", 0, 1, state=(3, "<", None, None, None, -1, -1, 0))
    data = array.array("f", values).tobytes()
    return Global("numpy.core.multiarray", "_reconstruct", Global("numpy", "ndarray"), (0,), "b",
                  state=(1, shape, dtype, False, data.decode("latin1")))


class Unpickling(unittest.TestCase):
    def refused(self, data, part, allowed=unpickle.MATRICES):
        with self.assertRaises(unpickle.Refused) as caught:
            unpickle.load(io.BytesIO(data), allowed)
        self.assertIn(part, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def test_programs_are_refused_before_they_run(self):
        with tempfile.TemporaryDirectory() as folder:
            mark = pathlib.Path(folder) / "mark"
            for data in (pickled(Global("os", "system", f"touch {mark}")), pickled(Global("posix", "system", f"touch {mark}")),
                         pickled(Global("builtins", "eval", f"open({str(mark)!r}, 'w')")),
                         pickled(Global("numpy", "save", str(mark), 1)),
                         pickled([1, {"a": Global("subprocess", "Popen", ["touch", str(mark)])}]),
                         b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x05touch\x85R."):
                self.refused(data, "expected data alone, found a use of ")
                self.assertFalse(mark.exists())

    def test_no_list_knows_more_than_it_needs(self):
        newer = pickled(Global("scipy.sparse.coo", "coo_matrix"))
        self.refused(newer, "scipy.sparse.coo.coo_matrix", unpickle.PLANETOID)
        self.refused(pickled(Global("torch._utils", "_rebuild_tensor_v2", 1, 2)), "torch._utils")

    def test_every_beginning_is_refused(self):
        whole = pickled(numpy_array((2, 2), [1, 2, 3, 4]))
        self.assertEqual(unpickle.load(io.BytesIO(whole), unpickle.MATRICES).values.tolist(), [[1, 2], [3, 4]])
        for n in range(len(whole)):
            self.refused(whole[:n], "damaged")

    def test_contradictions_are_refused(self):
        self.refused(pickled(numpy_array((2, 3), [1, 2, 3, 4])), "expected a pickle, found a damaged one (ValueError")
        objects = numpy_array((1,), [1])
        objects.state = (1, (1,), Global("numpy", "dtype", "O8", 0, 1), False, ["x"])
        self.refused(pickled(objects), "expected an array of numbers, found dtype 'O8'")
        self.refused(pickled(Global("_codecs", "encode", "x", "rot13")), "latin1")


if __name__ == "__main__":
    unittest.main()
