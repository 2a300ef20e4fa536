-- What configuration a run really worked under (core, section 13). Version 1 is written by the statement that starts the
-- run, so no run starts without it; rows are never changed, but for the remarks that are added to the newest one.
create table harness_manifests (
  run_id uuid not null,
  version integer not null,
  tenant_id uuid not null,
  reason text not null check (reason in ('run_started', 'recompile', 'provider_fallback')),
  -- What the hash is of.
  base jsonb not null,
  -- What else was true then: {horizon, taskVersion, runVersion}.
  captured jsonb not null,
  -- The sections of the base that the harness declared; the server found the others.
  declared text[] not null default '{}',
  remarks jsonb not null default '[]',
  remarks_bytes integer not null default 0,
  -- An estimate of the base, with the remarks: a page adds it up without reading the documents.
  data_bytes integer not null default 4096,
  created_at timestamptz(3) not null default clock_timestamp(),
  created_by uuid not null,
  primary key (run_id, version)
);

-- The tools of a principal as a manifest lists them: the skills assigned to it, and whether the harness can execute them.
-- A harness that names no protocol supports all. Skills beyond 500 are left out, by name.
create function tool_policy(owner uuid, session uuid) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object('id', id, 'name', name, 'version', version, 'protocol', protocol,
      'executableByHarness', executable, 'allowedByGovernance', true, 'visible', executable and status <> 'disabled',
      'reason', case when status = 'disabled' then 'skill_disabled'
        when not executable then 'protocol_not_supported_by_harness'
        else 'assigned_and_protocol_supported' end) order by name, version), '[]')
  from (
    select k.id, k.name, k.version, k.protocol, k.status,
      not exists (select from unnest(s.harness_capabilities) as c(name) where c.name like 'skills.protocol.%')
        or 'skills.protocol.' || k.protocol = any (s.harness_capabilities) as executable
    from skill_assignments a join skills k on k.id = a.skill_id left join sessions s on s.id = session
    where a.principal_id = owner
    order by k.name, k.version limit 500
  ) as assigned
$$;

-- The runs that were launched through a handle: their usage counts in the budgets of the runs above.
create index runs_of_handle on runs (child_handle_id) where child_handle_id is not null;
