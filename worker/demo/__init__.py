"""The demonstration: simulator, bundled prompts, a worker and the export."""
