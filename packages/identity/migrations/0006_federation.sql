-- Federation and keys: what came after the first version.

-- Until when a token that the key signed may be live: how long it is published after another one took its place.
alter table signing_keys add column needed_until timestamptz(3);

-- The claim that names a person at the first sign-in; empty: the provider's key and the external id do.
alter table identity_providers add column display_name_claim text not null default '';

-- The account of a user in the directory that its source writes to first; null where nothing was written there.
alter table scim_users add column upstream_id text;
create unique index scim_users_upstream on scim_users (provisioning_source_id, upstream_id);

-- Accounts in a directory that no user stands for: one that is being made now, one of which nobody knows whether it was
-- made, or one that is left from a user who was deleted.
create table upstream_accounts (
  provisioning_source_id uuid not null references provisioning_sources,
  -- SHA-256 of the user name in lower case: the names of people who were deleted are not kept
  name_hash text not null,
  tenant_id uuid not null references tenants,
  upstream_id text,
  -- an attempt before this one came to an end that nobody knows; when the first of them began
  is_tried boolean not null default false,
  tried_at timestamptz(3) not null default now(),
  -- the request that is making it, and until when it may
  held_by uuid,
  held_until timestamptz(3) not null,
  primary key (provisioning_source_id, name_hash)
);
