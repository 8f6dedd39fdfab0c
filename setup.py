"""Adds the optional compiled modules to what pyproject.toml says.

Without a C compiler or Cython, or where ``ONCELOG_PURE`` is set, the package installs all the same and uses their
twins in Python; a wheel without them then says so in its tag (``py3-none-any``). A free-threaded Python
has no limited API: there they are compiled for that one version.
"""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel

SOURCES = {
    "oncelog.records._native": "src/oncelog/records/_native.pyx",
    "oncelog.protocol._layout": "src/oncelog/protocol/_layout.pyx",
    "oncelog.schemas.arrow._columns": "src/oncelog/schemas/arrow/_columns.pyx",
}
FLAGS = [
    "-g0",  # debugging information is six times the code
    # Errors since GCC 14. A module that does not compile is left out, and its twin in Python is slow.
    "-Werror=incompatible-pointer-types",
    "-Werror=int-conversion",
    "-Werror=implicit-function-declaration",
]
LIMITED_API = not sysconfig.get_config_var("Py_GIL_DISABLED")


class HonestWheel(bdist_wheel):
    """Tagged for what it holds: the compiled module is optional, and known to be missing only once it was tried."""

    def run(self) -> None:
        if not self.skip_build:
            self.run_command("build")
        build_ext = self.get_finalized_command("build_ext")
        if not any(Path(output).exists() for output in build_ext.get_outputs()):
            self.distribution.ext_modules = []
            self.root_is_pure = True
        super().run()


def modules() -> list[Extension]:
    if os.environ.get("ONCELOG_PURE"):
        return []
    try:
        from Cython.Build import cythonize
    except ImportError:
        return []
    macros = [("Py_LIMITED_API", "0x030B0000")] if LIMITED_API else []
    native = [
        Extension(
            name,
            [source],
            py_limited_api=LIMITED_API,
            define_macros=macros,
            extra_compile_args=[] if os.name == "nt" else FLAGS,
        )
        for name, source in SOURCES.items()
    ]
    made: list[Extension] = cythonize(native, build_dir="build")
    for module in made:
        # cythonize makes new extensions and does not pass this on.
        module.optional = True
    return made


setup(
    ext_modules=modules(),
    cmdclass={"bdist_wheel": HonestWheel},
    options={"build_ext": {"parallel": True}} | ({"bdist_wheel": {"py_limited_api": "cp311"}} if LIMITED_API else {}),
)
