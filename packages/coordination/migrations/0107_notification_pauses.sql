-- A recipient who can't be reached is tried less and less often, so that others don't wait for them. A success deletes the row.
create table notification_pauses (
  -- A principal, or the webhook of a tenant's channel.
  recipient_id uuid not null,
  channel text not null,
  tenant_id uuid not null references tenants,
  -- The digest of the address, or the name of the webhook's secret: a new one isn't paused.
  target text not null check (length(target) <= 100),
  failures integer not null check (failures between 1 and 1000),
  -- Whether the address or webhook was refused for good; otherwise it failed for now.
  is_refused boolean not null,
  paused_until timestamptz(3) not null,
  primary key (recipient_id, channel)
);
create index notification_pauses_until on notification_pauses (paused_until);

alter table notification_deliveries
  -- Attempts that may have reached the recipient's server.
  add column attempts integer not null default 0,
  -- Why no further attempt is made.
  add column refusal text check (length(refusal) <= 200),
  -- In the digest instead, or not sent at all because of a bound.
  add column left_out boolean not null default false,
  -- When the message was sent, or its last attempt began; null when it is known that nothing was sent. The maximum per hour counts these.
  add column counted_at timestamptz(3),
  -- The digest of the address, which several people may share, or the recipient's id.
  add column counted_as text check (length(counted_as) <= 100);
update notification_deliveries set counted_at = sent_at, counted_as = recipient_id::text
where channel = 'slack' and sent_at > now() - interval '1 hour';
create index notification_deliveries_counted on notification_deliveries (counted_as, channel, counted_at) where counted_at is not null;
