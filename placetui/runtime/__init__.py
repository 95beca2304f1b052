"""Ray: connect, match, reserve, probe, launch, find again, stop. Lives in a child process, never in one that prints."""
