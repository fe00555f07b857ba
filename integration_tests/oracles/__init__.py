"""Oracles of public functions, one row per function, and their comparison."""
