-- The tenant's oldest event that is still to be delivered: what lies below it may be archived. One that was set aside after
-- its last attempt counts until an operator drops it. No row where all is delivered or dropped.
-- It looks at the oldest 10,000 rows of all tenants, since an index by tenant would cost each writer. While more wait than
-- that, it answers with the place before every event: nothing may be archived.
create function oldest_undelivered(tenant uuid, out event_position bigint, out event_sequence bigint)
returns setof record language sql stable as $$
  with waiting as materialized (
    select o.event_sequence, o.tenant_id from outbox o order by o.event_sequence limit 10001
  )
  select * from (
    select 0::bigint as event_position, 0::bigint as event_sequence where (select count(*) from waiting) > 10000
    union all
    select e.position, e.sequence from waiting w join events e on e.sequence = w.event_sequence where w.tenant_id = tenant
  ) undelivered
  order by 1, 2 limit 1
$$;
