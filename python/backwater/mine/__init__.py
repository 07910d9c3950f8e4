"""Schemes of your own, in Rust and outside the repository: their crates, and the simulator that has them.

kinds       kinds of schemes
templates   a crate for each kind of scheme; the repository's tests run them
starting    a new crate from a template
building    the simulator with the schemes of some crates
"""
