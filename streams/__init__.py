"""What Kubernetes does (rules), what we conclude (analytics), and the runtimes that fold records."""
