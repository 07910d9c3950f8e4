"""Computations instead of simulations: `[compute]` of an experiment's file. Each computation is a file here."""
