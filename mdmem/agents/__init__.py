"""The agents on this machine: what `connect` puts into their config, and the doors they come in by."""
