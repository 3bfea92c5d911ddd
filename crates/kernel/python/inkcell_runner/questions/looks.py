"""Examines an object without running any code of its class.

Owns two things. It reads types, attributes and sizes, bypassing everything that a class can override. It tells classes
of libraries, whose code may be called, from the user's own, whose code may not.
"""

import builtins
import os
import sys
import types

_LIBRARY = os.path.dirname(os.__file__)
_name = type.__dict__["__qualname__"].__get__
_module = type.__dict__["__module__"].__get__
_mro = type.__dict__["__mro__"].__get__
_names = type.__dict__["__dict__"].__get__
MISSING = object()


def mro(kind):
    """A class and its base classes, the class itself first."""
    return _mro(kind)


def class_dict(kind):
    """The attributes that a class itself defines."""
    return _names(kind)


def is_a(value, *kinds):
    """Whether the value's type is one of these or a subclass. `isinstance` would call code of the value."""
    return any(kind in _mro(type(value)) for kind in kinds)


def module_of(kind):
    found = _module(kind)
    return found if isinstance(found, str) else "?"


def name_of(kind):
    """The short name of a type."""
    return _name(kind)[:100].rsplit(".", 1)[-1]


def full_name(kind):
    """The name of a type. Includes its module unless that is `builtins` or the user's."""
    name, module = _name(kind)[:100], module_of(kind)
    if module in ("builtins", "__main__"):
        return name.rpartition("<locals>.")[2]
    top = module.partition(".")[0]
    # A class's public place is its top package, whose name is shorter than that of the module that defines it.
    if vars(sys.modules.get(top, builtins)).get(name) is kind:
        module = top
    return "%s.%s" % (module[:100], name)


_known = {}


def is_of_library(module):
    """Whether a module, by its name, comes with Python or was installed."""
    if module in _known:
        return _known[module]
    top = module.partition(".")[0]
    if module == "__main__":
        return False
    if top in ("builtins", "inkcell_runner"):
        return True
    loaded = sys.modules.get(module) or sys.modules.get(top)
    if not isinstance(loaded, types.ModuleType):
        return False
    path = getattr(vars(loaded).get("__spec__"), "origin", None)
    if isinstance(path, str):
        folders = path.split(os.sep)
        installed = "site-packages" in folders or "dist-packages" in folders
        _known[module] = installed or path in ("built-in", "frozen") or path.startswith(_LIBRARY + os.sep)
    return _known.get(module, False)


def is_library(kind):
    """Whether a class and all its base classes come with Python or were installed."""
    return all(is_of_library(module_of(one)) for one in _mro(kind))


def base_of(kind):
    """The first library class among a class and its bases. Its code may be called with the value."""
    return next((one for one in _mro(kind) if is_library(one)), object)


def of_loaded(module, *names):
    """Classes of a module that is loaded already. This never imports the module."""
    loaded = sys.modules.get(module)
    if loaded is None:
        return ()
    found = (vars(loaded).get(name) for name in names)
    return tuple(one for one in found if isinstance(one, type))


def attributes(value):
    """The attributes of the instance itself: its `__dict__` and its slots."""
    found = {}
    for kind in _mro(type(value)):
        names = _names(kind)
        own = names.get("__dict__")
        if type(own) in (types.GetSetDescriptorType, types.MemberDescriptorType) and not found:
            held = own.__get__(value)
            if isinstance(held, dict):
                found.update(dict.items(held))
    for kind in reversed(_mro(type(value))):
        if is_library(kind):
            continue
        for name, member in _names(kind).items():
            if type(member) is types.MemberDescriptorType and name != "__dict__":
                try:
                    found.setdefault(name, member.__get__(value))
                except AttributeError:
                    # A slot that was never filled.
                    pass
    return {name: held for name, held in found.items() if isinstance(name, str)}


def of_class(kind, name):
    """Looks an attribute up on a class, without binding it."""
    for one in _mro(kind):
        names = _names(one)
        if name in names:
            return names[name]
    return MISSING
