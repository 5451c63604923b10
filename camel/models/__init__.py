"""Engines: everything that can answer a conversation and say how sure it was."""
