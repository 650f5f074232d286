"""Is there a picture, or a walk, of gradients that flow back through a graph?

Asked: https://github.com/karpathy/micrograd/pull/105
Answer: Yes: `mochi explain TOPIC --step` walks through the lines of an adjoint with its numbers and differences beside them,
and the page `mochi.html` steps forward and backward through a tape whose boxes show their gradients.
"""

import json
import os
import shutil
import subprocess

from demand import NAME, tell

program = os.environ.get("MOCHI_PROGRAM") or shutil.which("mochi")
if not program:
    print(f"{NAME}: skipped: no program mochi here")
    raise SystemExit(77)
lesson = json.loads(subprocess.run([program, "explain", "ridge", "--json"], capture_output=True, check=True).stdout)
steps = [block for block in lesson["blocks"] if block["kind"] == "line" and block["differences"]]
tell("6 lines", f"{len(steps)} lines", "an animation offered, open")
