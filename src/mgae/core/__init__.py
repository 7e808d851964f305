"""The method: masked graph autoencoders as a plain PyTorch library."""
