"""Several processes that train together (ranks), started by torchrun or by Ray.

All ranks take the same steps. Each decodes its share of a step, and the gradients are averaged
before the optimizer moves, as `DistributedDataParallel` does it. That class itself wraps the
forward of one module, and divides by the number of ranks. Here a method yields its losses, several
optimizers may take turns, and the loss that is shown must be the mean as well: one reduction of a
group's gradients and its loss, after the backward, serves all methods.

Whatever is not divided is computed by every rank in the same way, and what a clock, a disk or the
free memory decides is decided by the first rank: so all of them reach every message.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from mgae.core.errors import MGAEError, RankError
from mgae.core.seeding import Share

_T = TypeVar("_T")
_TIMEOUT = timedelta(minutes=30)  # of a message; a rank that is gone is noticed at once
_LARGE = 1 << 20  # numbers of a tensor that is sent by itself


def world() -> int:
    """Return how many ranks train together, 1 without torchrun."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Return the number of this process among the ranks; 0 is the one that writes and prints."""
    return dist.get_rank() if world() > 1 else 0


def is_first() -> bool:
    """Return whether this process is the one that writes and prints."""
    return rank() == 0


def share() -> Share:
    """Return which part of what is divided this rank takes."""
    return Share(rank(), world())


def are_asked_for() -> bool:
    """Return whether this process was started as one of several ranks."""
    return "RANK" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1


def ranks_here() -> int:
    """Return how many of the ranks are on this machine."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1")) if world() > 1 else 1


def rank_here() -> int:
    """Return the number of this process among the ranks of its machine."""
    return int(os.environ.get("LOCAL_RANK", "0")) if world() > 1 else 0


@contextmanager
def joined() -> Iterator[None]:
    """Join the ranks that were started together, for the length of a block; else stay alone."""
    if not are_asked_for() or dist.is_initialized():
        yield
        return
    backend = "gloo"
    if torch.cuda.is_available():
        backend = "cpu:gloo,cuda:nccl"
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    with _talking():
        store, (number, ranks) = _store(), (int(os.environ[k]) for k in ("RANK", "WORLD_SIZE"))
        dist.init_process_group(
            backend, store=store, rank=number, world_size=ranks, timeout=_TIMEOUT
        )
    try:
        yield
    except BaseException:
        _Failure.is_ours_to_tell = _is_first_to_fail(store)
        raise
    finally:
        dist.destroy_process_group()


class _Failure:
    """Whether this rank says what went wrong; before the ranks are joined the first one does."""

    is_ours_to_tell: bool | None = None


def tells_failure() -> bool:
    """Return whether this process is the one to say why all of them end: one of the ranks is."""
    if not are_asked_for():
        return True
    if _Failure.is_ours_to_tell is None:
        return os.environ["RANK"] == "0"
    return _Failure.is_ours_to_tell


def _store() -> Any:
    """Return the store through which the ranks meet; torchrun's agent has it, else the first rank.

    torchrun keeps it when it restarts the ranks, with the addresses of those that are gone.
    """
    agent_has_it = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    store = dist.TCPStore(  # type: ignore[attr-defined]
        os.environ["MASTER_ADDR"],
        int(os.environ["MASTER_PORT"]),
        is_master=os.environ["RANK"] == "0" and not agent_has_it,
        timeout=_TIMEOUT,
    )
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return dist.PrefixStore(f"mgae/{attempt}", store)  # type: ignore[attr-defined]


def _is_first_to_fail(store: Any) -> bool:
    """Ask the store, which outlives the ranks under torchrun; without it one of each machine."""
    try:
        return bool(store.add("failed", 1) == 1)
    except (RuntimeError, OSError):
        return os.environ.get("LOCAL_RANK", "0") == "0"


def from_first(make: Callable[[], _T]) -> _T:
    """Return on all ranks what ``make`` gives on the first one.

    Raises:
        MGAEError: on all ranks, if it raises one there.
    """
    if world() == 1:
        return make()
    outcome: list[Any] = [None, None]
    if is_first():
        try:
            outcome[0] = make()
        except MGAEError as error:
            _broadcast([None, str(error)])
            raise
    outcome = _broadcast(outcome)
    if outcome[1] is not None:
        raise MGAEError(outcome[1])
    result: _T = outcome[0]
    return result


def agreed(value: float) -> float:
    """Return the first rank's value: ranks that differ in a last bit or a moment would part."""
    return from_first(lambda: value)


