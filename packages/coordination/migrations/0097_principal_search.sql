-- `q` of GET /principals: the words of a text, in lower case. Letters are split at blanks and ASCII punctuation only, so that
-- names of any script stay whole, whatever the collation of the database.
create function name_words(given text) returns text[] language sql immutable parallel safe strict
return array(
  select distinct left(word, 60) from regexp_split_to_table(lower(given), e'[\\s!-/:-@[-`{-~]+') as w(word) where word <> '');

-- The words of a principal behind the end of its tenant's id: one index serves all tenants, and no prefix reaches another's words.
create function principal_words(tenant uuid, display_name text, email text) returns tsvector
language sql immutable parallel safe
return array_to_tsvector(array(
  select right(tenant::text, 12) || ':' || word
  from unnest(name_words(display_name || ' ' || coalesce(email, ''))) as w(word)));

-- Matches principals that have, for each word that is wanted, a word that begins with it; null where none is wanted. Words hold
-- neither a quote nor a backslash.
create function principal_query(tenant uuid, wanted text) returns tsquery language sql immutable parallel safe strict
return (
  select string_agg('''' || right(tenant::text, 12) || ':' || word || ''':*', ' & ')::tsquery
  from unnest(name_words(wanted)) as w(word));

create index principals_words on principals using gin (principal_words(tenant_id, display_name, profile ->> 'email'));
