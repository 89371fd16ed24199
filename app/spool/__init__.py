"""Answers that reached us and could not be committed: files beside the store, without the database."""