def once_per_machine(make: Callable[[], _T]) -> _T:
    """Return on all ranks of a machine what ``make`` gives on the first of them.

    Raises:
        MGAEError: on all ranks, if it raises one on any machine.
    """
    machine = os.environ.get("GROUP_RANK") or os.environ.get("NODE_RANK") or socket.gethostname()
    is_first_here = os.environ.get("LOCAL_RANK", "0") == "0"
    outcome: tuple[str | None, Any, str | None] = (None, None, None)
    if is_first_here:
        try:
            outcome = (machine, make(), None)
        except MGAEError as error:
            outcome = (machine, None, str(error))
    outcomes = gathered(outcome)
    for _, _, problem in outcomes:
        if problem is not None:
            raise MGAEError(problem)
    result: _T = next(value for name, value, _ in outcomes if name == machine)
    return result


def gathered(value: _T) -> list[_T]:
    """Return the values of all ranks, in their order."""
    if world() == 1:
        return [value]
    values: list[Any] = [None] * world()
    with _talking():
        dist.all_gather_object(values, value)
    return values


def average(tensors: Iterable[Tensor]) -> None:
    """Replace tensors by their means over all ranks, in place; the small ones travel together."""
    if world() == 1:
        return
    tensors = list(tensors)
    small = [tensor for tensor in tensors if tensor.numel() < _LARGE]
    for tensor in tensors:
        if tensor.numel() >= _LARGE:
            sum_up(tensor).div_(world())
    if small:
        means = sum_up(torch.cat([tensor.flatten() for tensor in small])).div_(world())
        for tensor, mean in zip(small, means.split([t.numel() for t in small]), strict=True):
            tensor.copy_(mean.view_as(tensor))


def sum_up(tensor: Tensor) -> Tensor:
    """Replace a tensor by its sum over all ranks, in place, and return it."""
    if world() > 1:
        with _talking():
            dist.all_reduce(tensor)
    return tensor


def divided(compute: Callable[[Tensor], Tensor], items: Tensor) -> Tensor:
    """Return ``compute(items)`` [n] of items [..., n], of which each rank computes a part."""
    if world() == 1 or items.size(-1) == 0:
        return compute(items)
    mine = part(items.size(-1))
    some = mine if mine.stop > mine.start else slice(1)  # a rank with nothing needs the type
    computed = compute(items[..., some])
    values = computed.new_zeros(items.size(-1))
    values[mine] = computed[: mine.stop - mine.start]
    return sum_up(values)


def part(count: int) -> slice:
    """Return which of ``count`` items this rank takes."""
    begin, end = (count * number // world() for number in (rank(), rank() + 1))
    return slice(begin, end)


def copy_from_first(module: nn.Module) -> None:
    """Give a module the weights and buffers that it has on the first rank."""
    if world() > 1:
        with torch.no_grad(), _talking():
            for tensor in module.state_dict().values():
                sent = tensor.contiguous()
                dist.broadcast(sent, 0)
                tensor.copy_(sent)


def average_norms(module: nn.Module) -> None:
    """Average the statistics of batch norms: in sampled mode each rank sees other nodes."""
    norms = [one for one in module.modules() if isinstance(one, nn.BatchNorm1d)]
    average(buffer for one in norms for buffer in one.buffers() if buffer.is_floating_point())


def _broadcast(values: list[Any]) -> list[Any]:
    with _talking():
        dist.broadcast_object_list(values, 0, device=torch.device("cpu"))
    return values


@contextmanager
def _talking() -> Iterator[None]:
    """Say in one line that a rank is gone."""
    try:
        yield
    except (RuntimeError, ConnectionError) as error:
        raise RankError(
            f"rank {os.environ.get('RANK', '?')} of {os.environ.get('WORLD_SIZE', '?')} cannot "
            "reach another rank any more: it has ended, or its machine has"
        ) from error
