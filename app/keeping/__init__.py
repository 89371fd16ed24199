"""Keeping a store: backup, restore, upgrade, and whether its machine is well."""
