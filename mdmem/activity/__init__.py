"""What agents write about their own work in, events out."""
