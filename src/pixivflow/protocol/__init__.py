"""Workflow Protocol v1 as data: its schema, vocabulary, examples and acceptance list, and what runs that list.

Everything is made from the types and tables the server itself uses; nothing is written down twice.
"""
