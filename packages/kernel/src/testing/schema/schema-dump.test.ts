import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createTestDatabase } from '../database/database.ts';
import { dumpSchema } from './schema-dump.ts';
import { writeTableTypes } from './schema-types.ts';

const migration = `
create type door_state as enum ('open', 'shut');
create domain door_size as text check (value in ('wide', 'narrow'));
create sequence numbers as bigint start 100 increment 5;
create table doors (
  id uuid primary key,
  number bigint generated always as identity,
  label text not null default 'a ''door''' check (length(label) between 1 and 50),
  upper_label text generated always as (upper(label)) stored,
  state text not null default 'shut' check (state in ('open', 'shut')),
  size door_size,
  tags text[] not null default '{}',
  settings jsonb not null default '{}',
  opened_at timestamptz(3),
  unique (label, state)
) with (fillfactor = 90);
comment on table doors is 'What opens.';
comment on column doors.tags is 'the owner''s words';
create unique index doors_one_open on doors (label) where state = 'open';
create index doors_newest on doors (opened_at desc, id desc);
create table visits (
  door_id uuid not null references doors on delete cascade,
  visited_at timestamptz(3) not null default now(),
  primary key (door_id, visited_at)
) partition by range (visited_at);
create table visits_2026 partition of visits for values from ('2026-01-01Z') to ('2027-01-01Z');
create index visits_in_order on visits (visited_at);
create function refuse_change() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
comment on function refuse_change() is 'Refuses changes.';
create trigger visits_append_only before update or delete on visits for each row execute function refuse_change();
create view open_doors as select d.id, d.label from doors d where d.state = 'open';
`;

const expected = `create type door_state as enum ('open', 'shut');

create domain door_size as text CHECK ((VALUE = ANY (ARRAY['wide'::text, 'narrow'::text])));

create sequence numbers as bigint start 100 increment 5;

create table doors (
  id uuid not null,
  number bigint generated always as identity not null,
  label text default 'a ''door'''::text not null,
  upper_label text generated always as (upper(label)) stored,
  state text default 'shut'::text not null,
  size door_size,
  tags text[] default '{}'::text[] not null,
  settings jsonb default '{}'::jsonb not null,
  opened_at timestamp(3) with time zone,
  constraint doors_pkey PRIMARY KEY (id),
  constraint doors_label_state_key UNIQUE (label, state),
  constraint doors_label_check CHECK (((length(label) >= 1) AND (length(label) <= 50))),
  constraint doors_state_check CHECK ((state = ANY (ARRAY['open'::text, 'shut'::text])))
) with (fillfactor=90);
CREATE INDEX doors_newest ON public.doors USING btree (opened_at DESC, id DESC);
CREATE UNIQUE INDEX doors_one_open ON public.doors USING btree (label) WHERE (state = 'open'::text);
comment on table doors is 'What opens.';
comment on column doors.tags is 'the owner''s words';

create table visits (
  door_id uuid not null,
  visited_at timestamp(3) with time zone default now() not null,
  constraint visits_pkey PRIMARY KEY (door_id, visited_at),
  constraint visits_door_id_fkey FOREIGN KEY (door_id) REFERENCES doors(id) ON DELETE CASCADE
) partition by RANGE (visited_at);
CREATE INDEX visits_in_order ON ONLY public.visits USING btree (visited_at);
CREATE TRIGGER visits_append_only BEFORE DELETE OR UPDATE ON public.visits FOR EACH ROW EXECUTE FUNCTION refuse_change();

create table visits_2026 partition of visits FOR VALUES FROM ('2026-01-01 00:00:00+00') TO ('2027-01-01 00:00:00+00');

CREATE OR REPLACE FUNCTION public.refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$ begin raise exception 'no'; end $function$;
comment on function refuse_change() is 'Refuses changes.';

create view open_doors as
 SELECT id,
    label
   FROM doors d
  WHERE (state = 'open'::text);
`;

test('the schema of a database is one text on every PostgreSQL, and gives the types of its rows', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'baton-schema-'));
  await writeFile(join(directory, '0001_doors.sql'), migration);
  const database = await createTestDatabase(directory);
  try {
    assert.equal(await dumpSchema(database.url), expected);
    assert.equal(
      await writeTableTypes(database.url),
      `import type { Generated, GeneratedAlways } from '@baton/kernel/database/db';

export interface Tables {
  doors: DoorsTable;
  visits: VisitsTable;
}

interface DoorsTable {
  id: string;
  number: GeneratedAlways<number>;
  label: Generated<string>;
  upper_label: GeneratedAlways<string | null>;
  state: Generated<'open' | 'shut'>;
  size: 'wide' | 'narrow' | null;
  tags: Generated<string[]>;
  settings: Generated<unknown>;
  opened_at: string | null;
}

interface VisitsTable {
  door_id: string;
  visited_at: Generated<string>;
}
`,
    );
  } finally {
    await database.drop();
    await rm(directory, { recursive: true });
  }
});
