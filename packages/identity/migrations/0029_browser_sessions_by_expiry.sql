-- A job deletes sessions that expired long ago, also those of people who never sign in again.
create index browser_sessions_by_expiry on browser_sessions (expires_at);
