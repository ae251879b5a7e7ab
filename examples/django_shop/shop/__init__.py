"""A shop that charges and mails in the background."""
