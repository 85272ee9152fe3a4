"""The version, alone in a file so that the build and `pixivflow --version` read it without importing anything else."""

__version__ = "0.1.0"
