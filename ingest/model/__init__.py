"""Types that pass between the packages: observations, records, topics, and the kept Kubernetes objects."""
