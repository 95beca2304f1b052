"""verl: pools of GPUs, fused training processes, and replicas of inference servers."""
