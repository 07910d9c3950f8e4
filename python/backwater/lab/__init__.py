"""The lab: real programs talk across the switches of a scenario.

inside    the process that has namespaces of its own, with the hosts, the switches and the programs
outside   starts that process, and runs programs in it for a command
machine   the same in the place of a simulator: a run of programs, or of the scenario's own flows
programs  programs as options and files name them     realtime  real-time priority of the lab's threads
told      what a program may know and say             tcp, ping our own programs
control   the socket of a running lab                 answers   what the lab answers there
enter     a command in a host of a running lab        watching  what happened between two readings
"""
