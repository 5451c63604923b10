"""Looks at finished products from outside and measures what they are worth."""
