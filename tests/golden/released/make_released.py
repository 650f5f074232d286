#!/usr/bin/env python3
"""State dicts of untrained encoders under the names of the released program, as torch.save writes them, and the same
values as .npz: mochi (two layers behind the mix of hops) and mochi++ (three, added to it), d = 16, 4 hops.

  python3 make_released.py DIR"""
import math
import sys

import numpy as np
import torch

D, HOPS = 16, 4


def drawn(generator, fan, *shape):
    """torch.nn.Linear's draw: uniform, at most 1 / sqrt(fan)."""
    return (torch.rand(*shape, generator=generator) * 2 - 1) / math.sqrt(fan)


def state(layers, seed):
    g = torch.Generator().manual_seed(seed)
    out = {}
    for k in range(HOPS):
        out[f"encoder.input_proj.{k}.weight"] = drawn(g, D, D, D)
        out[f"encoder.input_proj.{k}.bias"] = drawn(g, D, D)
    out["encoder.att_mlp.0.weight"] = drawn(g, 2 * D, D, 2 * D)
    out["encoder.att_mlp.0.bias"] = drawn(g, 2 * D, D)
    out["encoder.att_mlp.2.weight"] = drawn(g, D, 1, D)
    out["encoder.att_mlp.2.bias"] = drawn(g, D, 1)
    for i in range(layers):
        out[f"encoder.out_mlp.{3 * i}.weight"] = drawn(g, D, D, D)
        out[f"encoder.out_mlp.{3 * i}.bias"] = drawn(g, D, D)
    out["log_temp"] = torch.tensor(0.25)
    return out


for name, layers, seed in (("mochi", 2, 3), ("mochi++", 3, 4)):
    values = state(layers, seed)
    torch.save(values, f"{sys.argv[1]}/{name}.pt")
    np.savez_compressed(f"{sys.argv[1]}/{name}.npz", **{k: v.numpy() for k, v in values.items()})
