"""Builds the library, its extensions, and mochi/ops.py and tensor.pyi from the headers."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "binding"))

import extension
import operations


def licences_of(library):
    """The licences of the shared libraries that a file loads, by the package that each belongs to; Debian's, or none."""
    if not shutil.which("dpkg"):
        return {}
    loaded = re.findall(r"=> (/\S+)", subprocess.run(["ldd", library], capture_output=True, text=True).stdout)
    owners = subprocess.run(["dpkg", "-S", *map(os.path.realpath, loaded)], capture_output=True, text=True).stdout
    packages = {line.partition(":")[0] for line in owners.splitlines()}
    texts = {package: pathlib.Path("/usr/share/doc", package, "copyright") for package in packages}
    return {package: text for package, text in texts.items() if text.exists()}


class BuildExtension(build_ext):
    """Builds the library first, and links it."""

    def build_extension(self, ext):
        """Links libmochi.a into the extension."""
        folder = extension.library_folder(extension.KERNELS[ext.name.rpartition(".")[2]])
        archive = folder / "libmochi.a"
        whole = ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive"]
        ext.extra_link_args += [*whole, "-Wl,--as-needed", *extension.link_flags(folder)]
        ext.sources = [os.path.abspath(source) for source in ext.sources]
        self.force = True  # the flags may have changed
        super().build_extension(ext)
        if "MOCHI_PYTHON_KERNELS" in os.environ:  # a wheel for other machines takes the libraries along (auditwheel)
            texts = pathlib.Path(self.build_lib, "mochi", "licences")
            texts.mkdir(parents=True, exist_ok=True)
            for package, text in licences_of(self.get_ext_fullpath(ext.name)).items():
                shutil.copy(text, texts / f"{package}.txt")


class BuildPython(build_py):
    """Writes the ops beside the modules, and copies the embedded graphs and weights, where the library looks for them."""

    def run(self):
        """Copies the modules (none from an earlier build) and mochi-report, then writes mochi/ops.py."""
        target = pathlib.Path(self.build_lib) / "mochi" / "ops.py"
        for old in target.parent.rglob("*.*"):
            if old.name.partition(".")[0] not in extension.KERNELS:
                old.unlink()
        super().run()
        target.write_text(operations.module(extension.ROOT))
        shutil.copy(extension.ROOT / "tools/report/report.py", target.with_name("report.py"))
        target.with_name("tensor.pyi").write_text(operations.methods(extension.ROOT))
        shutil.copy(extension.ROOT / "LICENSE", target.with_name("LICENSE"))
        if os.environ.get("MOCHI_PYTHON_DATA", "inside") == "inside":  # "installed": a package beside has them
            data = target.parent / "mochi-data"
            data.mkdir(exist_ok=True)
            for file in sorted((extension.ROOT / "train/data").glob("*.*")):
                if file.suffix != ".md":
                    shutil.copy(file, data)


class Sources(sdist):
    """The package with the library's sources, in library/, so that it builds without a clone."""

    def make_release_tree(self, base_dir, files):
        """Adds the folder binding/ and, as library/, the files in git without the tests' and this folder's code."""
        super().make_release_tree(base_dir, [file for file in files if not file.startswith("..")])  # without an egg-info folder
        shutil.copytree(HERE / "binding", pathlib.Path(base_dir) / "binding", ignore=shutil.ignore_patterns("__pycache__"))
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=extension.ROOT, check=True, capture_output=True, text=True).stdout
        for name in listed.split("\0"):
            code = name.startswith(("tests/", "tools/python/mochi/", "tools/python/binding/", "."))
            if name and (not code or (name.startswith("tests/") and name.endswith(".md"))):
                to = pathlib.Path(base_dir) / "library" / name
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(extension.ROOT / name, to)


def version():
    """The version of the library."""
    return re.search(r'MO_VERSION "([^"]+)"', (extension.ROOT / "tensor/tensor.h").read_text()).group(1)


def modules():
    """The extensions, as setuptools takes them."""
    extension.BUILD.mkdir(parents=True, exist_ok=True)
    for name in extension.KERNELS:
        module = extension.builder(name).distutils_extension(str(extension.BUILD / "source"))
        module.sources = [os.path.relpath(source, HERE) for source in module.sources]
        module.py_limited_api = True
        yield module


setup(
    version=version(),
    ext_modules=list(modules()),
    cmdclass={"build_ext": BuildExtension, "build_py": BuildPython, "sdist": Sources},
    options={
        "build": {"build_base": str(extension.BUILD / "setuptools")},
        "egg_info": {"egg_base": str(extension.BUILD)},
        "bdist_wheel": {"py_limited_api": "cp310"},
    },
)
