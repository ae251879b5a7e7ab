"""Migrations of Workbell's tables: one for each version of the store's schema."""
