"""Rules of Kubernetes as pure functions; each cites its section of `docs/kubernetes-rules.md`."""
