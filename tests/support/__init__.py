"""What the tests share: real servers, waiting on conditions, makers of runs."""
