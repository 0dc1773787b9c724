"""Real components for the tests, as users run them: Kafka, Kubernetes, a node; each from where its project ships it.

`python -m components prepare` (with tests/ on the path) fetches and builds them once per machine into a cache
folder outside the checkout; the fixtures of `components.fixtures` start and stop them.
"""
