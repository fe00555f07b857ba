"""Elementwise functions of the NumPy API."""
