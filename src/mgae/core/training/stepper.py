"""The one place where an optimizer steps."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mgae.core.methods.base import Method
from mgae.runs.sections import TrainSettings


class Stepper:
    """One optimizer for each group of a method's parameters."""

    def __init__(self, method: Method, settings: TrainSettings) -> None:
        self.clip = settings.clip
        self.groups, rates = method.parameter_groups(), method.learning_rates()
        self.optimizers = {
            name: torch.optim.Adam(
                [parameter for module in modules for parameter in module.parameters()],
                lr=rates.get(name, settings.learning_rate),
                weight_decay=settings.weight_decay,
                fused=True,
            )
            for name, modules in self.groups.items()
        }

    def step(self, loss: Tensor, group: str) -> None:
        """Move one group of parameters down the gradient of a loss."""
        optimizer = self.optimizers[group]
        optimizer.zero_grad()
        loss.backward()
        if self.clip:
            for module in self.groups[group]:
                if parameters := list(module.parameters()):
                    nn.utils.clip_grad_norm_(parameters, self.clip)
        optimizer.step()
