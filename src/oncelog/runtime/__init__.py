"""Small interfaces to the process, the clocks and the operating system, used by every program.

Called by all other packages; it may import ``errors`` only. ``ports``, ``timers`` and ``deferred`` are pure, and the
cores run on them; ``chance``, ``forks``, ``listening``, ``loop_thread`` and ``real_time`` are the real process and
clock. ``real_asyncio`` and ``real_json`` are Python's modules, whatever names of theirs a test replaces. Importing the
package adds a finder to ``sys.meta_path``.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
else:  # checkers of types at run time resolve these within an import, where another import would not end
    ModuleSpec, ModuleType = type(sys.__spec__), type(sys)


class LoadedModules:
    """Finds a module of oncelog that has left ``sys.modules`` in the package that imported it.

    ``mock.patch.dict(sys.modules)`` and pyfakefs remove the modules that were imported meanwhile. A broker or a client
    that lives longer would import them again, and then not know its own objects by their classes.
    """

    def __init__(self, module: ModuleType) -> None:
        self._module, self._spec = module, module.__spec__

    @classmethod
    def find_spec(cls, fullname: str, path: object, target: ModuleType | None = None) -> ModuleSpec | None:
        """The spec of a loaded module; None for all others, and for a ``target``, which is being reloaded."""
        if fullname[:8] != "oncelog." or target is not None:
            return None
        package, _, name = fullname.rpartition(".")
        module = sys.modules[package].__dict__.get(name)
        if module is None or getattr(module, "__name__", None) != fullname:
            return None
        spec: ModuleSpec = type(module.__spec__)(fullname, cls(module))
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec


if not any(getattr(finder, "__module__", None) == __name__ for finder in sys.meta_path):
    sys.meta_path.insert(0, LoadedModules)
