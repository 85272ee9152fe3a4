"""The Job API and its neighbours on one port."""
