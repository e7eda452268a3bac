"""What every room stands on: threads, random numbers, validation, files, operations."""
