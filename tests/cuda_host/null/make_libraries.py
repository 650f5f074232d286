#!/usr/bin/env python3
"""Writes functions of cuBLAS and cuSOLVER that compute nothing: "FUNCTION WORK" in libraries.txt queues one piece of work, "FUNCTION -"
none. They look at no argument, and so leave what they are asked to fill in as it is. Usage: make_libraries.py libraries.txt OUTPUT"""
import sys

EXECUTION_FAILED = {"cub": 13, "cus": 6}  # the status of a failure in cuBLAS, and in cuSOLVER
with open(sys.argv[2], "w") as out:
    out.write('#include "tests/cuda_host/null/vendor.h"\n')
    for line in open(sys.argv[1]):
        name, work = line.rstrip("\n").split(" ", 1)
        done = f'vendor_done(vendor_work("{name.removesuffix("_64").removesuffix("_v2")}", "{work}")) ? 0 : {EXECUTION_FAILED[name[:3]]}'
        out.write(f'int {name}(void);\nint {name}(void) {{\n    return {"0" if work == "-" else done};\n}}\n')
