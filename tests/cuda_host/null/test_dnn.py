#!/usr/bin/env python3
"""cuDNN has an engine for the layers of seam_dnn.c, and compiles their kernels, for an H100 and an A100 that are not there: it is
given their properties, and a driver whose functions do nothing. Skipped where cuDNN, NVRTC or the toolkit's stub of the driver is
missing.

Usage: test_dnn.py DNN_WITHOUT_DEVICE"""
import ctypes
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

FOLDERS = ["/usr/local/cuda/lib64", "/usr/local/cuda/lib"]
DEVICE = {"cudaDeviceId": 0, "driverVer": 13000, "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
          "regsPerBlock": 65536, "warpSize": 32, "maxSharedMemoryPerBlock": 49152, "reservedSharedMemoryPerBlock": 1024,
          "maxRegistersPerSM": 65536, "pciDeviceId": 0, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
          "isTccDriver": 0, "supportCoopLaunch": 1}
DEVICES = [
    {"deviceName": "NVIDIA H100 80GB HBM3", "deviceVer": 900, "multiProcessorCount": 132, "smClockRateKHz": 1980000,
     "memClockRateKHz": 2619000, "l2CacheSize": 52428800, "maxSharedMemoryPerBlockOptin": 232448, "totalGlobalMem": 85017493504},
    {"deviceName": "NVIDIA A100-SXM4-80GB", "deviceVer": 800, "multiProcessorCount": 108, "smClockRateKHz": 1410000,
     "memClockRateKHz": 1593000, "l2CacheSize": 41943040, "maxSharedMemoryPerBlockOptin": 166912, "totalGlobalMem": 85017493504},
]
# Functions of the driver that must answer, in C; every other one returns success.
ANSWERS = {
    "cuDriverGetVersion": "(int *v) { *v = 13000; return 0; }",
    "cuGetExportTable": "(const void **t) { *t = 0; return 500; }",
    "cuOccupancyMaxActiveClusters": "(int *n) { *n = 66; return 0; }",
    **{name: "(const char *n, void **f) { *f = 0; return 500; }" for name in ("cuGetProcAddress", "cuGetProcAddress_v2")},
    **{name: "(void **made) { *made = (void *)16; return 0; }" for name in ("cuLibraryLoadData", "cuLibraryGetKernel", "cuKernelGetFunction",
                                                                         "cuModuleLoadData", "cuModuleLoadDataEx", "cuModuleGetFunction")},
}


def make_driver(folder):
    stub = next((f for folder in FOLDERS for f in glob.glob(os.path.join(folder, "stubs", "libcuda.so"))), None)
    if not stub:
        return False
    names = sorted(set(re.findall(r" T (cu[A-Z]\w+)", subprocess.run(["nm", "-D", stub], capture_output=True, text=True, check=True).stdout)))
    source = os.path.join(folder, "driver.c")
    with open(source, "w") as file:
        file.writelines(f"int {name}{ANSWERS.get(name, '(void) { return 0; }')}\n" for name in names)
    subprocess.run(["cc", "-w", "-shared", "-fPIC", source, "-o", os.path.join(folder, "libcuda.so.1")], check=True)
    return True


def is_there(name):
    found = [f for folder in FOLDERS for f in glob.glob(os.path.join(folder, name + ".so.*"))]
    try:
        return bool(found) and bool(ctypes.CDLL(found[0]))
    except OSError:
        return False


with tempfile.TemporaryDirectory() as folder:
    if not (is_there("libcudnn") and is_there("libnvrtc") and make_driver(folder)):
        print("skipped: no cuDNN, NVRTC or stub of the driver in " + " or ".join(FOLDERS))
        sys.exit(77)
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join([folder, *FOLDERS]), "CUDNN_LOGLEVEL_DBG": "0"}
    for device in DEVICES:
        properties = os.path.join(folder, "device.json")
        with open(properties, "w") as file:
            json.dump({**DEVICE, **device}, file)
        done = subprocess.run([sys.argv[1], properties], env=environment, capture_output=True, text=True)
        lines = done.stdout.splitlines()
        print(device["deviceName"], *lines, sep="\n  ")
        assert done.returncode == 0 and sum(line.endswith("planned") for line in lines) == 4 and lines[-1] == "turned: refused", done
        kernels = [line.split()[1] for line in lines if line.startswith("kernel ")]
        assert kernels[0] == kernels[1] != kernels[2], kernels  # another number of rows has the same kernel
