"""The public types, as type checkers see them."""
