-- Where a decision point outside says what identities may do, the names of their bindings allow and forbid nothing, but those of
-- which this service alone decides: they are `named`. Null: all names count, as those of an API key always do.
drop function lost_basis(uuid);
create function lost_basis(invocation uuid, named text[] default null) returns text language sql stable as $$
  select case
    when p.status <> 'active' then 'principal_not_active'
    when not exists (
      select from iam_bindings b
      where b.id = (i.credential ->> 'credentialId')::uuid and b.principal_id = p.id and b.status = 'active'
        and (b.permissions @> needed.of_binding or 'admin' = any (b.permissions))
      union all
      select from api_keys k
      where k.id = (i.credential ->> 'credentialId')::uuid and k.principal_id = p.id and k.revoked_at is null
        and (k.expires_at is null or k.expires_at > clock_timestamp())
        and (k.permissions @> needed.permissions or 'admin' = any (k.permissions))
    ) then 'credential_inactive'
    when s.status = 'disabled' then 'skill_disabled'
    when r.status in ('failed', 'cancelled') then 'run_over'
    when r.status <> 'running' and i.authorization_basis ->> 'kind' = 'execution' then 'run_over'
    when i.requested_by_kind = 'run' and not exists (
      select from skill_assignments a where a.principal_id = i.authority_principal_id and a.skill_id = i.skill_id
    ) then 'skill_not_assigned'
    when i.approval_id is not null and t.category in ('terminal_success', 'terminal_cancelled') then 'task_terminal'
    when i.approval_id is not null and ap.status <> 'approved' then 'approval_withdrawn'
  end
  from skill_invocations i
  join principals p on p.id = i.authority_principal_id
  join skills s on s.id = i.skill_id
  left join runs r on r.id = i.run_id
  left join tasks t on t.id = i.task_id
  left join approvals ap on ap.id = i.approval_id
  cross join lateral (
    select coalesce(array_agg(name), '{}') as permissions,
      coalesce(array_agg(name) filter (where named is null or name = any (named)), '{}') as of_binding
    from (
      select jsonb_array_elements_text(s.contract -> 'requiredPermissions') as name
      union select 'skills.invoke' where i.requested_by_kind in ('principal', 'run')
    ) of_call
  ) needed
  where i.id = invocation
$$;
