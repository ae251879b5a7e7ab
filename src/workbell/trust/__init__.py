"""Trust in code and settings on the disk: nothing is used that another user of the machine could have written."""
