"""Types that pass between the rooms: observations, records, topics, and the kept Kubernetes objects."""
