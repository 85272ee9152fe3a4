"""Who may run what, and what happens when something stops."""
