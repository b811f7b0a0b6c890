"""`paceline studio`: a page that answers while a slider moves, served to this machine alone."""
