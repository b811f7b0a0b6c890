"""Captures: how bursty their traffic is, and what pacers would make of it."""
