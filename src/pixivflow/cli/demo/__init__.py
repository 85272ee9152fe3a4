"""`pixivflow demo`: the whole way once, in a folder of its own."""
