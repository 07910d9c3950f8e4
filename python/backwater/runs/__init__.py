"""Run directories: their tables, summaries and stored explanations, written and read."""
