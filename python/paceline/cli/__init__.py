"""The command line: a file a command, and what commands share."""
