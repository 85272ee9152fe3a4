"""The durable record: the only place that decides what happened. One writer, many readers, every statement a named file."""
