"""What is: observations of a cluster, the ports they come through, and a simulation. Standard library only."""
