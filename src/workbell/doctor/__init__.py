"""The doctor: what is fine about a store, what to note and what is at risk. Only looks, and changes nothing."""
