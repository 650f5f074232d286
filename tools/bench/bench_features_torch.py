#!/usr/bin/env python3
"""PyTorch's side of tools/bench/bench_features: the preparation of features of one graph or of a set, one JSON object.

  bench_features_torch.py graph PEER FILE.npz DIM OUT    PEER: lowrank, cholqr; the triplets go to OUT.U.npy, .S, .V
  bench_features_torch.py set PEER FOLDER DIM            every graph by itself; FOLDER of the TU format, or lists (.txt.gz)
"""
import json
import os
import sys
import time

HOPS, EPSILON = 3, 1e-5


def read_graph(path):
    import numpy as np
    import scipy.sparse as sp
    f = np.load(path)
    return sp.csr_matrix((f["adj_data"], f["adj_indices"], f["adj_indptr"]), shape=tuple(f["adj_shape"]))


def normalised(A, dtype="f4"):
    import numpy as np
    import scipy.sparse as sp
    degree = np.asarray(A.sum(1)).ravel()
    s = np.where(degree > 0, 1 / np.sqrt(np.maximum(degree, 1)), 0)
    return (sp.diags(s) @ A.astype("f8") @ sp.diags(s)).tocsr().astype(dtype)


def tu_graphs(folder):
    """(edges [2, m] from 0, one-hot labels or None, nodes) of every graph of a set."""
    import numpy as np
    name = os.path.basename(os.path.normpath(folder))
    path = lambda what: os.path.join(folder, name + "_" + what + ".txt")
    edges = np.loadtxt(path("A"), delimiter=",", dtype="i8") - 1
    indicator = np.loadtxt(path("graph_indicator"), dtype="i8")
    labels = np.loadtxt(path("node_labels"), dtype="i8") if os.path.exists(path("node_labels")) else None
    if labels is not None:
        labels = np.unique(labels, return_inverse=True)[1]
    start = np.searchsorted(indicator, np.arange(1, indicator.max() + 2))
    edges = edges[np.argsort(indicator[edges[:, 0]], kind="stable")]
    cut = np.searchsorted(indicator[edges[:, 0]], np.arange(1, indicator.max() + 2))
    for g in range(len(start) - 1):
        first, n = start[g], start[g + 1] - start[g]
        X = None if labels is None else np.eye(labels.max() + 1, dtype="f4")[labels[first:first + n]]
        yield edges[cut[g]:cut[g + 1]].T - first, X, int(n)


def listed_graphs(path):
    """The same of adjacency lists: "n class" and n lines "tag degree m1 .. m_degree" a graph; tags that differ are labels."""
    import gzip

    import numpy as np
    with gzip.open(path, "rt") as f:
        count, graphs = int(f.readline()), []
        for _ in range(count):
            n = int(f.readline().split()[0])
            rows = [np.array(f.readline().split(), "i8") for _ in range(n)]
            edges = np.concatenate([np.stack([np.full(len(r) - 2, i), r[2:]]) for i, r in enumerate(rows)], 1)
            graphs.append((edges, [r[0] for r in rows], n))
    tags = np.unique(np.concatenate([t for _, t, _ in graphs]))
    for edges, tag, n in graphs:
        yield edges, np.eye(len(tags), dtype="f4")[np.searchsorted(tags, tag)] if len(tags) > 1 else None, n


def memory_mb(key):
    for line in open("/proc/self/status"):
        if line.startswith(key):
            return int(line.split()[1]) / 1024
    return None


def reset_peak():
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")


def orthonormal(Y):
    """Q and R of Y by Cholesky QR, twice; by Householder where the Gram matrix is not positive definite."""
    import torch
    Q, R = Y, None
    for _ in range(2):
        L, info = torch.linalg.cholesky_ex(Q.mT @ Q)
        if int(info) or not bool(torch.isfinite(L).all()):
            return torch.linalg.qr(Y)
        Q = torch.linalg.solve_triangular(L.mT, Q, upper=True, left=False)
        R = L.mT if R is None else L.mT @ R
    return Q, R


