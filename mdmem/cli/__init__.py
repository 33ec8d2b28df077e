"""Words of a command line in, an exit code out. Commands are thin: they ask the daemon, or do its work themselves."""

from mdmem.cli.root import main

__all__ = ["main"]
