"""A protocol-true, OpenAI-compatible server without a model, for demonstrations and tests.

It shares no code with what it is asked to test, so that a mistake made twice cannot cancel out.
"""
