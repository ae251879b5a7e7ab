"""Notices: changes of runs, published in this process after they were written, without delaying the writes."""
