"""What the serving benchmarks train with."""

from __future__ import annotations

from typing import Any

# Recommendations need the best few among all nodes. The AUC hardly looks at these and peaks long
# before they do: the epoch is picked by what is wanted, the training is longer, and more negatives
# tell the few apart better. Chosen by the best recall@10 of the validation edges of seeds 100 and
# 101 among epochs 100, 200, 300 and 400:
#     1 negative, mask.ratio 0.7               42.0  39.2
#     5 negatives                              44.9  39.9
#     5 negatives, mask.ratio 0.5              45.8  37.1
#     the same with a symmetric decoder        42.2  not run
#     Adamic and Adar                          36.1  31.6
# Before this, an epoch picked by the validation AUC or MRR had been tried on the hidden edges of
# seeds 0 to 4: it was at Adamic and Adar's figure there or below.
RANKED: dict[str, Any] = {
    "loss": {"num_negatives": 5},
    "train": {"monitor": "recall@10", "epochs": 400, "patience": 150, "eval_every": 50},
}
