ALTER TABLE scheduler_blind_spots
    COMMENT COLUMN test 'What shows it: nodes_evaluated, nodes_total, placement, cache (its metric or its dump), or text that is not understood'
