"""Models CPU, memory and topology managers, and every source that describes NUMA nodes."""
