"""The points of the acceptance list, in the order they are run."""
