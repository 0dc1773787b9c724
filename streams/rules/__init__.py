"""Rules of Kubernetes as pure functions; each cites the section of the domain reference it follows."""
