"""TAKEOVER: serves other packages' names from ActUp, through a finder on ``sys.meta_path``."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module, util
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

# The packages that are served, and the package of ActUp with modules of the same names.
STAND_INS = {"umap": "actup.compat.umap", "openTSNE": "actup.compat.opentsne"}
# What to install to get the modules that ActUp does not have.
_DISTRIBUTIONS = {"umap": "umap-learn", "openTSNE": "openTSNE"}
# Classes that umap-learn has even where it cannot make them, because Keras is not installed.
_PLACEHOLDERS = {("umap", "ParametricUMAP")}
# Names that are replaced in modules which are otherwise left alone: (module, name), and what stands for it.
# sklearn.manifold has its TSNE from the first module.
_REPLACED = {
    ("sklearn.manifold._t_sne", "TSNE"): ("actup.estimators", "TSNE"),
    ("sklearn.manifold", "TSNE"): ("actup.estimators", "TSNE"),
}
_MESSAGE = "actup.accel: umap, openTSNE and sklearn.manifold.TSNE run on ActUp {version}"
_LEFT_MESSAGE = (
    "actup.accel: {packages} was being imported when ActUp was, and does not run on ActUp: import actup "
    "first, or run python -m actup.accel script.py"
)


class Takeover(MetaPathFinder):
    """A finder that serves the packages of ``STAND_INS``, and replaces the names of ``_REPLACED``.

    ``_real_modules`` holds the modules of the real packages while the stand-ins have their places in
    ``sys.modules``.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._bypassed = threading.local()  # .now: whether this thread imports real packages
        self._real_modules: dict[str, ModuleType] = {}
        self._originals: dict[tuple[str, str], Any] = {}
        self._left: set[str] = set()  # packages that were being imported when the finder was installed
        self._quiet = False
        self._has_spoken = False

    # --- what the public functions do ---

    @property
    def is_installed(self) -> bool:
        """Whether the finder is in force."""
        return self in sys.meta_path

    def install(self, *, quiet: bool) -> None:
        """Take the packages over; a second call only changes ``quiet``."""
        with self._lock:
            self._quiet = quiet
            if self.is_installed:
                return
            self._left = {package for package in STAND_INS if _is_being_imported(package)}
            self._warn_of_left()
            self._real_modules.update(self._remove_modules())
            for module, name in _REPLACED:
                if module in sys.modules:
                    self._replace(sys.modules[module], name)
            sys.meta_path.insert(0, self)

    def uninstall(self) -> None:
        """Give the packages back."""
        with self._lock:
            if not self.is_installed:
                return
            sys.meta_path.remove(self)
            self._remove_modules()
            sys.modules.update(self._real_modules)
            self._real_modules.clear()
            for (module, name), original in self._originals.items():
                if module in sys.modules:
                    setattr(sys.modules[module], name, original)
            self._originals.clear()
            self._left.clear()

    def real(self, name: str) -> Any:
        """The real module, or the original of a replaced name."""
        module, _, attribute = name.rpartition(".")
        if (module, attribute) in _REPLACED:
            loaded = import_module(module)
            with self._lock:
                return self._originals.get((module, attribute), getattr(loaded, attribute))
        with self._real_packages():
            return import_module(name)

    # --- the finder ---

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a stand-in, of a real module behind one, or of a module with replaced names."""
        if getattr(self._bypassed, "now", False):
            return None
        package, _, rest = fullname.partition(".")
        if package in STAND_INS and package not in self._left:
            return self._find_stand_in(fullname, package, rest)
        if any(fullname == module for module, _ in _REPLACED):
            return self._find_replaced(fullname, path, target)
        return None

    def _find_stand_in(self, fullname: str, package: str, rest: str) -> ModuleSpec | None:
        source = f"{STAND_INS[package]}.{rest}".rstrip(".")
        try:
            found = None if _is_private(rest) else util.find_spec(source)
        except ModuleNotFoundError:
            found = None
        if found is not None:
            is_package = found.submodule_search_locations is not None
            loader: Loader = StandInLoader(self, source)
            return ModuleSpec(fullname, loader, origin=found.origin, is_package=is_package)
        if package not in sys.modules:  # ActUp has nothing of the package: it stays what it is
            return None
        real = _find_real(fullname)
        if real is not None:
            is_package = real.submodule_search_locations is not None
            return ModuleSpec(fullname, RealLoader(self), origin=real.origin, is_package=is_package)
        instead = _instead(fullname)
        if instead:
            raise ModuleNotFoundError(
                f"{fullname} is not part of ActUp{instead}, and {_DISTRIBUTIONS[package]}, which has it, is "
                f"not installed: pip install {_DISTRIBUTIONS[package]}",
                name=fullname,
            )
        return None

    def _find_replaced(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = None if finder is self or not find else find(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = ReplacingLoader(self, spec.loader)
                return spec
        return None

    # --- for the loaders ---

    def replace_names(self, module: ModuleType) -> None:
        """Replace the names of a module that has just been loaded."""
        with self._lock:
            for home, name in _REPLACED:
                if home == module.__name__:
                    self._replace(module, name)

    def _replace(self, module: ModuleType, name: str) -> None:
        source, wanted = _REPLACED[module.__name__, name]
        replacement = getattr(import_module(source), wanted)
        original = getattr(module, name)
        if original is replacement:  # imported from a module in which it is replaced already
            original = next(value for (_, other), value in self._originals.items() if other == name)
        self._originals[module.__name__, name] = original
        setattr(module, name, replacement)
        self.speak()

    def speak(self) -> None:
        """Say once that ActUp does the work."""
        if self._quiet or self._has_spoken:
            return
        self._has_spoken = True
        if sys.stderr is not None:
            from actup import __version__

            print(_MESSAGE.format(version=__version__), file=sys.stderr)

    def _warn_of_left(self) -> None:
        """Say which packages stay as they are, because half of their modules have been run."""
        if self._left and not self._quiet and sys.stderr is not None:
            print(_LEFT_MESSAGE.format(packages=" and ".join(sorted(self._left))), file=sys.stderr)
            self._has_spoken = True  # the other message would name these packages too

    def _remove_modules(self) -> dict[str, ModuleType]:
        """Remove the modules of all served packages from ``sys.modules``, and return them."""
        served = STAND_INS.keys() - self._left
        names = [name for name in sys.modules if name.partition(".")[0] in served]
        return {name: sys.modules.pop(name) for name in names}

    @contextmanager
    def _real_packages(self) -> Iterator[None]:
        """Have imports of this thread give the real packages."""
        with self._lock:
            if not self.is_installed or getattr(self._bypassed, "now", False):
                yield
                return
            stand_ins = self._remove_modules()
            sys.modules.update(self._real_modules)
            self._bypassed.now = True
            try:
                yield
            finally:
                self._bypassed.now = False
                self._real_modules = self._remove_modules()
                sys.modules.update(stand_ins)


class StandIn(ModuleType):
    """A module whose names are those of a module of ActUp and, behind it, of the real module."""

    _actup_source: ModuleType

    def __getattr__(self, name: str) -> Any:
        source = self._actup_source
        try:
            value = getattr(source, name)
        except AttributeError:
            if name.startswith("__"):
                raise
        else:
            is_submodule = getattr(value, "__name__", None) == f"{source.__name__}.{name}"
            return import_module(f"{self.__name__}.{name}") if is_submodule else value
        module = self.__name__
        distribution = _DISTRIBUTIONS[module.partition(".")[0]]
        try:
            real = TAKEOVER.real(module)
        except ImportError:
            reason = (
                f"ActUp has no {module}.{name}{_instead(f'{module}.{name}')}, and {distribution}, which may "
                "have it, is not installed"
            )
            if (module, name) in _PLACEHOLDERS:
                return _placeholder(name, reason)
            raise AttributeError(reason, name=name, obj=self) from None
        try:
            return getattr(real, name)
        except AttributeError:
            raise AttributeError(
                f"neither ActUp nor {distribution} has {module}.{name}", name=name, obj=self
            ) from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._actup_source)})


class StandInLoader(Loader):
    """Makes the stand-in of a module of ActUp."""

    def __init__(self, takeover: Takeover, source: str):
        self._takeover, self._source = takeover, source

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """A module that gets its names from a module of ActUp."""
        module = StandIn(spec.name)
        module._actup_source = import_module(self._source)
        module.__doc__ = module._actup_source.__doc__
        if spec.submodule_search_locations is not None:
            module.__path__ = []  # its own: other finders must not find modules of ActUp under this name
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Say once that ActUp does the work."""
        self._takeover.speak()


