"""A program with a mistake."""

raise ValueError("a mistake")
