"""What a pod asks for: QoS class, effective requests, cgroup values."""
