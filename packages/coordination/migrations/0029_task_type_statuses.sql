-- Which types have which statuses. A list of tasks by status needs their categories: read from the lifecycles, each with up
-- to 100 statuses, it took longer with every type that somebody made.
create table task_type_statuses (
  tenant_id uuid not null references tenants,
  key text not null,
  category task_category not null,
  type_id uuid not null references task_types,
  primary key (tenant_id, key, category, type_id)
);

create function note_type_statuses() returns trigger language plpgsql as $$
begin
  insert into task_type_statuses (tenant_id, key, category, type_id)
  select new.tenant_id, declared ->> 'key', declared ->> 'category', new.id
  from jsonb_array_elements(new.lifecycle_schema -> 'statuses') as declared;
  return null;
end $$;
create trigger task_types_note_statuses after insert on task_types
  for each row execute function note_type_statuses();

insert into task_type_statuses (tenant_id, key, category, type_id)
select tenant_id, declared ->> 'key', declared ->> 'category', id
from task_types, jsonb_array_elements(lifecycle_schema -> 'statuses') as declared
on conflict do nothing;
