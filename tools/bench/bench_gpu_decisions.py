"""What the figures of tools/bench/bench_gpu decide: which path computes what, as a table for tensor/cuda/README.md. A row whose figures
are missing says so: nothing is decided by what was not measured."""

SYSTEMS = ((40, 2, "gc_dd"), (64, 2, "lp"), (120, 6, "gc_enzymes"), (300, 15, "nc15"))  # the order, the columns, the case
SHORT, LONG = "gradient of the weights", "gradient of many rows"  # the probe's names


def us(probe, what):
    """As a node of a graph, which is how steps run; on the stream alone where it cannot be recorded."""
    row = probe.get(what) or {}
    return row.get("replay_us") or row.get("eager_us")


def decide(ours, theirs, names=("ours", "the library")):
    """(both figures, the faster one)"""
    if ours is None or theirs is None:
        return "not measured", ""
    return f"{ours:.1f}, {theirs:.1f}", names[ours > theirs]


def add_up(*figures):
    return None if None in figures else sum(figures)


def least(steps, case, math, way):
    return ((steps.get((case, math)) or {}).get(way) or {}).get("min_ms")


def rows(found):
    """(question, figures, answer)"""
    probe, steps, wide = found.get("probe", {}), found.get("step", {}), found.get("rows", {})
    for n, m, case in SYSTEMS:
        solves = us(probe, f"trsm left {n} x {m}")
        library = add_up(us(probe, f"potrf {n} lower"), solves, solves)
        yield (f"solve of order {n}, {m} columns ({case}), us: `spd.cu`, potrf and 2 trsm", *decide(us(probe, f"spd {n} x {m}"), library))
        yield (f"its adjoint, us: `spd.cu`, 2 trsm", *decide(us(probe, f"spd adjoint {n} x {m}"), add_up(solves, solves)))
    for math in ("fp32", "tf32", "bf16"):
        for name, plain in ((SHORT, f"{SHORT}: plain {math}"), (LONG, f"{LONG}: plain {math}")):
            yield (f"{name}, {math}, us: with the sums, without", *decide(us(probe, f"{name}: sums {math}"), us(probe, plain),
                                                                          ("sums in the epilogue", "a plain product, and a reduction if it takes less than the difference")))
        yield (f"step of nc15, {math}, ms: replayed, taken", *decide(least(steps, "nc15", math, "ours_replayed"), least(steps, "nc15", math, "ours"),
                                                                     ("replay", "taken")))
        for case in ("nc15", "nc64"):
            yield (f"step of {case}, {math}, ms: by rule, by libraries", *decide(least(steps, case, math, "ours_replayed"), least(steps, case, math, "libraries"), ("the rule", "libraries")))
            yield (f"step of {case}, {math}, ms: by rule, by our kernels", *decide(least(steps, case, math, "ours_replayed"), least(steps, case, math, "kernels"), ("the rule", "our kernels")))
    for case in sorted(case for case in wide.get("never", {}) if case.startswith("softmax")):
        yield (f"{case} with its adjoint, ms: `softmax.cu`, cuDNN", *decide(wide["never"][case].get("min_ms"), wide.get("always", {}).get(case, {}).get("min_ms")))
    for what in sorted(probe):
        if what.startswith("tf32 - fp32"):
            yield what, f"{probe[what].get('largest')}", "TF32" if probe[what].get("largest") else "float32 although TF32 is allowed"
        if what.startswith("relu of NaN"):
            yield what, "", "kept" if probe[what].get("is_nan") else "dropped"
        if what.startswith(("potrf", "trsm")) and "capture" in probe[what]:
            yield f"{what} in a graph", "", probe[what]["capture"]


def table(found):
    """Markdown."""
    return "\n".join(["| question | figures | answer |", "|---|---|---|", *(f"| {q} | {f} | {a} |" for q, f, a in rows(found))])
