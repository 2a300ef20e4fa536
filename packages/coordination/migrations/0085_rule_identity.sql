-- The agent of the registry that a rule acts as (organisation, section 8.1); null for one that acts in the name of whoever
-- enabled it.
alter table rules add column identity_agent text;
