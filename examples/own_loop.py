"""A training loop of your own around the parts: no files, no configuration."""

from __future__ import annotations

import torch
from torch_geometric.data import Data
from torch_geometric.utils import stochastic_blockmodel_graph

from mgae.core import BCE, GCN, CrossCorrelation, MaskedGraphAutoencoder, MessageGraph, Undirected
from mgae.core.seeding import Generators

torch.manual_seed(0)
edge_index = stochastic_blockmodel_graph([40] * 3, 0.01 + 0.2 * torch.eye(3))
hints = torch.eye(3).repeat_interleave(40, dim=0) + 0.5 * torch.randn(120, 3)
graph = MessageGraph.of(Data(x=hints, edge_index=edge_index))

model = MaskedGraphAutoencoder(
    mask=Undirected(0.7),
    encoder=GCN(3, 32, num_layers=2),
    decoder=CrossCorrelation(32, num_layers=2),
    loss=BCE(),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
generators = Generators(0)

for epoch in range(60):
    model.train()
    for loss, _ in model.losses(graph, generators):  # one for each step
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 20 == 19:
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}")

model.eval()
with torch.no_grad():
    scores = model.score_links(model.encode(graph), torch.tensor([[0, 0], [1, 119]]))
print("within a block", round(scores[0].item(), 2), "and across", round(scores[1].item(), 2))
