"""Side-by-side measurements of job systems: Workbell, its peers and raw SQL, on the same machine in the same round."""
