"""The checks, by what they are about: each a function that enters itself into the list. New modules: import here."""

from paceline.doctor.checks import buffers, hosts, pacing, shapers, statistics, traffic, windows
from paceline.doctor.finding import CHECKS

__all__ = ["CHECKS", "buffers", "hosts", "pacing", "shapers", "statistics", "traffic", "windows"]
