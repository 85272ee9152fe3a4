"""What each address answers: functions from `Call` to `Answer`, without I/O."""
