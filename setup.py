"""Adds the optional compiled module to what pyproject.toml says.

Without a C compiler or Cython the package installs all the same and uses the module's twin in Python.
"""

from setuptools import Extension, setup

SOURCE = "src/oncelog/records/_native.pyx"

try:
    from Cython.Build import cythonize
except ImportError:
    modules = []
else:
    modules = cythonize(
        [
            Extension(
                "oncelog.records._native",
                [SOURCE],
                py_limited_api=True,
                define_macros=[("Py_LIMITED_API", "0x030B0000")],
            )
        ],
        build_dir="build",
    )
    for module in modules:
        # cythonize makes new extensions and does not pass this on.
        module.optional = True

setup(ext_modules=modules, options={"bdist_wheel": {"py_limited_api": "cp311"}})
