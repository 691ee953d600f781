"""Budgets: the cases of a memspec.yaml and marks on tests."""
