"""Runs: done on threads, by an executor or on a Dask cluster, and read from the store where it has them."""
