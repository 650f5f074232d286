#!/usr/bin/env python3
"""Tests of tools/data/convert.py and tools/data/unpickle.py: what they make of data sets' own forms and what they refuse. Skipped (77) if no
Python has NumPy. tests/cli/forms.cases has the forms that mochi suggests it for."""

import array
import importlib.util
import io
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHARED = pathlib.Path(os.environ.get("MOCHI_SHARED", ROOT.parent / "shared")) / "data"
SOURCES = SHARED if SHARED.exists() else ROOT / "tests" / "sources"  # data sets in their publishers' formats
MOCHI = os.environ.get("MOCHI")
if not importlib.util.find_spec("numpy"):
    if sys.executable == "/usr/bin/python3" or subprocess.run(["/usr/bin/python3", "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode:
        print("skipped: no Python with NumPy (Debian package python3-numpy)")
        sys.exit(77)
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools" / "data"))
import convert as converter  # noqa: E402
import unpickle  # noqa: E402


def convert(*words):
    """Runs convert.py in this process, so that NumPy is imported only once."""
    try:
        converter.main([*map(str, words)])
    except SystemExit as refusal:
        return subprocess.CompletedProcess(words, 1, "", f"{refusal}\n")
    return subprocess.CompletedProcess(words, 0, "", "")


def described(path):
    done = subprocess.run([MOCHI, "data", "info", str(path), "--json"], capture_output=True, text=True)
    return json.loads(done.stdout)


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


def numpy_array(code, shape, values):
    dtype = Global("numpy", "dtype", code, 0, 1, state=(3, "<", None, None, None, -1, -1, 0))
    data = array.array({"f4": "f", "f8": "d", "i4": "i"}[code], values).tobytes()
    return Global("numpy.core.multiarray", "_reconstruct", Global("numpy", "ndarray"), (0,), "b",
                  state=(1, shape, dtype, False, data.decode("latin1")))


def matrix(kind, shape, **arrays):
    """A pickled sparse matrix with these attributes."""
    return Global(f"scipy.sparse.{kind}", f"{kind}_matrix", state={"_shape": shape, **arrays})


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
        whole = pickled(numpy_array("f4", (2, 2), [1, 2, 3, 4]))
        self.assertEqual(unpickle.load(io.BytesIO(whole), unpickle.MATRICES).values.tolist(), [[1, 2], [3, 4]])
        for n in range(len(whole)):
            self.refused(whole[:n], "damaged")

    def test_contradictions_are_refused(self):
        self.refused(pickled(numpy_array("f4", (2, 3), [1, 2, 3, 4])), "expected a pickle, found a damaged one (ValueError")
        objects = numpy_array("f4", (1,), [1])
        objects.state = (1, (1,), Global("numpy", "dtype", "O8", 0, 1), False, ["x"])
        self.refused(pickled(objects), "expected an array of numbers, found dtype 'O8'")
        self.refused(pickled(Global("_codecs", "encode", "x", "rot13")), "latin1")


class Conversion(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        self.out = self.folder / "out.npz"

    def tearDown(self):
        self.scratch.cleanup()

    def made(self, *words):
        done = convert(*words)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def refused(self, part, *words):
        before = sorted(self.folder.rglob("*"))
        done = convert(*words)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(part, done.stderr)
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def test_planetoid_pickles_bring_the_public_split(self):
        for source in SOURCES.glob("*/planetoid"):
            self.made("planetoid", source, self.out)
            members = zipfile.ZipFile(self.out)
            parts = {key: array.array("q", members.read(key + ".npy")[128:]).tolist()
                     for key in ("idx_train", "idx_val", "idx_test")}
            trained = {"cora": 140, "citeseer": 120, "pubmed": 60}[source.parent.name]
            self.assertEqual(parts["idx_train"], list(range(trained)))
            self.assertEqual(parts["idx_val"], list(range(trained, trained + 500)))
            self.assertEqual(len(set(parts["idx_test"])), 1000)
            self.assertGreater(min(parts["idx_test"]), trained + 499)

    @unittest.skipUnless(MOCHI, "needs the program")
    def test_drawn_graphs_have_the_homophily_of_their_names(self):
        script = ROOT / "tools" / "bench" / "drawn_graphs.py"
        subprocess.run([sys.executable, "-B", str(script), str(self.folder)], check=True)
        for percent in (10, 50, 90):
            path = self.folder / f"homophily{percent}.npz"
            found = described(path)
            self.assertEqual([found["nodes"], found["features"], found["classes"]], [2000, 500, [400] * 5])
            members = zipfile.ZipFile(path)
            pointer = array.array("q", members.read("adj_indptr.npy")[-8 * 2001:])
            column = array.array("i", members.read("adj_indices.npy")[-4 * pointer[-1]:])
            same = sum(u % 5 == v % 5 for u in range(2000) for v in column[pointer[u]:pointer[u + 1]])
            self.assertLess(abs(same / len(column) - percent / 100), 0.02)

    def test_equal_input_gives_equal_bytes(self):
        for out in (self.out, self.folder / "again.npz"):
            self.made("planetoid", SOURCES / "cora" / "planetoid", out)
        self.assertEqual(self.out.read_bytes(), (self.folder / "again.npz").read_bytes())

    def write(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return path

    @unittest.skipUnless(MOCHI, "needs the program")
    def test_items_of_a_bipartite_matrix_come_behind_the_users(self):
        self.write("trn_mat.pkl", pickled(matrix("coo", (2, 3), row=numpy_array("i4", (4,), [0, 1, 1, 0]),
                                                 col=numpy_array("i4", (4,), [0, 0, 2, 1]),
                                                 data=numpy_array("f8", (4,), [1, 1, 2, 0]))))
        self.write("feats.pkl", pickled(numpy_array("f4", (2, 2), [0, 1.5, 2, 0])))
        self.made("anygraph", self.folder, self.out)
        members = zipfile.ZipFile(self.out)
        self.assertEqual(array.array("i", members.read("adj_indices.npy")[-12:]).tolist(), [2, 2, 4])
        found = described(self.out)
        self.assertEqual([found[key] for key in ("nodes", "edges", "features", "feature_nnz")], [5, 3, 2, 2])

    @unittest.skipUnless(MOCHI, "needs the program")
    def test_square_matrices_are_graphs(self):
        self.write("trn_mat.pkl", pickled(matrix("csr", (3, 3), indptr=numpy_array("i4", (4,), [0, 2, 3, 3]),
                                                 indices=numpy_array("i4", (3,), [1, 2, 0]),
                                                 data=numpy_array("f4", (3,), [1, 1, 1]))))
        self.made("anygraph", self.folder, self.out)
        self.assertEqual([described(self.out)[key] for key in ("nodes", "edges")], [3, 2])

    def test_what_is_wrong_is_named(self):
        path = self.write("trn_mat.pkl", pickled(Global("os", "system", "true")))
        self.refused(f"{path}: expected data alone, found a use of os.system", "anygraph", self.folder, self.out)
        self.write("trn_mat.pkl", pickled([1]))
        self.refused("expected a sparse matrix, found list", "anygraph", self.folder, self.out)
        self.write("trn_mat.pkl", pickled(matrix("coo", (2, 2), row=numpy_array("i4", (1,), [5]),
                                                 col=numpy_array("i4", (1,), [0]), data=numpy_array("f4", (1,), [1]))))
        self.refused("expected entries in 2 x 2", "anygraph", self.folder, self.out)


if __name__ == "__main__":
    unittest.main()
