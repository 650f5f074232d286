"""python3 -m mochi.convert IN OUT; or, without the package mochi, python3 FOLDER/convert IN OUT."""

import importlib.util
import os
import pathlib
import sys
from typing import Any

if __name__ == "__main__" and not importlib.util.find_spec("numpy"):
    # The first python3 in PATH need not be Debian's, which has the package.
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", "-B", *(["-m", "mochi.convert"] if __package__ else sys.argv[:1]), *sys.argv[1:]])
    sys.exit("mochi.convert needs numpy: pip install numpy (Debian: apt-get install python3-numpy)")
if __package__:
    from . import main
else:
    folder = pathlib.Path(__file__).resolve().parent
    sys.path.pop(0)  # the folder: its modules are the package's
    spec: Any = importlib.util.spec_from_file_location("convert", folder / "__init__.py", submodule_search_locations=[str(folder)])
    sys.modules["convert"] = package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    main = package.main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
