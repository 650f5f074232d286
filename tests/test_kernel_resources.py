#!/usr/bin/env python3
"""tests/kernel_resources.py finds a spill, a kernel that streams without 16-byte accesses and one that is gone, in what
cuobjdump says; and reads names as they are mangled. On a library, meson runs the script itself."""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests"))
sys.dont_write_bytecode = True
import kernel_resources as kernels  # noqa: E402

NARROW, NORM = "_Z13narrow_kernel10narrowings", "_Z11norm_kernelIfEv15norm_parametersIT_EPd"
STRANGER = "_Z13narrow_kernellPKlPi"  # another kernel of that name, which streams nothing
OTHERS = ("_Z11map1_kernelIfL7mo_map10EEv9cuda_nestILi2EEl12coefficientsIT_EPS3_PKS3_",
        "_Z11map2_kernelIdL7mo_map23EEv9cuda_nestILi3EElPT_PKS3_S6_", "_Z12where_kernelIfhEv9cuda_nestILi4EElPT_PKT0_PKS2_S8_",
        "_Z11move_kernelItEv9cuda_nestILi2EElPT_PKS2_", "_Z11fill_kernelIhEv9cuda_nestILi1EEl12coefficientsIT_EPS3_",
        "_Z13attend_kernelIfEv8attendedIT_E", "_Z21attend_adjoint_kernelIdEv12attended_barIT_E")


def usage(*stacks):
    lines = "\n".join(f" Function {name}:\n  REG:36 STACK:{stack} SHARED:64 LOCAL:0 CONSTANT[0]:352 TEXTURE:0"
                      for name, stack in zip((*OTHERS, NARROW, NORM, STRANGER), (0,) * len(OTHERS) + stacks))
    return kernels.usage_of(lines)


def disassembly(narrow, norm, maps=None):
    of = {NARROW: narrow, NORM: norm, **{name: LOAD * 2 + STORE for name in OTHERS}, **(maps or {})}
    return kernels.accesses_of("".join(f"\t\tFunction : {name}\n{lines}\n" for name, lines in of.items()))


LOAD = "        /*0460*/              @!P0 LDG.E.128 R8, [R24.64] ;   /* 0x0000000c18087981 */\n"
STORE = "        /*0470*/                   STG.E.128 [R4.64], R8 ;   /* 0x0000000c18087981 */\n"
NARROWER = LOAD.replace(".128", ".64")
fine = disassembly(LOAD + LOAD + STORE, LOAD)
assert fine == {NARROW: [2, 1], NORM: [1, 0], **{name: [2, 1] for name in OTHERS}}, fine
assert usage(0, 0, 0)[NORM] == (36, 0, 64, 0)
assert kernels.faults_of(usage(0, 0, 0), fine) == []
assert kernels.faults_of(usage(0, 8, 0), fine) == ["norm_kernel<float>: 8 bytes of local memory, expected at most 0"]
assert kernels.faults_of(usage(0, 0, 16), fine) == ["narrow_kernel<>: 16 bytes of local memory, expected at most 0"]
assert kernels.faults_of(usage(0), fine) == ["norm_kernel of norm_parameters: not in the file"]
slow = kernels.faults_of(usage(0, 0), disassembly(LOAD, NARROWER))
assert slow == ["norm_kernel<float>: 0 loads and 0 stores of 16 bytes, expected at least 1 and 0",
                "narrow_kernel<>: 1 loads and 0 stores of 16 bytes, expected at least 1 and 1"], slow
slow = kernels.faults_of(usage(0, 0), disassembly(LOAD * 2 + STORE, LOAD, {OTHERS[1]: LOAD + NARROWER + STORE, OTHERS[4]: STORE}))
assert slow == ["map2_kernel<double>: 1 loads and 1 stores of 16 bytes, expected at least 2 and 1"], slow
assert kernels.plain_name(OTHERS[0]) == ("map1_kernel", "float", "cuda_nest")
assert kernels.plain_name("_Z11move_kernelItEv9cuda_nestILi2EEPKT_PS2_") == ("move_kernel", "uint16", "cuda_nest")
assert kernels.plain_name("main") == ("main", "", "")
assert kernels.oldest_architecture("ELF file 1: a.1.sm_90.cubin\nELF file 2: a.2.sm_80.cubin\n") == "sm_80"
print("kernel_resources: 7 sets of kernels, 4 names")
