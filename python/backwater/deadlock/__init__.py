"""Finds cycles of pauses in a scenario's network, and the turns to elide so that there are none."""
