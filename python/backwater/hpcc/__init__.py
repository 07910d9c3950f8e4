"""Reads and writes files of HPCC's public ns-3 simulator and its relatives. `docs/hpcc.md` is the guide.

words     text files as a C++ stream reads them
units     rates, delays and times as ns-3 converts them
topology  topology.txt     flows  flow.txt     config  config.txt     fct  fct.txt
importer  the three files to a scenario        exporter  a scenario to the three files
"""
