-- A restore computes this column of every user anew, in a session with the server's own settings. Where those compile
-- (JIT, the default), PostgreSQL guesses that the statement in this function finds millions of values and compiled it
-- for each user: 0.5 to 1 s each. The service's own sessions don't compile, and a dump carries the setting along.
alter function scim_search(uuid, jsonb) set jit = off;
