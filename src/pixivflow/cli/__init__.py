"""One file a verb; heavy imports stay inside the verb."""
