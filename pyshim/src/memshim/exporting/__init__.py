"""Exported artifacts, and what export asks of the live model."""
