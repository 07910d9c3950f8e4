"""What a scheme asks of a switch: tables, memory, thresholds and load, computed and not simulated."""
