"""The documentation, without a network: the pages of the site as HTML."""
