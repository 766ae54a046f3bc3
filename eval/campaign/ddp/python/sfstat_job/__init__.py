"""The real DDP job of sfstat: see job.py beside this package."""
