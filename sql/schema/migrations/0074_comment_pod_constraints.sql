ALTER TABLE pod_bindings
    COMMENT COLUMN constraints 'What the scheduler heeds of it beside requests and tolerations, as JSON: nodes, ports, affinity, anti_affinity, spread, gates, volumes, claims (of devices) and claimed (its volumes, their claims, and whether these are made for it); empty where there is nothing'
