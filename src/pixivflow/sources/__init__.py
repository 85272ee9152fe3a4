"""Where works come from. `ports` is what the rest of the program sees; each site has a room of its own."""
