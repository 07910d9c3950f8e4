"""The lab: real programs talk across the switches of a scenario.

outside   what a command asks of the lab, in the user's own process
inside    the process that has namespaces of its own, with the hosts, the switches and the programs
"""
