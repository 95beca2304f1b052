"""The pipe to a child process: messages, both ends, and a source of observations over it. Standard library only."""
