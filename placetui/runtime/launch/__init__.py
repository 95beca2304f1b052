"""From a file to running ranks: plan, match, check, reserve, probe, order, start."""
