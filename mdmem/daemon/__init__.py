"""The daemon: threads, lock, signals, control socket. Commands need only `client`, so nothing is imported here."""
