"""Boot: how another process of ours gets its Workbell: from the application that is loaded, or from its settings."""
