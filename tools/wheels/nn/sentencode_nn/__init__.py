"""The compiled neural half of Sentencode: a folder for each version of torch. `sentencode` loads from it."""
