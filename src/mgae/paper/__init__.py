"""The paper's tables and its figure, regenerated. Only the command line and scripts import this."""
