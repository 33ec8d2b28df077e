"""A proposed memory in, a verdict of each gate out."""
