"""One target, from question to files."""
