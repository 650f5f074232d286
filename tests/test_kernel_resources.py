#!/usr/bin/env python3
"""tools/bench/kernel_resources.py finds a spill, a kernel that streams without 16-byte accesses and one that is gone, in what
cuobjdump says; and reads names as they are mangled. On a library, meson runs the script itself."""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools", "bench"))
sys.dont_write_bytecode = True
import kernel_resources as kernels  # noqa: E402

NARROW, NORM = "_Z13narrow_kernel10narrowings", "_Z11norm_kernelIfEv15norm_parametersIT_EPd"
OTHER = "_Z13narrow_kernellPKlPi"  # another kernel of that name, which streams nothing


def usage(*stacks):
    lines = "\n".join(f" Function {name}:\n  REG:36 STACK:{stack} SHARED:64 LOCAL:0 CONSTANT[0]:352 TEXTURE:0"
                      for name, stack in zip((NARROW, NORM, OTHER), stacks))
    return kernels.usage_of(lines)


def disassembly(narrow, norm):
    return kernels.accesses_of(f"\t\tFunction : {NARROW}\n{narrow}\n\t\tFunction : {NORM}\n{norm}\n")


LOAD = "        /*0460*/              @!P0 LDG.E.128 R8, [R24.64] ;   /* 0x0000000c18087981 */\n"
STORE = "        /*0470*/                   STG.E.128 [R4.64], R8 ;   /* 0x0000000c18087981 */\n"
NARROWER = LOAD.replace(".128", ".64")
fine = disassembly(LOAD + LOAD + STORE, LOAD)
assert fine == {NARROW: [2, 1], NORM: [1, 0]}, fine
assert usage(0, 0, 0)[NORM] == (36, 0, 64, 0)
assert kernels.faults_of(usage(0, 0, 0), fine) == []
assert kernels.faults_of(usage(0, 8, 0), fine) == ["norm_kernel<float>: 8 bytes of local memory, expected at most 0"]
assert kernels.faults_of(usage(0, 0, 16), fine) == ["narrow_kernel<>: 16 bytes of local memory, expected at most 0"]
assert kernels.faults_of(usage(0), fine) == ["norm_kernel of norm_parameters: not in the file"]
slow = kernels.faults_of(usage(0, 0), disassembly(LOAD, NARROWER))
assert slow == ["norm_kernel<float>: 0 loads and 0 stores of 16 bytes, expected at least 1 and 0",
                "narrow_kernel<>: 1 loads and 0 stores of 16 bytes, expected at least 1 and 1"], slow
assert kernels.plain_name("_Z11move_kernelItEv9cuda_nestILi2EEPKT_PS2_") == ("move_kernel", "uint16", "cuda_nest")
assert kernels.plain_name("main") == ("main", "", "")
assert kernels.oldest_architecture("ELF file 1: a.1.sm_90.cubin\nELF file 2: a.2.sm_80.cubin\n") == "sm_80"
print("kernel_resources: 6 sets of kernels, 3 names")
