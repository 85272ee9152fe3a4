"""Logs for people and for machines."""
