"""Walks over the structure of each file format, without decoding a pixel.

Every module offers ``inspect(stream, size) -> Facts``: it reads headers and skips bodies, so that a file of any size
costs a few kilobytes of memory, and raises `DamagedError` where the file does not reach its own end.
"""
