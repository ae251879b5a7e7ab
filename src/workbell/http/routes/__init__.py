"""The routes of the API, one file a resource. A route is not listed here until it says which scope it needs."""
