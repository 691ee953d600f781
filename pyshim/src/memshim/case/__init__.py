"""One case: its request, inputs, settings, model and steps, and the process that runs it."""
