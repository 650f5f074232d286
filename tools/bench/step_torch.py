#!/usr/bin/env python3
"""A training step of mochi++ in PyTorch, timed as `mochi-bench` times ours: forward, backward, clipping and AdamW on a
synthetic episode of standard normal rows. One JSON object per case, with the members of `mochi-bench --json`.

  step_torch.py nc15 lp                                      two cases, float32, eager
  step_torch.py nc15 --math bf16 --form compile              the encoder under autocast; torch.compile
  step_torch.py nc15 --device cuda --math tf32 --form graph  the whole step as a CUDA graph
  step_torch.py nc15 lp nc64 --beside build/tools/bench/mochi-bench [--math bf16]
                                                             both programs in turn, five rounds: least and median of each

What it does as ours does, and a literal transcription of the equations would not: the half of the attention layer that reads
hop 0 is multiplied once; hops lie one after another in memory; the mean over a graph's nodes comes before the last layer; the
smaller of the dual and the primal ridge system is factored, once, also for the adjoint. On a CPU, float32 products go to
oneDNN where that computes in float32, and freed memory stays with the process: both are faster than PyTorch's defaults.
"""
import argparse
import contextlib
import ctypes
import json
import math
import subprocess
import sys
import time

import torch
from torch.nn import functional

HOPS, LAYERS = 4, 3
CASES = {  # task, classes, support and queries per class, nodes per graph
    "nc15": ("nc", 15, 20, 40, 0),
    "nc64": ("nc", 64, 32, 64, 0),
    "lp": ("lp", 2, 32, 64, 0),
    "gc_enzymes": ("gc", 6, 20, 40, 33),
    "gc_dd": ("gc", 2, 20, 40, 284),
}


class SolveSPD(torch.autograd.Function):
    """X = A^-1 B by Cholesky. With X_bar: B_bar = A^-1 X_bar, A_bar = -B_bar X^T, from the same factor."""

    @staticmethod
    def forward(ctx, A, B):
        """The status of the factorization stays on the device: a graph could not capture a read."""
        factor = torch.linalg.cholesky_ex(A)[0]
        X = torch.cholesky_solve(B, factor)
        ctx.save_for_backward(factor, X)
        return X

    @staticmethod
    def backward(ctx, X_bar):
        """The two lines of the docstring."""
        factor, X = ctx.saved_tensors
        B_bar = torch.cholesky_solve(X_bar, factor)
        return -B_bar @ X.mT, B_bar


def ridge_logits(Zs, Y, Zq, penalty=10.0):
    """[Zq | 1] W for the ridge W of [Zs | 1], whose bias is penalised."""
    X, Q = (torch.cat([Z, torch.ones_like(Z[:, :1])], 1) for Z in (Zs, Zq))
    rows, width = X.shape
    if rows <= width:
        K = X @ X.mT + penalty * torch.eye(rows, dtype=X.dtype, device=X.device)
        return Q @ (X.mT @ SolveSPD.apply(K, Y))
    K = X.mT @ X + penalty * torch.eye(width, dtype=X.dtype, device=X.device)
    return Q @ SolveSPD.apply(K, X.mT @ Y)


