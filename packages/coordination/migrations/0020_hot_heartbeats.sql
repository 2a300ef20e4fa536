-- A heartbeat changes when a lease ends. While the sweeper's queues were indexes of that instant, each heartbeat wrote
-- entries of every index of its row. Now the queues are ordered by when the sweeper looks at a lease again: never after
-- its end, so a heartbeat that extends a lease leaves it alone, and its new version stays on its page (a HOT update). Of
-- a lease that lives on, the sweeper moves it to the end that the lease then has.
alter table claims add column sweep_at timestamptz(3);
alter table sessions add column sweep_at timestamptz(3);
update claims set sweep_at = expires_at;
update sessions set sweep_at = expires_at;
alter table claims alter column sweep_at set not null, alter column sweep_at set default now();
alter table sessions alter column sweep_at set not null, alter column sweep_at set default now();
drop index claims_due;
drop index sessions_due;
create index claims_due on claims (sweep_at, id) where status = 'active';
create index sessions_due on sessions (sweep_at, id) where status = 'active';

-- Room on the page for the new version. Dead versions are removed when the page is read next, so this much suffices.
alter table claims set (fillfactor = 70);
alter table sessions set (fillfactor = 70);
alter table tasks set (fillfactor = 85);
