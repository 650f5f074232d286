"""Makes the array files of this folder with NumPy and the reference implementation of safetensors.

    python make_arrays.py FOLDER

The tests read the files and need no Python. Element i of an array is 3 i - 4; in unsigned dtypes 3 i."""
import os
import sys

import numpy as np
import safetensors.numpy

os.chdir(sys.argv[1])


def values(dtype, shape=(2, 3)):
    n = int(np.prod(shape))
    signed = np.dtype(dtype).kind in "if"
    return (3 * np.arange(n) - (4 if signed else 0)).astype(dtype).reshape(shape)


for name in "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8".split():
    np.save(f"{name}.npy", values(name))
np.save("b1.npy", np.arange(6).reshape(2, 3) % 2 == 1)
np.save("big_f8.npy", values(">f8"))
np.save("big_i2.npy", values(">i2"))
np.save("fortran_f4.npy", np.asfortranarray(values("f4", (2, 3, 2))))
np.save("fortran_big_i4.npy", np.asfortranarray(values(">i4")))
np.save("scalar.npy", np.float64(2.5))
np.save("empty.npy", values("f4", (0, 3)))
for version in (2, 3):
    with open(f"version_{version}.npy", "wb") as file:
        np.lib.format.write_array(file, values("f4"), version=(version, 0))

np.save("object.npy", np.array([{}, None], dtype=object), allow_pickle=True)
np.save("complex.npy", values("f4").astype("c8"))
np.save("text.npy", np.array(["a", "bc"]))
np.save("date.npy", np.array(["2000-01-01"], dtype="M8[D]"))
np.save("structured.npy", np.zeros(2, dtype=[("x", "f4"), ("y", "i4")]))

members = {"x": values("f4"), "labels": values("i1", (6,)), "names": np.array(["a", "bc"]), "n": np.int64(7)}
np.savez("stored.npz", **members)
np.savez_compressed("deflated.npz", **members)
np.savez("object.npz", x=values("f4"), who=np.array([{}, None], dtype=object), allow_pickle=True)

safetensors.numpy.save_file(
    {"b": values("f4"), "a": values("i8", (2,)), "c": values("u1", (3,)), "s": np.array(2.5), "e": values("f2", (0, 2))},
    "reference.safetensors", metadata={"made": "reference"})
