"""What passes between the rooms: observations, records, topics, and the Kubernetes objects that Leadsman keeps."""
