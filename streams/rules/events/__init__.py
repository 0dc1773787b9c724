"""How Events count, and what the kubelet's messages say."""