class Model(torch.nn.Module):
    """GAMLP with attention over hops, an output MLP with a residual, and the ridge readout of unit rows."""

    def __init__(self, d):
        super().__init__()
        def drawn(*shape, fan_in):
            return torch.nn.Parameter(torch.empty(shape).uniform_(-1, 1) / math.sqrt(fan_in))
        self.hop_weight, self.hop_bias = drawn(HOPS, d, d, fan_in=d), drawn(HOPS, d, fan_in=d)
        self.first_weight, self.hop_attention = drawn(d, d, fan_in=2 * d), drawn(d, d, fan_in=2 * d)
        self.attention_bias, self.score, self.score_bias = drawn(d, fan_in=2 * d), drawn(1, d, fan_in=d), drawn(1, fan_in=d)
        self.out_weight = torch.nn.ParameterList([drawn(d, d, fan_in=d) for _ in range(LAYERS)])
        self.out_bias = torch.nn.ParameterList([drawn(d, fan_in=d) for _ in range(LAYERS)])
        self.log_temp = torch.nn.Parameter(torch.zeros(()))

    def mix(self, x):
        """x [hops, N, d] -> the hops of each row, weighted by attention [N, d]."""
        H = functional.relu(torch.stack([functional.linear(x[k], self.hop_weight[k], self.hop_bias[k]) for k in range(HOPS)]))
        first = functional.linear(H[0], self.first_weight, self.attention_bias)
        hidden = functional.relu(functional.linear(H.flatten(0, 1), self.hop_attention).unflatten(0, (HOPS, -1)) + first)
        weight = torch.softmax(functional.linear(hidden, self.score, self.score_bias).to(self.log_temp.dtype), 0)
        return (H * weight.to(H.dtype)).sum(0)

    def tail(self, h, mean):
        """The output MLP; mean: takes rows of nodes to rows of graphs, or None."""
        r = h
        for weight, bias in zip(self.out_weight[:-1], self.out_bias[:-1], strict=True):
            r = functional.relu(functional.linear(r, weight, bias))
        if mean:
            r, h = mean(r), mean(h)
        return h + functional.linear(r, self.out_weight[-1], self.out_bias[-1])

    def logits(self, episode, autocast):
        """The queries' logits [n_q, C]; the readout is computed in the episode's own precision."""
        real = episode["Y"].dtype
        with autocast():
            Z = self.tail(self.mix(episode["x"]), episode["mean"]).to(real)
        Zs, Zq = (math.prod(Z[index] for index in episode[part]) for part in ("support", "query"))
        temperature = self.log_temp.exp()
        return ridge_logits(functional.normalize(Zs) * temperature, episode["Y"], functional.normalize(Zq) * temperature)


def graph_mean(nodes, real, device):
    """The mean over each graph's rows; nodes [graphs]: their numbers."""
    graph = torch.repeat_interleave(torch.arange(len(nodes), device=device), nodes.to(device))
    count = nodes.to(device, real)[:, None]
    return lambda h: torch.zeros(len(nodes), h.shape[1], dtype=h.dtype, device=device).index_add(0, graph, h) / count.to(h.dtype)


def drawn_episode(name, d, device):
    """A synthetic episode, and the number of its rows."""
    task, classes, k, q, nodes = CASES[name]
    support, query = classes * k, classes * q
    examples = support + query
    rows = {"nc": examples, "lp": 2 * examples, "gc": examples * nodes}[task]
    order = torch.randperm(2 * examples if task == "lp" else examples)
    ends = order.split([support, query] * (2 if task == "lp" else 1))
    labels = torch.arange(classes)
    return {
        "x": torch.randn(HOPS, rows, d).to(device),
        "Y": functional.one_hot(labels.repeat_interleave(k)).float().to(device),
        "target": labels.repeat_interleave(q).to(device),
        "support": [end.to(device) for end in ends[0::2]],
        "query": [end.to(device) for end in ends[1::2]],
        "mean": graph_mean(torch.full((examples,), nodes), torch.float32, device) if task == "gc" else None,
    }, rows


def precise_products(math_name, device):
    """Sets the precision of float32 products. On a CPU "medium" sends them to oneDNN, which may then round factors to bf16 (it
    does with AMX): kept only where a product shows float32."""
    torch.set_float32_matmul_precision("high" if math_name == "tf32" else "highest")
    if device == "cpu":
        A = torch.randn(512, 512)
        exact = A.double() @ A.double()
        torch.set_float32_matmul_precision("medium")
        if ((A @ A).double() - exact).abs().max() > 1e-5 * exact.abs().max():
            torch.set_float32_matmul_precision("highest")


def keep_freed_memory():
    """Tells the C library's allocator to give nothing back to the system (M_TRIM_THRESHOLD, M_MMAP_THRESHOLD)."""
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        for option in (-1, -3):
            library.mallopt(option, 1 << 30)


