"""Modules that every part of the package uses."""
