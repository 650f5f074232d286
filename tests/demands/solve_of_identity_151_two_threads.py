"""Does a batch of two identities, n = 151, solve with two threads?

Asked: https://github.com/pytorch/pytorch/issues/142815
Answer: Yes, and X is exactly the right-hand side. PyTorch 2.15.0 with oneMKL prints the reported error and does not come
back.
"""

import subprocess
import sys

import numpy as np

import mochi
from demand import tell, torch_now

PEER = """import torch; torch.set_num_threads(2)
print(torch.linalg.solve(torch.eye(151).repeat(2, 1, 1), torch.ones(2, 151)).sub(1).abs().max())"""


def peer(torch):
    try:
        run = subprocess.run([sys.executable, "-c", PEER], capture_output=True, text=True, timeout=10, check=False)
    except subprocess.TimeoutExpired:
        return "has not ended after 10 s"
    return f"has the error {run.stdout.strip()}" if run.returncode == 0 else "raises"


with mochi.Tape(context=mochi.Context(threads=2)):
    X = mochi.ops.solve(np.tile(np.eye(151, dtype="float32"), (2, 1, 1)), np.ones((2, 151, 1), "float32"))
    error = float(np.abs(X.numpy() - 1).max())
tell("error 0", f"error {error:g}", "RuntimeError", now=torch_now(peer))
