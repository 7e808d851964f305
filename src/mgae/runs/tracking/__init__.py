"""Follow runs in a tracking tool: TensorBoard, MLflow, Weights & Biases, or another's."""

from mgae.registry import TRACKERS

TRACKERS.add(
    "tensorboard",
    "mgae.runs.tracking.tensorboard:TensorBoard",
    summary="event files below the run directory, in tensorboard/",
    package="tensorboard",
    extra="track",
)
TRACKERS.add(
    "mlflow",
    "mgae.runs.tracking.mlflow:MLflow",
    summary="a run of MLFLOW_EXPERIMENT_NAME (mgae) at MLFLOW_TRACKING_URI",
    package="mlflow",
    extra="track",
)
TRACKERS.add(
    "wandb",
    "mgae.runs.tracking.wandb:WandB",
    summary="a run of WANDB_PROJECT (mgae); WANDB_MODE=offline keeps it here",
    package="wandb",
    extra="wandb",
)
