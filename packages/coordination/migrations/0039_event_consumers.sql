-- How far each reader that the service itself keeps has come in a tenant's journal: everything up to and including
-- (position, sequence) is confirmed (organisation, section 20.1). Archive and prune read it and never write it.
--
-- One process delivers for a tenant at a time: it holds the row by lease_id until leased_until and renews that while it
-- works. Who comes late finds another lease_id and writes nothing.
create table event_consumers (
  tenant_id uuid not null references tenants,
  consumer text not null,
  position bigint not null default 0 check (position >= 0),
  sequence bigint not null default 0 check (sequence >= 0),
  lease_id uuid,
  leased_until timestamptz(3),
  -- The least recently served comes first.
  served_at timestamptz(3) not null default '-infinity',
  -- Whether reading goes on without looking for something new: there was more, or the cursor was set back.
  has_more boolean not null default true,
  parked_at timestamptz(3),
  parked_reason text check (length(parked_reason) <= 2000),
  parked_event_id uuid,
  failure_count integer not null default 0,
  next_attempt_at timestamptz(3),
  delivered_total bigint not null default 0,
  duplicates_total bigint not null default 0,
  failures_total bigint not null default 0,
  redrives_total bigint not null default 0,
  last_delivery_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (tenant_id, consumer),
  check ((lease_id is null) = (leased_until is null)),
  check ((parked_at is null) = (parked_reason is null)),
  check (parked_event_id is null or parked_at is not null)
) with (fillfactor = 70);
create index event_consumers_by_service on event_consumers (consumer, served_at, tenant_id);
