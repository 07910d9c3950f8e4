"""The lab: real programs talk across the switches of a scenario.

inside    the process that has namespaces of its own, with the hosts, the switches and the programs
outside   starts that process, and runs programs in it for a command
machine   the same for the scenario's own flows, in the place of a simulator
"""
