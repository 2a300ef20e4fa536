-- Older consumers name the last event that they read by its sequence, also when it is archived: see ledger/journal/legacy.ts.
create index archived_events_by_sequence on archived_events (sequence);
