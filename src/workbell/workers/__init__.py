"""Worker processes: a supervisor that starts them, a keeper of their leases, and the messages between them."""
