"""What several tests start and ask; nothing in here is a test."""
