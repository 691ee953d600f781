"""How what testdata holds is made, and how predictions are compared with PyTorch."""
