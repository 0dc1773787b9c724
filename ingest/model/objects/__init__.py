"""The part of Kubernetes' API objects that Leadsman keeps, with Kubernetes' own names.

Decoding into these types drops every other field: environment variables, commands, foreign annotations
and managed fields never get past this point. Attribute names are the API's in snake case. Shapes are those of
Kubernetes 1.15 to 1.36 (kubernetes-rules.md); what a version lacks has a default.
"""
