"""How Events count, and the kubelet's messages, parsed."""
