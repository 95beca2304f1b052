"""The cluster behind the dashboard: what is live of it, its jobs, and launches."""
