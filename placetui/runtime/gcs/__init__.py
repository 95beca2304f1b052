"""The cluster's tables and key-value store over gRPC, without being a driver; and being one."""
