#!/usr/bin/env python3
"""Whether the op suite sees a wrong vjp: mutations of vjps, drawn by seed, each built into a copy of the tree and run
against the generic tests of ops. Prints the share that they catch and lists what survives; fails below 95%.

Usage: tests/ops/test_mutations.py [COUNT] [--seed N]     default: 200 mutations, over every op in turn

A mutation changes one place in the vjp of an op, or in a function of its file that the vjp calls:
  sign       a gradient or a term is negated, a sum becomes a difference
  factor     a gradient is doubled or halved, a constant changed
  transpose  a transposition is dropped, the factors of a product change places, a triangle becomes the other
  axis       an axis, or whether it is kept, is another one; a sum is a mean; an input is its neighbour
A mutation that does not compile is drawn again."""
import argparse
import collections
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PARTS = ("meson.build", "meson_options.txt", "README.md", "LICENSE", "autograd", "models", "ops", "tensor", "tests", "tools",
         "train")
TESTS = ("ops_gradient", "op_table", "op_shapes", "ops_inputs", "ops_forward", "where", "implicit")
LEAST_SHARE = 0.95
FUNCTION = re.compile(r"^(?:static )?[\w ]+[ *](\w+)\([^;{}]*\) \{\n(.*?)^\}", re.M | re.S)
DESCRIPTOR = re.compile(r'\.name = "(\w+)",((?:(?!\.name = ).)*?)\.vjp = (\w+)', re.S)

Mutation = collections.namedtuple("Mutation", "op kind path start end text")


# ---- places ----

