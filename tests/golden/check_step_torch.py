#!/usr/bin/env python3
"""Whether the step that tools/bench/step_torch.py times has the logits and gradients of step.npz, in float64."""
import contextlib
import pathlib
import sys

import numpy as np
import torch
from torch.nn import functional

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools/bench"))
import step_torch  # noqa: E402


def published(model):
    """{published name: (tensor, part of its columns or None)} of the parameters."""
    d = model.score.shape[1]
    names = {"encoder.att_mlp.0.bias": model.attention_bias, "encoder.att_mlp.2.weight": model.score,
             "encoder.att_mlp.2.bias": model.score_bias, "log_temp": model.log_temp}
    for k in range(step_torch.HOPS):
        names |= {f"encoder.input_proj.{k}.weight": (model.hop_weight, k), f"encoder.input_proj.{k}.bias": (model.hop_bias, k)}
    for k in range(step_torch.LAYERS):
        names |= {f"encoder.out_mlp.{3 * k}.weight": model.out_weight[k], f"encoder.out_mlp.{3 * k}.bias": model.out_bias[k]}
    columns = {"first": (model.first_weight, slice(0, d)), "hop": (model.hop_attention, slice(d, 2 * d))}
    return names, columns


def check(path):
    """Compares a step with stored vectors of another implementation; returns the largest error."""
    stored = {name: torch.as_tensor(array) for name, array in np.load(path).items()}
    model = step_torch.Model(stored["encoder.out_mlp.0.bias"].numel()).double()
    names, columns = published(model)
    part = lambda tensor, k=slice(None): tensor[k] if tensor.dim() else tensor
    worst = 0.0
    with torch.no_grad():
        for name, place in names.items():
            part(*(place if isinstance(place, tuple) else (place,))).copy_(stored[name])
        for tensor, where in columns.values():
            tensor.copy_(stored["encoder.att_mlp.0.weight"][:, where])
    for task in ("nc", "lp", "gc"):
        of = {name.split(".", 1)[1]: array for name, array in stored.items() if name.startswith(task + ".")}
        ends = (["sup", "sup2"], ["qry", "qry2"])
        episode = {
            "x": of["x"].unflatten(1, (step_torch.HOPS, -1)).transpose(0, 1).contiguous(),
            "Y": functional.one_hot(of["ys"], int(of["C"])).double(),
            "support": [of[end] for end in ends[0] if end in of], "query": [of[end] for end in ends[1] if end in of],
            "mean": step_torch.graph_mean(of["cnt"], torch.float64, "cpu") if task == "gc" else None,
        }
        model.zero_grad()
        logits = model.logits(episode, contextlib.nullcontext)
        functional.cross_entropy(logits, of["yq"], label_smoothing=0.1).backward()
        def differs(found, wanted):
            return float((found - wanted).abs().max() / wanted.abs().max().clamp(min=1e-3))
        worst = max(worst, differs(logits.detach(), of["embed.logits"]))
        for name, place in names.items():
            tensor, k = place if isinstance(place, tuple) else (place, slice(None))
            worst = max(worst, differs(part(tensor.grad, k), of["embed.grad." + name]))
        for tensor, where in columns.values():
            worst = max(worst, differs(tensor.grad, of["embed.grad.encoder.att_mlp.0.weight"][:, where]))
    return worst


if __name__ == "__main__":
    error = check(HERE / "step.npz")
    print(f"logits and gradients of three episodes: largest relative error {error:.1e}")
    sys.exit(error > 1e-9)
