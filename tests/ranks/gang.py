"""Run a function in several ranks, forked from the test: nothing is imported again."""

from __future__ import annotations

import multiprocessing
import os
import socket
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from mgae.core.training import distributed


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
    start: str = "fork",
    **env: str,
) -> list[Any]:
    """Return what ``work(*arguments)`` gives in each rank, and None for one that was killed.

    A forked rank imports nothing again; what has used threads before must ``start="spawn"``.
    Without ``joins`` the ranks are not joined: that is left to ``work``.
    """
    context: Any
    context, port = multiprocessing.get_context(start), free_port()
    ends = [context.Pipe(duplex=False) for _ in range(ranks)]
    members = []
    for rank, (_, writing) in enumerate(ends):
        own = {**_variables(rank, ranks, port), **env}
        member = context.Process(target=_member, args=(work, arguments, own, joins, writing))
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


def _member(
    work: Callable[..., Any],
    arguments: tuple[Any, ...],
    env: dict[str, str],
    joins: bool,
    end: Any,
) -> None:
    os.environ |= env
    try:
        with distributed.joined() if joins else nullcontext():
            outcome = (None, work(*arguments))
    except BaseException:
        outcome = (f"rank {env['RANK']}: {traceback.format_exc()}", None)
    with end:
        end.send(outcome)
    os._exit(0)
