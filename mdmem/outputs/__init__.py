"""What mdmem writes and prints: the manifest, text, JSON."""
