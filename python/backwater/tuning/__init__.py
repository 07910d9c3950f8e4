"""Searches for the values of keys with which a scheme does best."""
