"""NVML: the memory, load and processes of the GPUs of one node. Only in child processes and samplers."""
