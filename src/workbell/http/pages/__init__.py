"""The pages of the service: a door for browsers, and the description of the API. No script, nothing from elsewhere."""
