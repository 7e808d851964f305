#!/bin/bash
# Train on several machines of a SLURM cluster:
#   sbatch slurm.sh edges.csv --out /shared/runs/mine
# The file of edges and --out must be on a file system that all machines see.
#SBATCH --job-name=mgae
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=12:00:00
# With GPUs, one rank each: #SBATCH --gpus-per-node=4, and RANKS=4 below.
set -euo pipefail

RANKS=4 # on each machine; each has SLURM_CPUS_PER_TASK / RANKS threads
export OMP_NUM_THREADS=$((SLURM_CPUS_PER_TASK / RANKS))
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)

srun torchrun \
    --nnodes="$SLURM_JOB_NUM_NODES" \
    --nproc-per-node="$RANKS" \
    --max-restarts=3 \
    --rdzv-id="$SLURM_JOB_ID" \
    --rdzv-backend=c10d \
    --rdzv-endpoint="$HEAD:29500" \
    -m mgae train "$@"
