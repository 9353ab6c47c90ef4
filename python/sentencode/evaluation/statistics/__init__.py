"""What is more than luck: tests of two encoders, means over seeds, and resamples that tasks share."""
