"""Stored files: their verbs. The storage itself is `workbell.handlers.files`, which jobs see as `ctx.storage`."""
