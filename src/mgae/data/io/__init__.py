"""The user's own files, read as edges, features and labels."""
