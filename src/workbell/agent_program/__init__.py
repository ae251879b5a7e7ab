"""The program `workbell agent`: executes, on another machine and over HTTP, the runs that target it."""