class RealLoader(Loader):
    """Gives a module of the real package."""

    def __init__(self, takeover: Takeover):
        self._takeover = takeover
        self._real_spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The real module, imported among the other real modules."""
        module: ModuleType = self._takeover.real(spec.name)
        self._real_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own spec back, which the import system has replaced."""
        module.__spec__ = self._real_spec


class ReplacingLoader(Loader):
    """Loads a module as its own loader does, then replaces names in it."""

    def __init__(self, takeover: Takeover, loader: Any):
        self._takeover, self._loader = takeover, loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The module as its own loader makes it."""
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, then replace names in it."""
        self._loader.exec_module(module)
        if self._takeover.is_installed:
            self._takeover.replace_names(module)


def _placeholder(name: str, reason: str) -> type:
    """A class that can be imported, but not made: "from umap import ..." would hide the reason."""

    def fail(self: object, *args: object, **kwargs: object) -> None:
        raise ImportError(reason)

    return type(name, (), {"__init__": fail, "__doc__": reason, "__module__": __name__})


def _instead(path: str) -> str:
    """What to use in place of a name of umap-learn that ActUp lacks, in brackets; empty if unknown."""
    from actup.compat.umap._absent import INSTEAD

    package, _, name = path.partition(".")
    return f" ({INSTEAD[name]})" if package == "umap" and name in INSTEAD else ""


def _is_private(rest: str) -> bool:
    return any(part.startswith("_") for part in rest.split("."))


def _find_real(fullname: str) -> ModuleSpec | None:
    """The spec of a module of the real package, without importing it; None if it is not installed."""
    path: Sequence[str] | None = None
    spec = None
    parts = fullname.split(".")
    for end in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:end]), path)
        if spec is None:
            return None
        path = spec.submodule_search_locations or []
    return spec


def _is_being_imported(package: str) -> bool:
    spec = getattr(sys.modules.get(package), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


TAKEOVER = Takeover()
