"""Scenario files: their text, variations of them, new ones, and those that are published."""
