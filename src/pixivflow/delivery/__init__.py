"""Taking results to other services, each exactly once to see."""
