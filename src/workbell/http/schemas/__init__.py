"""What goes in and out over HTTP, as the OpenAPI page shows it: one file a resource."""
