"""CPU lists, where the other rules are; `ingest.cpuset` holds them, because the on-node agent reads them as well."""

from ingest.cpuset import InvalidCpuSet, format_cpuset, parse_cpuset

__all__ = ["InvalidCpuSet", "format_cpuset", "parse_cpuset"]
