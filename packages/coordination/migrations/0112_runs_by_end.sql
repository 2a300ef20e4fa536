-- For GET /statistics (see 0111).
create index runs_ended on runs (tenant_id, finished_at, started_at) where finished_at is not null;
