"""The software company: its files, its chat chain, its phases, its products."""
