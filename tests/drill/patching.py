"""Changing the product from outside, while nothing of it runs."""

import importlib
import sys
from collections.abc import Callable
from typing import Any


def find(target: str) -> Any:
    """What `module:name` or `module:Class.name` means; an error if the product has no such thing any more."""
    module, _, path = target.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def put(target: str, value: Any) -> None:
    """Put `value` in the place of `target`, and of every name under which other modules imported it."""
    original = find(target)
    module, _, path = target.partition(":")
    owner, _, name = path.rpartition(".")
    if owner:
        setattr(find(f"{module}:{owner}"), name, value)
        return
    for loaded in list(sys.modules.values()):
        for known, present in list(vars(loaded).items()) if hasattr(loaded, "__dict__") else ():
            if present is original and (callable(original) or known == name):
                setattr(loaded, known, value)


def wrap(target: str, make: Callable[[Any], Any]) -> None:
    """Replace `target` by what `make` makes of it."""
    put(target, make(find(target)))
