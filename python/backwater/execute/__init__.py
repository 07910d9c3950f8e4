"""Runs experiments: which runs, how many at once, on which machines, and what is reused."""
