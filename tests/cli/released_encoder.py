#!/usr/bin/env python3
"""The released program's encoder in NumPy, for released.cases.

    released_encoder.py write FOLDER              writes mochi.safetensors and mochi++.safetensors: untrained encoders,
    d = 512, 4 hops
    released_encoder.py compare FOLDER VARIANT    compares Z.npy with VARIANT's embeddings of the hops H0.npy ..
    H3.npy"""
import json
import struct
import sys

import numpy as np

D, HOPS = 512, 4
LAYERS = {"mochi": 2, "mochi++": 3}


def state(variant):
    """As torch.nn.Linear draws it: uniform, at most 1 / sqrt(columns) in absolute value; 3 and 4 are the seeds."""
    random = np.random.default_rng(LAYERS[variant] + 1)

    def linear(name, rows, columns):
        bound = columns ** -0.5
        return {f"encoder.{name}.weight": random.uniform(-bound, bound, (rows, columns)).astype("f4"),
                f"encoder.{name}.bias": random.uniform(-bound, bound, rows).astype("f4")}

    values = {}
    for k in range(HOPS):
        values.update(linear(f"input_proj.{k}", D, D))
    values.update(linear("att_mlp.0", D, 2 * D))
    values.update(linear("att_mlp.2", 1, D))
    for i in range(LAYERS[variant]):
        values.update(linear(f"out_mlp.{3 * i}", D, D))
    values["log_temp"] = np.float32(0.25).reshape(())
    return values


def write(path, values):
    """Writes a state dict as safetensors.torch.save_file does."""
    header, at = {}, 0
    for name, value in values.items():
        header[name] = {"dtype": "F32", "shape": value.shape, "data_offsets": [at, at + value.nbytes]}
        at += value.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(value.tobytes() for value in values.values()))


def encode(x, values):
    """x [hops, n, d] -> relu(x_k W_k' + b_k), averaged with the weights of attention to hop 0, then the output layers;
    three of these are residual."""
    def linear(rows, name):
        return rows @ values[f"encoder.{name}.weight"].T.astype("f8") + values[f"encoder.{name}.bias"]

    h = np.stack([np.maximum(linear(x[k].astype("f8"), f"input_proj.{k}"), 0) for k in range(HOPS)])
    score = np.stack([linear(np.maximum(linear(np.hstack([h[0], h[k]]), "att_mlp.0"), 0), "att_mlp.2") for k in range(HOPS)])
    share = np.exp(score - score.max(0))
    mix = (h * (share / share.sum(0))).sum(0)
    layers = sum(name.startswith("encoder.out_mlp") for name in values) // 2
    r = mix
    for i in range(layers):
        r = linear(r, f"out_mlp.{3 * i}")
        r = np.maximum(r, 0) if i < layers - 1 else r
    return r + mix if layers == 3 else r


def compare(folder, variant):
    theirs = encode(np.stack([np.load(f"{folder}/H{k}.npy") for k in range(HOPS)]), state(variant))
    ours = np.load(f"{folder}/Z.npy")
    worst, largest = np.abs(ours - theirs).max(), np.abs(theirs).max()
    print(variant, ours.shape, "worst difference", worst, "of", largest)
    return ours.shape == (2708, D) and worst <= 1e-5 and largest > 0.1  # float32 against float64: 1e-6 was measured


if sys.argv[1] == "write":
    for name in LAYERS:
        write(f"{sys.argv[2]}/{name}.safetensors", state(name))
else:
    sys.exit(not compare(*sys.argv[2:]))
