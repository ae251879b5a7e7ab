"""The pure parts, each on its own."""
