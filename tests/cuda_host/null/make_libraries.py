#!/usr/bin/env python3
"""Writes functions of CUDA's runtime, cuBLAS and cuSOLVER that compute nothing: "FUNCTION WORK" in libraries.txt queues one piece of work, "FUNCTION -"
none. They look at no argument, and so leave what they are asked to fill in as it is. Usage: make_libraries.py libraries.txt OUTPUT"""
import sys

EXECUTION_FAILED = {"cub": 13, "cus": 6}  # the status of a failure in cuBLAS, and in cuSOLVER
with open(sys.argv[2], "w") as out:
    # not from vendor.h, whose header of CUDA declares some of the functions, with their arguments
    out.write("#include <stdbool.h>\nbool vendor_work(const char *function, const char *format, ...);\nbool vendor_done(bool queued);\n")
    for line in open(sys.argv[1]):
        name, work = line.rstrip("\n").split(" ", 1)
        done = f'vendor_done(vendor_work("{name.removesuffix("_64").removesuffix("_v2")}", "{work}")) ? 0 : {EXECUTION_FAILED.get(name[:3])}'
        out.write(f'int {name}(void);\nint {name}(void) {{\n    return {"0" if work == "-" else done};\n}}\n')
