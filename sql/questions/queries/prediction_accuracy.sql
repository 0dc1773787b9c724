-- How accurate forecasts of thresholds were, by how far ahead they looked
-- group Evictions and pressure
-- shows signal, threshold, ahead, forecasts, met, median_error_seconds
-- needs samples
-- param cluster
SELECT
    signal, threshold,
    multiIf(predicted_seconds <= 60, 'up to 1 min', predicted_seconds <= 600, 'up to 10 min', predicted_seconds <= 3600, 'up to 1 h', 'longer') AS ahead,
    count() AS forecasts,
    countIf(outcome = 'met') AS met,
    countIf(outcome = 'not_met') AS not_met,
    countIf(outcome = 'open') AS open,
    quantileExactIf(0.5)(abs(error_seconds), outcome = 'met') AS median_error_seconds,
    quantileExactIf(0.9)(abs(error_seconds), outcome = 'met') AS p90_error_seconds,
    round(100 * countIf(in_band = 1 AND outcome = 'met') / nullIf(countIf(in_band IS NOT NULL AND outcome = 'met'), 0)) AS met_in_band_percent,
    countIf(acts_first NOT IN ('', threshold)) AS something_else_would_act_first,
    countIf(gc_first) AS image_gc_would_act_first
FROM forecast_accuracy
WHERE {filters cluster}
GROUP BY signal, threshold, ahead
ORDER BY signal, threshold, min(predicted_seconds)
