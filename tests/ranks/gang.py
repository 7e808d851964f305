"""Run a function in several ranks, forked from a fresh process that has imported torch once."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import socket
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch

from mgae.core.training import distributed

# Forked from the test itself, a rank could not train: autograd's threads do not survive a fork.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.ranks.gang", "mgae.runs.pipeline", "mgae.cli.app"])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def together(
    work: Callable[..., Any],
    *arguments: Any,
    ranks: int = 2,
    may_die: bool = False,
    joins: bool = True,
    patience: float = 120.0,
    **env: str,
) -> list[Any]:
    """Return what ``work(*arguments)`` gives in each rank, and None for one that was killed.

    Without ``joins`` the ranks are not joined: that is left to ``work``.
    """
    task, port = pickle.dumps((work, arguments)), free_port()
    ends = [_CONTEXT.Pipe(duplex=False) for _ in range(ranks)]
    members = []
    for rank, (_, writing) in enumerate(ends):
        own = {**_variables(rank, ranks, port), **env}
        member = _CONTEXT.Process(target=_member, args=(task, own, joins, writing))
        member.start()
        writing.close()  # lest a later rank keeps it open when this one is dead
        members.append(member)
    outcomes = [_received(reading, patience) for reading, _ in ends]
    for member in members:
        member.join(patience)
        member.close()
    failures = [text for text, _ in outcomes if text is not None and not may_die]
    assert not failures, "\n".join(failures)
    return [value for _, value in outcomes]


def _received(end: Any, patience: float) -> tuple[str | None, Any]:
    assert end.poll(patience), "a rank hangs"
    with end:
        try:
            outcome: tuple[str | None, Any] = end.recv()
        except EOFError:
            return "a rank was killed", None
        return outcome


def _variables(rank: int, ranks: int, port: int) -> dict[str, str]:
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(ranks),
        "LOCAL_WORLD_SIZE": str(ranks),
        "GROUP_RANK": "0",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }


def _member(task: bytes, env: dict[str, str], joins: bool, end: Any) -> None:
    os.environ |= env
    torch.set_num_threads(1)
    try:
        work, arguments = pickle.loads(task)
        with distributed.joined() if joins else nullcontext():
            outcome = (None, work(*arguments))
    except BaseException:
        outcome = (f"rank {env['RANK']}: {traceback.format_exc()}", None)
    with end:
        end.send(outcome)
    os._exit(0)
