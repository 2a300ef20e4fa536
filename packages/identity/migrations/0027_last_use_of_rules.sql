-- When a rule last gave an access token. Like the last use of tokens, it is updated at most once per interval.
alter table workload_rules add column last_used_at timestamptz(3);
