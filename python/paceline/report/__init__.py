"""The report: what was asked, who wins and what it looks like, in one HTML file that works offline."""

from paceline.report.page import render, write

__all__ = ["render", "write"]
