"""What cuDNN itself answers about the workspace of convolutions, asked without a GPU."""
