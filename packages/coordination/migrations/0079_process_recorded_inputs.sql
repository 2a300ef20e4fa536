-- What an instance took, whole, at the line of its journal that tells of it: a replay needs it (organisation, section 15.1).
-- Lines from before have none: their instances can't be replayed.
alter table process_instance_journal add column input jsonb;
