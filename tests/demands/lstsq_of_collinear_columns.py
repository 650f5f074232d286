"""Does least squares in float32 find scale and shift where a column hardly varies, or else say that it does not?

Asked: https://github.com/pytorch/pytorch/issues/127223
Answer: It finds them. 100,000 rows of [x, 1] with x from 30 to 30.1 have singular values in the ratio 3e-5, hundreds of
times the rounding of float32. A threshold that grows with the number of rows, as PyTorch's does, cuts the smaller one off
without a word. Not answered: `least_squares` does not tell the rank that it found; `svd` has the values.
"""

import numpy as np

import mochi
from demand import tell, torch_now

x = (30 + 0.1 * np.random.default_rng(0).random(100_000)).astype("float32")
A, B = np.stack([x, np.ones_like(x)], 1), (1.2578 - 0.0085 * x.astype("float64")).astype("float32")[:, None]


def said(solution):
    scale, shift = np.ravel(solution)
    return f"{scale:.4f} x + {shift:.3f}"


with mochi.Tape():
    ours = said(mochi.ops.least_squares(A, B).numpy())
tell(
    "-0.0085 x + 1.258",
    ours,
    "0.00098 x + 0.000",
    now=torch_now(lambda torch: said(torch.linalg.lstsq(torch.tensor(A), torch.tensor(B)).solution.numpy())),
)
