"""The verbs of the command line, one a file."""
