"""Significance tests of two encoders, means over seeds, and bootstrap of averages over tasks."""
