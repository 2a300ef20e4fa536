-- The hashes under which identity's list of revocations names the credential that opened or last renewed a session; null for
-- an API key, and for sessions that earlier versions opened and haven't renewed since. New entries go directly to the tree,
-- because every search would otherwise read the list of pending ones.
alter table sessions add column revocable_by text[];
create index sessions_revocable on sessions using gin (revocable_by) with (fastupdate = off) where status = 'active';
