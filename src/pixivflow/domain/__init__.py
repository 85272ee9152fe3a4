"""The pure part: what a work, a target, a job and a delivery are, and the rules that decide about them.

Nothing in this room reads a clock, a file, a socket or a random number; those come in as arguments.
"""
