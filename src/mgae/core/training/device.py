"""Which device computes."""

from __future__ import annotations

import torch

from mgae.core.errors import ConfigError
from mgae.core.training import distributed

Device = str | torch.device


def devices_here() -> list[str]:
    """Return the names of this machine's devices.

    >>> devices_here()[0]
    'cpu'
    """
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    apple = ["mps"] if torch.backends.mps.is_available() else []
    return ["cpu", *(f"cuda:{number}" for number in range(count)), *apple]


def choose_device(device: Device) -> torch.device:
    """Return the device of a name; ``auto`` is a CUDA device if there is one, else the CPU.

    Several ranks of a machine take its CUDA devices in turn, one rank each.

    Raises:
        ConfigError: if this machine has no such device.
    """
    if isinstance(device, torch.device):
        return device
    here = devices_here()
    if device == "auto":
        device = "cuda" if "cuda:0" in here else "cpu"
    # An index makes "cuda" equal to the device of the tensors that lie there.
    wanted = f"cuda:{distributed.rank_here()}" if device == "cuda" else device
    if wanted not in here:
        missing = device.startswith("cuda") and torch.version.cuda is None
        why = f" (torch {torch.__version__} is built without CUDA)" if missing else ""
        raise ConfigError(
            f"device {device!r} is not on this machine, which has {', '.join(here)}{why}: "
            "choose one of these, or auto"
        )
    return torch.device(wanted)


def device_again(asked: Device | None, before: str) -> torch.device:
    """Return the device asked for; or else the one of a stored run, and ``auto`` if it is not here.

    Raises:
        ConfigError: if this machine has no such device.
    """
    if asked is not None:
        return choose_device(asked)
    try:
        return choose_device(before)
    except ConfigError:
        return choose_device("auto")
