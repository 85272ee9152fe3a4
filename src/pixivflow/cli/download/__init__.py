"""`pixivflow download`: collecting here and now."""
