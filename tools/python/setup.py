"""Builds the library, the extension on it and mochi/ops.py, which is written from the headers."""

import os
import pathlib
import re
import sys

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "door"))

import extension
import operations


class BuildExtension(build_ext):
    """Builds the library first, and links it."""

    def build_extension(self, ext):
        """Links libmochi.a into the extension."""
        folder = extension.library_folder()
        archive = folder / "libmochi.a"
        ext.extra_link_args += [
            "-Wl,--whole-archive",
            str(archive),
            "-Wl,--no-whole-archive",
            "-Wl,--as-needed",
            *extension.link_flags(folder),
        ]
        ext.sources = [os.path.abspath(source) for source in ext.sources]
        self.force = True  # the flags may have changed
        super().build_extension(ext)


class BuildPython(build_py):
    """Writes the ops beside the modules."""

    def run(self):
        """Copies the modules, none of an earlier build among them, then writes mochi/ops.py."""
        target = pathlib.Path(self.build_lib) / "mochi" / "ops.py"
        for old in target.parent.rglob("*.py"):
            old.unlink()
        super().run()
        target.write_text(operations.module(extension.ROOT))


def version():
    """The version of the library."""
    return re.search(r'MO_VERSION "([^"]+)"', (extension.ROOT / "tensor/tensor.h").read_text()).group(1)


extension.BUILD.mkdir(parents=True, exist_ok=True)
module = extension.ffibuilder.distutils_extension(str(extension.BUILD / "source"))
module.sources = [os.path.relpath(source, HERE) for source in module.sources]
module.py_limited_api = True
setup(
    version=version(),
    ext_modules=[module],
    cmdclass={"build_ext": BuildExtension, "build_py": BuildPython},
    options={
        "build": {"build_base": str(extension.BUILD / "setuptools")},
        "egg_info": {"egg_base": str(extension.BUILD)},
        "bdist_wheel": {"py_limited_api": "cp310"},
    },
)
