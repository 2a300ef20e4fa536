-- The browser session in which the person allowed a grant. Its code is redeemed only while that session is live. No foreign key,
-- because sessions are deleted a month after they have expired, and grants live longer.
alter table oauth_grants add column browser_session_id uuid;
