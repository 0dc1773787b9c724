"""What a kubelet's settings make of its node."""
