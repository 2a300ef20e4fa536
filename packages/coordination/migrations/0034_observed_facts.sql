-- What a gate's preconditions look for (core, section 7.4): the newest observation of a kind about a task, or about something
-- of another system. What was observed stands in the event.
alter table observations add external_system text, add external_id text, add supersedes uuid;

update observations o
set external_system = e.payload #>> '{externalRef,system}', external_id = e.payload #>> '{externalRef,id}',
  supersedes = (e.payload ->> 'supersedes')::uuid
from events e
where e.tenant_id = o.tenant_id and e.entity_id = o.id and e.id = o.event_id
  and (e.payload ? 'externalRef' or e.payload ? 'supersedes');

create index observations_of_task on observations (tenant_id, task_id, kind, recorded_at, id) where task_id is not null;
-- The hash, because 512 characters can be longer than an entry of an index.
create index observations_of_reference on observations
  (tenant_id, (hashtextextended(external_id, 0)), kind, recorded_at, id) where external_id is not null;
create index observations_superseding on observations (supersedes) where supersedes is not null;
