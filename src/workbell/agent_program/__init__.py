"""The program `workbell agent`: works on another machine, over HTTP, for the runs that are aimed at it."""
