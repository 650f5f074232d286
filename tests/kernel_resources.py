#!/usr/bin/env python3
"""Registers, shared memory and local memory of every kernel in the CUDA backend, and the 16-byte accesses of those that stream.

Usage: kernel_resources.py LIBRARY [--cuobjdump PROGRAM] [--markdown]

LIBRARY: libmochi-cuda.so, or an object of nvcc's. Its oldest architecture is read, by the toolkit's
`cuobjdump`: the program that is named, else that of the environment variable CUOBJDUMP, on the path, or in the toolkit's
usual place. Exit code 1: a kernel has more local memory than LOCAL allows (a spill), or a kernel in STREAMS has no 16-byte
load or store; 77: no cuobjdump."""
import argparse
import os
import re
import shutil
import subprocess
import sys

# Kernels that read their rows in order and do little else, by the first of their mangled parameters: the least numbers of
# 16-byte loads and stores.
STREAMS = {"operand_kernel of copyings": (1, 1), "norm_kernel of gradients": (1, 0), "adamw_kernel of ": (4, 3), "map1_kernel of cuda_nest": (1, 1),
           "map2_kernel of cuda_nest": (2, 1), "where_kernel of cuda_nest": (2, 1), "move_kernel of cuda_nest": (1, 1),
           "fill_kernel of cuda_nest": (0, 1), "attend_kernel of attended": (1, 1), "attend_adjoint_kernel of attended_bar": (1, 1)}
# The bytes of local memory that kernels, by a pattern of the mangled name, may have for arrays indexed by a variable, which
# cannot be in registers. Any more is a spill. The last: sine and cosine, mo_map1's numbers 7 and 8, of large arguments.
LOCAL = {"11fill_kernel": 128, "14address_kernel": 128, "13random_kernel": 64, "11map1_kernelI[df]L7mo_map1[78]E": 40}
PLACES = ("/usr/local/cuda/bin/cuobjdump", "/opt/cuda/bin/cuobjdump")
USAGE = re.compile(r"Function (\S+):\s*REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")
LOAD, STORE = re.compile(r"\bLDG\.E\.128\b"), re.compile(r"\bSTG\.E\.128\b")


def find_cuobjdump(named=None):
    for program in (named, os.environ.get("CUOBJDUMP"), shutil.which("cuobjdump"), *PLACES):
        if program and os.access(program, os.X_OK):
            return program
    return None


def said(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def oldest_architecture(listing):
    found = sorted({int(a) for a in re.findall(r"\.sm_(\d+)\.cubin", listing)})
    if not found:
        raise SystemExit("kernel_resources.py: no device code in the file")
    return f"sm_{found[0]}"


def usage_of(text):
    """Returns the registers, stack, static shared and local bytes of each kernel, by its mangled name."""
    return {name: tuple(int(n) for n in numbers) for name, *numbers in USAGE.findall(text)}


def accesses_of(disassembly):
    """Counts the 16-byte loads and stores of each kernel."""
    counts, kernel = {}, None
    for line in disassembly.splitlines():
        begins = re.search(r"Function : (\S+)", line)
        if begins:
            kernel = counts.setdefault(begins.group(1), [0, 0])
        elif kernel:
            for i, pattern in enumerate((LOAD, STORE)):
                kernel[i] += bool(pattern.search(line))
    return counts


def read_name(text):
    """Splits a mangled name at its start: returns the name that its length precedes, and the rest."""
    match = re.match(r"\d+", text)
    if not match:
        return "", text
    end = match.end() + int(match.group())
    return text[match.end():end], text[end:]


def plain_name(mangled):
    """("norm_kernel", "double", "gradients") of _Z11norm_kernelIdEv9gradientsIT_EPd: the name, the
    template's type, and the first parameter if that is a struct."""
    name, rest = read_name(re.sub(r"^_ZL?(N\d+\D\w*?E)?", "", mangled))
    template = re.match(r"I([dfjmth])\w*?Ev", rest)
    types = {"d": "double", "f": "float", "j": "uint32", "m": "uint64", "t": "uint16", "h": "uint8"}
    first, _ = read_name(rest[template.end():] if template else rest)
    return name or mangled, types[template.group(1)] if template else "", first


def streams(mangled):
    name, _, first = plain_name(mangled)
    return STREAMS.get(f"{name} of {first}")


def rows_of(usage, accesses):
    """Yields name, type, registers, shared and local bytes and, for kernels in STREAMS, 16-byte loads and stores."""
    return sorted((*plain_name(mangled)[:2], registers, shared, stack + local, *accesses.get(mangled, ("", "")))
                  for mangled, (registers, stack, shared, local) in usage.items())


def faults_of(usage, accesses):
    faults, found = [], set()
    for mangled, (_, stack, _, local) in sorted(usage.items()):
        name, of, first = plain_name(mangled)
        most = max((n for pattern, n in LOCAL.items() if re.search(pattern, mangled)), default=0)
        if stack + local > most:
            faults.append(f"{name}<{of}>: {stack + local} bytes of local memory, expected at most {most}")
        least, has = streams(mangled), accesses.get(mangled, (0, 0))
        found.add(f"{name} of {first}")
        if least and (has[0] < least[0] or has[1] < least[1]):
            faults.append(f"{name}<{of}>: {has[0]} loads and {has[1]} stores of 16 bytes, expected at least {least[0]} and {least[1]}")
    return faults + [f"{name}: not in the file" for name in sorted(set(STREAMS) - found)]


def print_table(rows, markdown):
    head = ("kernel", "type", "registers", "shared", "local", "16-byte loads", "16-byte stores")
    if markdown:
        print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in (() if markdown else (head,)):
        print("%-28s %-7s %9s %6s %5s %13s %14s" % row)
    for row in rows:
        print(("| `%s` | %s | %s | %s | %s | %s | %s |" if markdown else "%-28s %-7s %9s %6s %5s %13s %14s") % row)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][len("Usage: "):])
    parser.add_argument("library")
    parser.add_argument("--cuobjdump")
    parser.add_argument("--markdown", action="store_true")
    given = parser.parse_args()
    program = find_cuobjdump(given.cuobjdump)
    if program is None:
        print("skipped: no cuobjdump on the path nor in the toolkit's usual place")
        return 77
    architecture = oldest_architecture(said(program, "-lelf", given.library))
    usage = usage_of(said(program, "-res-usage", "-arch", architecture, given.library))
    streaming = ",".join(name for name in usage if streams(name))
    accesses = accesses_of(said(program, "-sass", "-arch", architecture, "-fun", streaming, given.library)) if streaming else {}
    rows = rows_of(usage, accesses)
    print_table(rows, given.markdown)
    faults = faults_of(usage, accesses)
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{architecture}: {len(rows)} kernels, {len(faults)} faults")
    return 1 if faults or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
