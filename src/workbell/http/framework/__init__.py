"""Serves operations of the wire's table: routing, parsing, answers, errors, pages of lists."""