def truncated_svd(A, q, peer):
    """U, S, V of a torch matrix: torch.svd_lowrank, or the same with Cholesky QR and the SVD of a q-square matrix."""
    import torch
    if peer == "lowrank":
        return torch.svd_lowrank(A.to_sparse_coo() if A.layout == torch.sparse_csr else A, q=q, niter=2)
    At = A.mT.to_sparse_csr() if A.layout == torch.sparse_csr and A.shape[0] != A.shape[1] else A
    At = A.mT if A.layout == torch.strided else At
    Q = orthonormal(A @ torch.randn(A.shape[1], q))[0]
    for _ in range(2):
        Q = orthonormal(At @ Q)[0]
        Q = orthonormal(A @ Q)[0]
    P, R = orthonormal(At @ Q)
    U, S, Vh = torch.linalg.svd(R.mT)
    return Q @ U, S, P @ Vh.mT


def hop_stack(A, x):
    import torch
    out = torch.empty(x.shape[0], HOPS + 1, x.shape[1])
    x = torch.nn.functional.layer_norm(x, (x.shape[1],), eps=EPSILON)
    for k in range(HOPS + 1):
        x = A @ x if k else x
        out[:, k] = x
    return out


def to_torch(A):
    import warnings

    import torch
    warnings.simplefilter("ignore")  # that CSR tensors are beta
    return torch.sparse_csr_tensor(torch.from_numpy(A.indptr.astype("i8")), torch.from_numpy(A.indices.astype("i8")),
                                   torch.from_numpy(A.data), A.shape, check_invariants=False)


def peer_graph(peer, path, dim, out):
    """Decomposes a graph, saves the triplets, and (timed apart) takes the hops."""
    import numpy as np
    import torch
    torch.set_grad_enabled(False)
    torch.manual_seed(0)
    raw = read_graph(path)
    base = memory_mb("VmRSS")
    reset_peak()
    start = time.perf_counter()
    A = to_torch(normalised(raw))
    prepared = time.perf_counter()
    U, S, V = truncated_svd(A, dim, peer)
    decomposed = time.perf_counter()
    grown = memory_mb("VmHWM") - base
    if out:
        for name, X in (("U", U), ("S", S), ("V", V)):
            np.save(out + "." + name + ".npy", X.numpy())
    reset_peak()
    again = time.perf_counter()
    X0 = (U + V) * S.sqrt()
    del U, V
    H = hop_stack(A, X0)
    hops = time.perf_counter() - again
    grown = max(grown, memory_mb("VmHWM") - base)
    return dict(svd_s=decomposed - prepared, total_s=decomposed - start + hops,
                beyond_mb=grown - H.numel() * 4 / 2**20, output_mb=H.numel() * 4 / 2**20)


def one_graph(edges, X, n, dim, peer):
    import numpy as np
    import scipy.sparse as sp
    import torch
    u, v = edges[:, edges[0] != edges[1]]
    A = sp.coo_matrix((np.ones(2 * len(u), "f4"), (np.r_[u, v], np.r_[v, u])), shape=(n, n)).tocsr()
    A.data[:] = 1
    A = to_torch(normalised(A))
    pad = torch.nn.functional.pad
    U, S, V = truncated_svd(A, min(dim, n), peer)
    x0 = pad((U + V) * S.sqrt(), (0, dim - S.numel()))
    if X is not None and X.shape[1] > 1:
        U, S, _ = truncated_svd(torch.from_numpy(X), min(dim, *X.shape), peer)
        x0 = x0 + pad(U * S.sqrt(), (0, dim - S.numel())).flip(-1)
    return hop_stack(A, x0)


def peer_set(peer, folder, dim):
    """Every graph by itself; all stacks are held, as the library holds them. Reading the files is not timed."""
    import torch
    torch.set_grad_enabled(False)
    torch.manual_seed(0)
    graphs = list((listed_graphs if folder.endswith(".gz") else tu_graphs)(folder))
    start = time.perf_counter()
    stacks = [one_graph(edges, X, n, dim, peer) for edges, X, n in graphs]
    return dict(total_s=time.perf_counter() - start, graphs=len(graphs), nodes=sum(len(s) for s in stacks))


def main(arguments):
    form, peer, path, dim, *out = arguments
    print(json.dumps(peer_graph(peer, path, int(dim), *out) if form == "graph" else peer_set(peer, path, int(dim))))


if __name__ == "__main__":
    main(sys.argv[1:])
