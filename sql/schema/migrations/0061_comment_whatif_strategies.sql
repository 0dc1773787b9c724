ALTER TABLE numa_whatif
    COMMENT COLUMN strategy 'most_allocated, least_allocated, distribute_evenly, spread_by_pcpus (packed, one thread of each core first), full_pcpus_only (packed, whole cores only) or gang'
