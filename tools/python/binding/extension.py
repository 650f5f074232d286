"""The extension modules that cffi compiles: the library, linked statically, behind gates.

One, mochi._native, for this machine's processor; or, for portable wheels, one for each level of x86-64 in MOCHI_PYTHON_KERNELS
("v2 v3 v4"): mochi._kernels_v2 .. (mochi/_library.py chooses). The library is built by meson in a folder of its own, or taken
from MOCHI_PYTHON_LIBRARY, a build folder of meson that holds libmochi.a.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sysconfig

import cffi
import gates
import headers

HERE = pathlib.Path(__file__).resolve().parent
INSIDE = HERE.parent / "library"  # the library's sources in an sdist
ROOT = INSIDE if INSIDE.is_dir() else HERE.parents[2]
BUILD = pathlib.Path(os.environ.get("MOCHI_PYTHON_BUILD", ROOT / "build-python"))
GATE = (HERE / "gate.c").read_text()
# The types of the gate for Python; its functions are those of gate.c that are named binding_.
GATE_TYPES = """
typedef struct binding_gate binding_gate;
typedef enum binding_failure { BINDING_FINE, BINDING_ERROR, BINDING_BUSY, BINDING_FORKED } binding_failure;
"""


def compiler():
    """The compiler's command without its options; a cache before it (ccache) stays."""
    words = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    return words[: 2 if words[0].endswith("ccache") else 1]


# The processors to build kernels for, by the name of the extension.
KERNELS = {f"_kernels_{level}": f"x86-64-{level}" for level in os.environ.get("MOCHI_PYTHON_KERNELS", "").split()}
KERNELS = KERNELS or {"_native": "native"}


def library_folder(processor):
    """A build folder of meson with an up-to-date libmochi.a for that processor."""
    given = os.environ.get("MOCHI_PYTHON_LIBRARY")
    if given:
        return pathlib.Path(given)
    folder = BUILD / f"library-{processor}"
    options = [f"-Dcpu={processor}", *shlex.split(os.environ.get("MOCHI_PYTHON_MESON", "-Dcuda=disabled"))]
    try:
        if not (folder / "build.ninja").exists():
            subprocess.run(["meson", "setup", folder, ROOT, "-Dbuildtype=release", *options], check=True)
        subprocess.run(["ninja", "-C", folder, "libmochi.a"], check=True)
    except (subprocess.CalledProcessError, OSError) as failure:
        raise SystemExit(
            f"libmochi was not built ({failure}). It needs a C compiler, pkg-config, OpenBLAS, LAPACK, libzip, jansson, libcsv "
            f"and xxhash: the lines above name what is missing, and {ROOT}/tools/install brings it on Debian and Ubuntu."
        ) from None
    return folder


def link_flags(folder):
    """The libraries that the static library needs, from its pkg-config file."""
    environment = {**os.environ, "PKG_CONFIG_PATH": f"{folder}/meson-private:{os.environ.get('PKG_CONFIG_PATH', '')}"}
    command = ["pkg-config", "--static", "--libs", "mochi"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return [flag for flag in shlex.split(done.stdout) if flag != "-lmochi"]


def declared(name):
    """The declarations of a header of this folder."""
    text = re.sub(r"/\*.*?\*/", " ", (HERE / name).read_text(), flags=re.S)
    return list(headers.statements(headers.without_attributes(text)))


def gate_functions():
    """The declarations of the functions of gate.c that Python calls."""
    return "".join(f"{head};\n" for head in re.findall(r"^static ([^=;]*?\bbinding_\w+\([^)]*\)) \{", GATE, re.M))


def builder(name):
    """The cffi builder of an extension, without the library's path, which the build adds."""
    text = headers.declarations(ROOT, compiler())
    ffi = cffi.FFI()
    structs, callbacks = "\n".join(declared("dlpack.h")), declared("callbacks.h")
    ffi.cdef(text + GATE_TYPES + gate_functions() + structs + gates.declarations(text) + "void free(void *);")
    ffi.cdef('extern "Python" {\n' + "\n".join(callbacks) + "\n}")
    included = (*headers.HEADERS, "math.h", "stdlib.h")
    source = "".join(f'#include "{header}"\n' for header in included)
    source += structs + "".join(f"static {line}\n" for line in callbacks)
    source += GATE + gates.definitions(text)
    ffi.set_source(
        f"mochi.{name}",
        source,
        include_dirs=[str(ROOT)],
        extra_compile_args=[
            "-std=gnu11", "-O1", "-g0", "-D_GNU_SOURCE", "-Wno-deprecated-declarations",
            f"-ffile-prefix-map={BUILD}=.",  # the same bytes in every folder
        ],
        py_limited_api=True,
    )
    return ffi