def closing(text, opening):
    """The position of the parenthesis that closes the one at `opening`."""
    depth = 0
    for i in range(opening, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i
    raise ValueError("unbalanced")


def arguments(text, opening):
    """The (start, end) of each argument of the call whose parenthesis is at `opening`."""
    end, depth, start, found = closing(text, opening), 0, opening + 1, []
    for i in range(opening + 1, end + 1):
        if i == end or (text[i] == "," and depth == 0):
            found.append((start + len(text[start:i]) - len(text[start:i].lstrip()), i))
            start = i + 1
        depth += (text[i] in "([{") - (text[i] in ")]}")
    return found


def calls(body, name):
    for m in re.finditer(r"\b" + name + r"\(", body):
        yield m.start(), m.end() - 1, arguments(body, m.end() - 1), closing(body, m.end() - 1) + 1


def assigned(body):
    """The (start, end) of what is assigned to a gradient, and of what is handed to a function that assigns it."""
    for m in re.finditer(r"in_bar\[[^]]*\] = ", body):
        end = body.index(";", m.end())
        if body[m.end():end] != "NULL":
            yield m.end(), end
    for m in re.finditer(r"\bgive\(", body):
        yield arguments(body, m.end() - 1)[-1]


def places(body):
    """(kind, start, end, replacement) of every mutation of a function's body."""
    for start, end in assigned(body):
        yield "sign", start, end, f"mo_neg(v->t, {body[start:end]})"
        for factor in (2, 0.5):
            yield "factor", start, end, f"mo_scale(v->t, {body[start:end]}, {factor}, 0)"
    for name, other in (("mo_add", "mo_sub"), ("mo_sub", "mo_add")):
        for start, opening, _, _ in calls(body, name):
            yield "sign", start, opening, other
    for start, _, args, end in calls(body, "mo_neg"):
        yield "sign", start, end, body[slice(*args[1])]
    for start, _, args, end in calls(body, "mo_scale"):
        yield "factor", args[2][0], args[2][1], f"2 * ({body[slice(*args[2])]})"
        yield "sign", args[2][0], args[2][1], f"-({body[slice(*args[2])]})"
    for name in ("mo_transpose", "mo_square", "mo_sqrt", "mo_tril", "mo_triu"):
        for start, _, args, end in calls(body, name):
            yield "transpose" if name in ("mo_transpose", "mo_tril", "mo_triu") else "factor", start, end, body[slice(*args[1])]
    for name, other in (("mo_tril", "mo_triu"), ("mo_triu", "mo_tril")):
        for start, opening, _, _ in calls(body, name):
            yield "transpose", start, opening, other
    for name in ("mo_matmul", "mo_div", "mo_sub"):
        for start, _, (_, a, b, *_), end in calls(body, name):
            kind = "sign" if name == "mo_sub" else "transpose" if name == "mo_matmul" else "factor"
            yield kind, a[0], b[1], f"{body[slice(*b)]}, {body[slice(*a)]}"
    for _, _, (a,), _ in calls(body, "MO_AXIS"):
        yield "axis", a[0], a[1], f"({body[slice(*a)]}) - 1"
        yield "axis", a[0], a[1], f"({body[slice(*a)]}) + 1"
    for old, new in (("MO_KEEP_AXES", "MO_DROP_AXES"), ("mo_sum(", "mo_mean("), ("mo_mean(", "mo_sum("), ("v->in[0]", "v->in[1]"),
                     ("v->in[1]", "v->in[0]"), ("in_bar[0]", "in_bar[1]"), ("in_bar[1]", "in_bar[0]"), ("axis,", "axis - 1,"),
                     ("axis)", "axis + 1)"), (", -1)", ", -2)"), (", -2)", ", -1)"), ("saved[0]", "saved[1]")):
        for m in re.finditer(r"(?<![\w])" + re.escape(old), body) if old[0].isalpha() else re.finditer(re.escape(old), body):
            yield "axis", m.start(), m.end(), new


def mutations():
    """Every mutation of every op, by op and kind."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for path in sorted((ROOT / "ops").rglob("*.c")) + [ROOT / "autograd" / "accumulate.c"]:
        text = path.read_text()
        functions = {m[1]: m for m in FUNCTION.finditer(text)}
        for op, _, vjp in DESCRIPTOR.findall(text):
            if vjp not in functions:
                continue
            own = [vjp] + [name for name in functions if name != vjp and not name.startswith("mo_")
                           and re.search(r"\b" + name + r"\(", functions[vjp][2])]
            for name in own:
                start = functions[name].start(2)
                for kind, a, b, new in places(functions[name][2]):
                    if name == vjp or "v->t" not in new or "mo_vjp *v" in functions[name][0]:
                        found[op][kind].append(Mutation(op, kind, path.relative_to(ROOT), start + a, start + b, new))
    return found


def drawn(found, seed):
    """Mutations without end or repetition: every op in turn, in shuffled order, of a drawn kind."""
    r, seen = random.Random(seed), set()
    while any(m not in seen for kinds in found.values() for some in kinds.values() for m in some):
        for op in r.sample(sorted(found), len(found)):
            fresh = {k: [m for m in some if m not in seen] for k, some in sorted(found[op].items())}
            fresh = {k: some for k, some in fresh.items() if some}
            if fresh:
                mutation = r.choice(fresh[r.choice(sorted(fresh))])
                seen.add(mutation)
                yield mutation


# ---- the copy ----

def run(command, folder, seconds=120):
    try:
        return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds,
                              errors="replace", text=True)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "timed out")


def made_copy(folder):
    for part in PARTS:
        (shutil.copytree if (ROOT / part).is_dir() else shutil.copy2)(ROOT / part, folder / part)
    options = ("-Dbuildtype=plain", "-Doptimization=1", "-Dcuda=disabled", "-Dtests=true")
    for command in (["meson", "setup", "build", *options], ["ninja", "-C", "build", *(f"tests/test_{t}" for t in TESTS)]):
        done = run(command, folder, 3600)
        if done.returncode:
            sys.exit(f"{' '.join(command)}:\n{done.stdout[-3000:]}")


def caught_by(folder):
    """The first test that fails on the tree as it is, or None."""
    for test in TESTS:
        if run([f"build/tests/test_{test}"], folder).returncode:
            return test
    return None


def tried(folder, mutation):
    """(caught by or None), or "no" if it does not compile."""
    path = folder / mutation.path
    text = path.read_text()
    path.write_text(text[:mutation.start] + mutation.text + text[mutation.end:])
    try:
        built = run(["ninja", "-C", "build", *(f"tests/test_{t}" for t in TESTS)], folder, 600)
        return "no" if built.returncode else caught_by(folder)
    finally:
        path.write_text(text)


def line_of(mutation):
    text = (ROOT / mutation.path).read_text()
    old = " ".join(text[mutation.start:mutation.end].split())
    return (f"{mutation.op}, {mutation.kind}: {mutation.path}:{text.count(chr(10), 0, mutation.start) + 1}: "
            f"{old} -> {' '.join(mutation.text.split())}")


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("count", type=int, nargs="?", default=200)
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--list", action="store_true", help="print how many mutations there are to draw from")
    a = a.parse_args()
    found = mutations()
    kinds = collections.Counter(k for per_op in found.values() for k, some in per_op.items() for _ in some)
    print(f"{sum(kinds.values())} mutations of {len(found)} ops: " + ", ".join(f"{n} {k}" for k, n in sorted(kinds.items())))
    if a.list:
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder, start = pathlib.Path(temporary), time.monotonic()
        made_copy(folder)
        if caught_by(folder):
            sys.exit(f"{caught_by(folder)} fails without a mutation")
        by, survivors, ops, stillborn = collections.Counter(), [], set(), 0
        for mutation in drawn(found, a.seed):
            if sum(by.values()) + len(survivors) >= a.count:
                break
            test = tried(folder, mutation)
            if test == "no":
                stillborn += 1
                continue
            ops.add(mutation.op)
            if test:
                by[test] += 1
            else:
                survivors.append(mutation)
                print(f"survives: {line_of(mutation)}", flush=True)
            if (sum(by.values()) + len(survivors)) % 20 == 0:
                print(f"caught: {sum(by.values())} of {sum(by.values()) + len(survivors)}, {len(ops)} ops", flush=True)
        n = sum(by.values()) + len(survivors)
        print(f"{n} mutations of {len(ops)} ops, {stillborn} more do not compile, in {time.monotonic() - start:.0f} s")
        print("caught by " + ", ".join(f"{test}: {k}" for test, k in by.items()))
        print(f"caught: {sum(by.values())} of {n}, {100 * sum(by.values()) / max(n, 1):.1f}%")
        enough = n > 0 and n == a.count and len(ops) >= min(60, a.count)
        return 0 if enough and sum(by.values()) >= LEAST_SHARE * n else 1


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main())
