"""Parts of single features of the API that are more than a handler."""
