-- The hashes of what the access of a session's owner depends on, as of its last renewal: those of its access token in identity's
-- list of revocations, and that of its API key or binding. Null for sessions that earlier versions opened and haven't renewed
-- since. New entries go directly to the tree, because every search would otherwise read the list of pending ones.
alter table sessions add column revocable_by text[];
create index sessions_revocable on sessions using gin (revocable_by) with (fastupdate = off) where status = 'active';

-- API keys and bindings that coordination itself revoked lately, which have no entry in that list.
create index api_keys_revoked on api_keys (revoked_at) where revoked_at is not null;
create index iam_bindings_revoked on iam_bindings (revoked_at) where revoked_at is not null;
