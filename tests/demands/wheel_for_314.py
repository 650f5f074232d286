"""Does a Python that came out after the release find a wheel?

Asked: https://github.com/osqp/osqp/issues/777
Answer: Yes: the wheel has the tag abi3 of Python 3.10, which every later Python 3 takes, 3.14 among them. No wheel is on
PyPI yet.
"""

import importlib.metadata

from demand import tell

distribution = importlib.metadata.distribution("libmochi")
tags = [line.split(": ")[1] for line in distribution.read_text("WHEEL").splitlines() if line.startswith("Tag")]
extension = [file.name for file in distribution.files if file.name.startswith("_native") and file.suffix == ".so"]
good = all(tag.startswith("cp310-abi3") for tag in tags) and extension == ["_native.abi3.so"]
tell("cp310-abi3", tags and good or f"{tags} {extension}", "no wheel for 3.14")
