"""Finished runs on disk, shared by all processes that work on a sweep."""

from paceline.store.store import TABLES, Store

__all__ = ["TABLES", "Store"]
