"""What commands print on a terminal: text without control characters, tables, progress."""
