"""Whose each allocation is: modules, phases, gradients, forward lines, owners."""
