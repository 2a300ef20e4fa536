-- When a rule last gave an access token. Like the last use of tokens, it is updated at most once per interval.
alter table workload_rules add column last_used_at timestamptz(3);

-- Jobs delete links and sign-in requests that ended long ago.
create index invitations_by_expiry on invitations (expires_at);
create index sign_in_requests_by_expiry on sign_in_requests (expires_at);