def step_of(model, episode, options):
    """A function that takes one step."""
    on_gpu = options.device != "cpu"
    adamw = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=1e-4, fused=True,
                              **({"capturable": True} if options.form == "graph" else {}))
    if options.form == "compile":
        model.mix, model.tail = torch.compile(model.mix), torch.compile(model.tail)
    def autocast():
        return torch.autocast("cuda" if on_gpu else "cpu", torch.bfloat16, enabled=options.math == "bf16",
                              cache_enabled=options.form != "graph")

    def step():
        adamw.zero_grad(set_to_none=True)
        logits = model.logits(episode, autocast)
        functional.cross_entropy(logits, episode["target"], label_smoothing=0.1).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        adamw.step()

    if options.form != "graph":
        return step
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def timed(name, options):
    """The figures of a case."""
    torch.manual_seed(0)
    model = Model(options.dim).to(options.device)
    episode, rows = drawn_episode(name, options.dim, options.device)
    step = step_of(model, episode, options)
    wait = torch.cuda.synchronize if options.device != "cpu" else lambda: None
    if options.device != "cpu":
        torch.cuda.reset_peak_memory_stats()
    times = []
    for run in range(options.warmup + options.runs):
        wait()
        start = time.perf_counter()
        step()
        wait()
        if run >= options.warmup:
            times.append(1e3 * (time.perf_counter() - start))
    times.sort()
    peak = {"cuda_peak_mb": torch.cuda.max_memory_allocated() / 2**20} if options.device != "cpu" else {}
    return {"case": name, "variant": f"torch {torch.__version__} {options.form} {options.math}", "rows": rows,
            "min_ms": times[0], "med_ms": times[len(times) // 2], "max_ms": times[-1], "threads": torch.get_num_threads(), **peak}


def beside(options):
    """Runs mochi-bench and this program in turn; prints a line per case with the least and the median of each."""
    common = [*options.cases, "--math", options.math, "--device", options.device, "--dim", str(options.dim), "--runs", str(options.runs)]
    common += ["--threads", str(options.threads)] if options.threads else []
    programs = {"mochi": [options.beside, *common, "--json"], "torch": [sys.executable, __file__, *common, "--form", options.form]}
    least = {case: {name: [] for name in programs} for case in options.cases}
    median = {case: {name: [] for name in programs} for case in options.cases}
    for _ in range(options.rounds):
        for name, words in programs.items():
            done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
            for line in map(json.loads, done.stdout.splitlines()):
                if "case" in line:
                    least[line["case"]][name].append(line["min_ms"])
                    median[line["case"]][name].append(line["med_ms"])
    for case in options.cases:
        mochi, peer = (min(least[case][name]) for name in programs)
        middle = [sorted(median[case][name])[options.rounds // 2] for name in programs]
        print(f"{case} {options.math}: least ms mochi {mochi:.2f}, torch {peer:.2f}, {peer / mochi:.2f} times; "
              f"median {middle[0]:.2f}, {middle[1]:.2f}, {middle[1] / middle[0]:.2f} times", flush=True)


def main():
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="Cases: " + " ".join(CASES))
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--math", choices=("fp32", "bf16", "tf32"), default="fp32")
    parser.add_argument("--form", choices=("eager", "compile", "graph"), default="eager")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0, help="CPU threads (default: PyTorch's choice)")
    parser.add_argument("--beside", metavar="MOCHI_BENCH", help="run this program in turn with PyTorch")
    parser.add_argument("--rounds", type=int, default=5, help="of --beside")
    options = parser.parse_args()
    for case in options.cases:
        if case not in CASES:
            parser.error(f"no case '{case}', expected {', '.join(CASES)}")
    if options.form == "graph" and options.device == "cpu":
        parser.error("--form graph needs --device cuda")
    if not options.cases:
        parser.error("no case, expected " + ", ".join(CASES))
    if options.beside:
        return beside(options)
    keep_freed_memory()
    if options.threads:
        torch.set_num_threads(options.threads)
    precise_products(options.math, options.device)
    for case in options.cases:
        print(json.dumps(timed(case, options)), flush=True)


if __name__ == "__main__":
    main()
