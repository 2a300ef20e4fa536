-- The sinks that the files of the workers declare. Whichever worker moves the rows of the outbox makes deliveries for all of
-- them, so workers with different files lose nothing.
create table outbox_sinks (
  name text not null,
  -- Of the filter: while workers differ in it, a sink gets what any of them wants.
  filter_digest text not null,
  -- Null for all.
  tenants uuid[],
  -- Patterns of `like`; null for all.
  type_patterns text[],
  seen_at timestamptz(3) not null default now(),
  primary key (name, filter_digest)
);

-- Takes that no worker settled: it ended meanwhile, or lost the database. Such a delivery is tried alone.
alter table outbox_deliveries add column unsettled smallint not null default 0;

create index outbox_deliveries_dropped on outbox_deliveries (dropped_at) where dropped_at is not null;
