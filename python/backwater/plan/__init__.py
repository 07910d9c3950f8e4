"""Resources that a scheme needs on a switch: tables, memory, thresholds and load. Computed, not simulated."""
