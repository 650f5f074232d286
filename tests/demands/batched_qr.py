"""Is QR of thousands of small matrices fast?

Asked: https://github.com/pytorch/pytorch/issues/143281
Answer: On a processor, yes. Not answered: on a GPU each matrix is a call of its own, as in the peer.
"""

import numpy as np

import mochi
from demand import least, tell, torch_now

A = np.random.default_rng(0).normal(size=(8192, 3, 3)).astype("float32")

ONE = mochi.Context(threads=1)  # as NumPy


def ours():
    with mochi.Tape(context=ONE):
        Q, R = mochi.ops.qr(A)
        return float(np.abs(Q.numpy() @ R.numpy() - A).max())


error, time_ours, time_numpy = ours(), least(ours), least(lambda: np.linalg.qr(A))
peer = torch_now(lambda torch: f"{least(lambda: torch.linalg.qr(torch.tensor(A))):.1f} ms")
good = error < 1e-5 and time_ours < 2 * time_numpy
tell(
    "Q R = A, within twice NumPy's time",
    good or f"{error:.0e} {time_ours} {time_numpy}",
    "GPU 210 ms, CPU 1.7 ms",
    now=", ".join(filter(None, [f"ours {time_ours:.1f} ms, NumPy {time_numpy:.1f}", peer])),
)
