"""A second device, written in Python over the memory of the CPU, to prove where tensors lie.

A tensor of it is a wrapper whose ``device`` is ``pretend:0``. Every operation on it passes one
place, which refuses a CPU tensor among the arguments, unless it is a number, and collects what
crosses over. CUDA lets an index lie on the CPU and moves it by itself; here that is refused too.

To be registered before anything of the process has run a backward pass: autograd counts devices
once.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "pretend"
_libraries: list[torch.library.Library] = []
_COPIES = ("aten::_to_copy", "aten::copy_", "aten::_copy_from")
_READS = ("aten::_local_scalar_dense", "aten::item")


_seen: list[list[str]] = []


@contextlib.contextmanager
def watched() -> Iterator[list[str]]:
    """Collect what crosses between the devices meanwhile, but for what `bring` brings."""
    _seen.append([])
    try:
        yield _seen[-1]
    finally:
        _seen.pop()


def _note(what: str) -> None:
    if not _seen:
        return
    callers = [frame.name for frame in traceback.extract_stack()]
    if what != "to the device" or "bring" not in callers:
        files = [frame for frame in traceback.extract_stack() if "/mgae/" in frame.filename]
        at = f" at {Path(files[-1].filename).name}:{files[-1].lineno}" if files else ""
        _seen[-1].append(what + at)


class Pretended(torch.Tensor):
    """A tensor that says that it lies on the second device."""

    inside: torch.Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inside: torch.Tensor) -> Pretended:
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            inside.size(),
            inside.stride(),
            inside.storage_offset(),
            dtype=inside.dtype,
            device=torch.device(NAME, 0),
        )
        made.inside = inside
        return made

    def __repr__(self) -> str:
        return f"Pretended({self.inside})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return dispatch(func, args, kwargs or {})


def dispatch(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    name = func._schema.name
    target = kwargs.get("device")
    copying = name in _COPIES
    if not copying:
        _refuse_strangers(name, args, kwargs)
    if name in _READS:
        _note("read by Python")
    if target is not None:
        kwargs = {**kwargs, "device": "cpu"}
    pretended: dict[int, Pretended] = {}

    def unwrap(value: Any) -> Any:
        if isinstance(value, Pretended):
            pretended[id(value.inside)] = value
            return value.inside
        return value

    result = func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs))
    if name == "aten::_to_copy" and target is not None:
        if torch.device(target).type != NAME:
            _note("to the CPU")
            return result
        if not pretended:
            _note("to the device")
    if name == "aten::copy_":
        ends = [isinstance(value, Pretended) for value in args[:2]]
        if ends[0] != ends[1]:
            _note("to the CPU" if ends[1] else "to the device")
        return args[0]

    def wrap(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and not isinstance(value, Pretended):
            known = pretended.get(id(value))
            return Pretended(value) if known is None else known
        return value

    return tree_map(wrap, result)


def _refuse_strangers(name: str, args: Any, kwargs: Any) -> None:
    for value in tree_leaves((args, kwargs)):
        if isinstance(value, torch.Tensor) and not isinstance(value, Pretended) and value.dim():
            raise RuntimeError(f"{name}: a tensor {tuple(value.shape)} lies on the CPU")


def _factory(op: Any) -> Any:
    def make(*args: Any, **kwargs: Any) -> Any:
        return Pretended(op(*args, **{**kwargs, "device": "cpu", "pin_memory": False}))

    return make


def register() -> torch.device:
    """Add the device to torch, once for a process."""
    if not _libraries:
        _setup_privateuseone_for_python_backend(NAME)
        library = torch.library.Library("aten", "IMPL")
        for qualified, op in _factories():
            library.impl(qualified, _factory(op), "PrivateUse1")
        _libraries.append(library)
    return torch.device(NAME, 0)


def _factories() -> Iterator[tuple[str, Any]]:
    for full in torch._C._dispatch_get_all_op_names():
        if not full.startswith("aten::"):
            continue
        name, _, overload = full.removeprefix("aten::").partition(".")
        try:
            op = getattr(getattr(torch.ops.aten, name), overload or "default")
        except (AttributeError, RuntimeError):
            continue
        arguments = op._schema.arguments
        if any("Tensor" in str(one.type) for one in arguments) or "out" in overload:
            continue
        if any(one.name == "device" for one in arguments) and len(op._schema.returns) == 1:
            yield full.removeprefix("aten::"), op
