-- Which kind of principal a first sign-in through the provider makes: those that exist go on making people.
alter table identity_providers add column principal_kind text not null default 'human'
  constraint identity_providers_principal_kind_check check (principal_kind in ('human', 'workload'));

-- `q` of the list of principals: the words of a text, in lower case. Letters are split at blanks and ASCII punctuation only, so
-- that names of any script stay whole, whatever the collation of the database.
create function name_words(given text) returns text[] language sql immutable parallel safe strict
return array(
  select distinct left(word, 60) from regexp_split_to_table(lower(given), e'[\\s!-/:-@[-`{-~]+') as w(word) where word <> '');

-- Matches texts that have, for each word that is wanted, a word that begins with it; null where none is wanted. Words hold
-- neither a quote nor a backslash.
create function name_query(wanted text) returns tsquery language sql immutable parallel safe strict
return (
  select string_agg('''' || word || ''':*', ' & ')::tsquery from unnest(name_words(wanted)) as w(word));

create index principals_words on principals using gin (array_to_tsvector(name_words(display_name)));

-- What `/.well-known/revocations.json` reads twice a second at most: only the events of the last minutes.
create index events_of_revocations on events (occurred_at)
  where type in ('principal.disabled', 'principal.enabled', 'credential.revoked', 'tenant.updated');
