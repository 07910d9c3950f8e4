"""What every part of the package uses."""
