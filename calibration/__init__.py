"""Thresholds learnt from past runs: labels, quantiles, and a store of numbered snapshots."""


class CalibrationError(Exception):
    """Nothing can be learnt from this, or nothing looked up in it; the message says why and what to do."""
