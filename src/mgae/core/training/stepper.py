"""The only code that steps an optimizer, and the running mean of what it moves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from mgae.core.graph import CPU
from mgae.core.methods.base import Method
from mgae.core.training import distributed


class Stepper:
    """One optimizer for each group of a method's parameters."""

    def __init__(
        self, method: Method, learning_rate: float, weight_decay: float = 0.0, clip: float = 1.0
    ) -> None:
        self.method, self.learning_rate, self.clip = method, learning_rate, clip
        self.groups, rates = method.parameter_groups(), method.learning_rates()
        self.optimizers = {
            name: torch.optim.Adam(
                [parameter for module in modules for parameter in module.parameters()],
                lr=rates.get(name, learning_rate),
                weight_decay=weight_decay,
                fused=True,
            )
            for name, modules in self.groups.items()
        }

    def scale_rates(self, factor: float) -> None:
        """Set each group's learning rate to ``factor`` times the one it began with."""
        for optimizer in self.optimizers.values():
            for group in optimizer.param_groups:
                group["lr"] = factor * optimizer.defaults["lr"]

    def step(self, loss: Tensor, group: str) -> Tensor:
        """Move one group of parameters down the gradient of a loss; on the CPU if it is finite.

        Of several ranks each gives the loss of its share; return the mean of all.
        """
        self.optimizers[group].zero_grad()
        loss.backward()
        mean = self.averaged(loss, group)
        if mean.device != CPU or math.isfinite(float(mean)):
            if self.clip:
                for module in self.groups[group]:
                    if parameters := list(module.parameters()):
                        nn.utils.clip_grad_norm_(parameters, self.clip)
            self.optimizers[group].step()
        return mean

    def averaged(self, loss: Tensor, group: str) -> Tensor:
        """Average a loss and the gradients of a group over all ranks; return the loss."""
        value = loss.detach().clone()
        parameters = (one for module in self.groups[group] for one in module.parameters())
        gradients = (one.grad for one in parameters if one.grad is not None)
        distributed.average([value, *gradients])
        return value


class RunningMean:
    """An exponential running mean of a method's parameters.

    In the first steps it decays faster, so that the random start is soon forgotten. Statistics of
    batch norm are those of the weights themselves.
    """

    def __init__(self, method: Method, decay: float) -> None:
        self.parameters, self.decay, self.steps = list(method.parameters()), decay, 0
        self.means = [one.detach().clone() for one in self.parameters]

    def follow(self) -> None:
        """Move towards the parameters, after a step."""
        self.steps += 1
        decay = min(self.decay, (1 + self.steps) / (10 + self.steps))
        for mean, now in zip(self.means, self.parameters, strict=True):
            mean.lerp_(now.detach(), 1 - decay)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Let the method have the means, and its own weights back afterwards."""
        own = [one.detach().clone() for one in self.parameters]
        self._put(self.means)
        try:
            yield
        finally:
            self._put(own)

    def state(self) -> dict[str, Tensor]:
        """Return the means by number, and the count of steps."""
        means = {str(index): mean.clone() for index, mean in enumerate(self.means)}
        return {**means, "steps": torch.tensor(self.steps)}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Take the means of `state` back."""
        self.steps = int(state["steps"])
        for index, mean in enumerate(self.means):
            mean.copy_(state[str(index)])

    @torch.no_grad()
    def _put(self, weights: list[Tensor]) -> None:
        for one, value in zip(self.parameters, weights, strict=True):
            one.copy_(value)
