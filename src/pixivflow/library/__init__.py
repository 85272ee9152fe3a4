"""Where the files are: their names, their folders, and the one place that writes them."""
