#!/usr/bin/env python3
"""peer.npz: a training run of the PyTorch peer (mochi_torch.py), float64, one thread, mochi++ with d = 16 and 4 hops.

  python make_peer.py --peer FOLDER --out DIR [--seed 7] [--steps 100]

FOLDER holds mochi_torch.py. Each step takes a link, a node and a graph episode drawn from shared features; the README
beside this file lists the keys."""
import argparse
import os
import sys

import numpy as np
import torch

WIDTH, HOPS, ROWS, GRAPHS = 16, 4, 40, 14
LR, WEIGHT_DECAY, CLIP, LAMBDA, SMOOTHING = 3e-3, 1e-4, 1.0, 10.0, 0.1
NODES, LINKS, SETS = (4, 3, 5), (2, 5, 6), (2, 3, 4)  # (classes, support examples per class, queries per class) of each task


def make_features(g):
    """Draws rows x [ROWS, HOPS * WIDTH] in which classes can be told apart, and graphs of 1 to 6 nodes."""
    x = torch.randn(ROWS, HOPS * WIDTH, generator=g)
    x += 0.7 * torch.randn(4, HOPS * WIDTH, generator=g)[torch.arange(ROWS) % 4]
    count = torch.randint(1, 7, (GRAPHS,), generator=g)
    return x, torch.randn(int(count.sum()), HOPS * WIDTH, generator=g), count


def draw_indices(g, task):
    if task == "lp":
        C, k, q = LINKS
        return {name: torch.randint(0, ROWS, (C * n,), generator=g)
                for name, n in (("sup", k), ("sup2", k), ("qry", q), ("qry2", q))}
    C, k, q = NODES if task == "nc" else SETS
    if task == "gc":
        drawn = torch.randperm(GRAPHS, generator=g)
        return {"sup": drawn[:C * k], "qry": drawn[C * k:C * (k + q)]}
    rows = torch.randperm(ROWS, generator=g).tolist()
    of_class = [[r for r in rows if r % C == c] for c in range(C)]
    return {"sup": torch.tensor([r for c in of_class for r in c[:k]]),
            "qry": torch.tensor([r for c in of_class for r in c[k:k + q]])}


def labels(task):
    C, k, q = {"nc": NODES, "lp": LINKS, "gc": SETS}[task]
    if task == "lp":
        return C, torch.arange(C * k) % C, torch.arange(C * q) % C
    return C, torch.arange(C).repeat_interleave(k), torch.arange(C).repeat_interleave(q)


def episode_of(peer, task, index, table, graphs):
    C, ys, yq = labels(task)
    if task == "gc":
        e = peer.gather_graphs(C, graphs, ys, yq, index["sup"], index["qry"])
    else:
        e = peer.gather_episode(task, C, table, ys, yq, index["sup"], index["qry"], index.get("sup2"), index.get("qry2"))
    return e.to("cpu", torch.float64)


def run(peer, seed, steps):
    g = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    x, nodes, count = make_features(g)
    table = x.unflatten(-1, (HOPS, WIDTH))
    graphs = list(nodes.unflatten(-1, (HOPS, WIDTH)).split(count.tolist()))
    model = peer.Mochi("mochi++", hops=HOPS, d=WIDTH, lam=LAMBDA, smoothing=SMOOTHING).double()
    with torch.no_grad():
        model.log_temp.fill_(0.7)
    trainer = peer.Trainer(model, lr=LR, wd=WEIGHT_DECAY, clip=CLIP, dtype="fp64")
    out = dict(lr=LR, weight_decay=WEIGHT_DECAY, clip=CLIP, beta1=0.9, beta2=0.999, eps=1e-8, lam=LAMBDA,
               smoothing=SMOOTHING, x=x, log_temp=model.log_temp.detach().clone())
    out.update({k: v.detach().clone() for k, v in model.encoder.named().items()})
    out.update({"gc.x": nodes, "gc.cnt": count})
    losses, norms, drawn = [], [], {}
    for _ in range(steps):
        episodes = []
        for task in ("lp", "nc", "gc"):
            index = draw_indices(g, task)
            episodes.append(episode_of(peer, task, index, table, graphs))
            for name, i in index.items():
                drawn.setdefault(f"{task}.{name}", []).append(i.numpy())
        with torch.no_grad():
            losses.append([float(model.loss(e)[0]) for e in episodes])
        mean = float(trainer.step(episodes))
        assert abs(mean - np.mean(losses[-1])) < 1e-12, (mean, losses[-1])
        norms.append(float(trainer.norm))
    out.update({k: np.stack(v) for k, v in drawn.items()})
    for task in ("lp", "nc", "gc"):
        out[f"{task}.C"], out[f"{task}.ys"], out[f"{task}.yq"] = labels(task)
    out.update({"peer.loss": np.array(losses), "peer.grad_norm": np.array(norms), "peer.after.log_temp": model.log_temp})
    out.update({"peer.after." + k: v for k, v in model.encoder.named().items()})
    return out


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--peer", required=True)
    a.add_argument("--out", required=True)
    a.add_argument("--seed", type=int, default=7)
    a.add_argument("--steps", type=int, default=100)
    a = a.parse_args()
    sys.path.insert(0, a.peer)
    import mochi_torch as peer
    arrays = {}
    for name, v in run(peer, a.seed, a.steps).items():
        v = v.detach().numpy() if torch.is_tensor(v) else np.asarray(v)
        arrays[name] = np.array(v, dtype=np.int64 if v.dtype.kind in "iu" else np.float64, order="C")
    np.savez_compressed(os.path.join(a.out, "peer.npz"), **arrays)
    first, last = arrays["peer.loss"][0], arrays["peer.loss"][-1]
    print(f"{a.steps} steps; losses lp, nc, gc from {first.round(4)} to {last.round(4)}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    main()
