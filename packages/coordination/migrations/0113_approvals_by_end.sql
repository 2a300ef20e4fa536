-- For GET /statistics (see 0111).
create index approvals_decided on approvals (tenant_id, decision_at, created_at) where decision_at is not null;
create index approvals_cancelled on approvals (tenant_id, updated_at, created_at) where status = 'cancelled';
