"""Does a training step of 17 million parameters run, and is an op without a derivative an error instead of an abort?

Asked: https://github.com/ggml-org/llama.cpp/issues/18499
Answer: Yes: the ops have rules, which the tests check to the second order. What has none raises when its gradient is asked
for, and the program goes on.
"""

import numpy as np

import mochi
from demand import tell

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(8, 1024)).astype("float32"), rng.normal(size=(8, 1024)).astype("float32")
W = [mochi.parameter((rng.normal(size=s) / 32).astype("float32")) for s in ((8192, 1024), (1024, 8192))]
optimizer = mochi.AdamW(W, lr=1e-4)
losses = []
for _ in range(3):
    with mochi.Tape() as tape:
        loss = mochi.ops.mse(mochi.ops.relu(X @ W[0].mT) @ W[1].mT, Y)
        losses.append(loss.item())
        optimizer.step(tape.grad(loss, W))
try:
    with mochi.Tape() as tape:
        tape.grad(mochi.Op(np.cosh, name="cosh")(W[0]).sum(), W[:1])
    raised = False
except mochi.Error as error:
    raised = "cosh" in str(error)
good = losses[0] > losses[1] > losses[2] and raised and sum(w.size for w in W) > 16_700_000
tell("the loss falls, errors are raised", good or f"{losses} {raised}", "GGML_ASSERT aborts")
