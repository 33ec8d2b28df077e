"""Candidates that wait in, a person's decision about each out; what is approved is written as a file."""
