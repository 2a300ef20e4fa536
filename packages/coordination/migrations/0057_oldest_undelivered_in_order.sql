-- As before, but it stops at the first event that waits: before, it read and sorted up to 100,000 events of the tenant in
-- each call that archives.
create or replace function oldest_undelivered(tenant uuid, out event_position bigint, out event_sequence bigint)
returns setof record language sql stable as $$
  select * from (
    (select e.position, e.sequence
    from journal_floors f cross join lateral (
      select kept.position, kept.sequence
      from (
        select position, sequence from events
        where tenant_id = tenant and (position, sequence) > (f.archive_position, f.archive_sequence)
        order by position, sequence limit 100000
      ) kept
      where exists (select from outbox o where o.event_sequence = kept.sequence)
      order by kept.position, kept.sequence limit 1
    ) e
    where f.tenant_id = tenant)
    union all
    select e.position, e.sequence
    from outbox_deliveries d cross join lateral unnest(d.event_sequences) as s (sequence)
    join events e on e.sequence = s.sequence
    where d.tenant_id = tenant and d.dropped_at is null and d.oldest_position = (
      select min(oldest_position) from outbox_deliveries where tenant_id = tenant and dropped_at is null)
  ) waiting
  order by 1, 2 limit 1
$$;
