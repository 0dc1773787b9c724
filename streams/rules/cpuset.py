"""CPU lists, where the other rules are; `ingest.model.cpuset` holds them, because the on-node agent reads them as well."""

from ingest.model.cpuset import InvalidCpuSet, format_cpuset, parse_cpuset

__all__ = ["InvalidCpuSet", "format_cpuset", "parse_cpuset"]
