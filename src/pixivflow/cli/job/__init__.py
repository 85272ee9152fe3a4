"""`pixivflow job`: a client of the Job API."""
