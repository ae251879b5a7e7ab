"""Pure data and decisions: what a run is, which moves it may make, when it is tried again. No I/O."""
