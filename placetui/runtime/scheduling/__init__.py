"""What Ray can place and what it cannot: before a job is started, and of all that waits."""
