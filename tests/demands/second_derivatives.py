"""Are second derivatives possible at all in a small engine?

Asked: https://github.com/huggingface/candle/issues/2462
Answer: Yes: every rule is written with ops, so `grad(grad(f))` is the same machine twice, to any order.
"""

import numpy as np

import mochi
from demand import needs, tell

mp = needs("mpmath")
mp.mp.dps = 40
ours = mochi.grad(lambda x: mochi.grad(lambda x: mochi.ops.exp(mochi.ops.sin(x) * x))(x))(np.array(1.3)).item()
tell(float(mp.diff(lambda x: mp.exp(mp.sin(x) * x), mp.mpf(13) / 10, 2)), ours, "out of scope")
