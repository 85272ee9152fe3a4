"""The durable record, the only place that decides what happened: one writer, many readers, SQL in named files."""
