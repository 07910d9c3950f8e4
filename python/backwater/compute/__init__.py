"""What is worked out in place of being simulated: `[compute]` of an experiment's file. A computation is a file here."""
