"""Rules of Kubernetes as pure functions.

Each cites its section of a document: `(rules: eviction-order)` stands for kubernetes-rules.md#eviction-order. A
function of `Operand` can also be called with columns of a query (`streams.rules.values.expressions`).
"""
