"""mdmem: memory for coding agents, kept as markdown files."""

__version__ = "0.1.0"
