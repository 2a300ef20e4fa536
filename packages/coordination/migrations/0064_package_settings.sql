-- What a package lets a tenant set, and what the tenant has set (organisation, section 14.3).
alter table packages
  add column settings_title text,
  add column settings_schema jsonb,
  add column settings_uischema jsonb,
  add column settings_schema_hash text,
  add column settings_schema_revision integer not null default 0,
  add column settings_values jsonb not null default '{}',
  add column settings_version integer not null default 0,
  add column settings_updated_by uuid references principals,
  add column settings_updated_at timestamptz(3),
  add constraint packages_settings_declared check ((settings_schema is null) = (settings_title is null)
    and (settings_schema is null) = (settings_schema_hash is null));

create table package_settings_versions (
  tenant_id uuid not null,
  package_key text not null,
  version integer not null,
  values jsonb not null,
  schema_revision integer not null,
  schema_hash text not null,
  changed_paths text[] not null,
  created_by uuid not null references principals,
  created_at timestamptz(3) not null default now(),
  primary key (tenant_id, package_key, version),
  foreign key (tenant_id, package_key) references packages (tenant_id, key)
);

-- A text from a document that may be the id of something.
create function uuid_or_null(text text) returns uuid language sql immutable as $$
  select case when text ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then text::uuid end
$$;
