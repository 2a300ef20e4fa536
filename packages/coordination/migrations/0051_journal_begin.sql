-- Where a reading after a place begins in each of both tables of the journal: behind what was moved to the archive in the one,
-- behind the floor in the other. A single select without a volatile part, so the planner puts it into the statement.
create function journal_begin(floors journal_floors, from_position bigint, from_sequence bigint)
returns table (hot_position bigint, hot_sequence bigint, archive_position bigint, archive_sequence bigint)
language sql immutable parallel safe as $$
  select
    case when (floors.moved_position, floors.moved_sequence) > (from_position, from_sequence)
      then floors.moved_position else from_position end,
    case when (floors.moved_position, floors.moved_sequence) > (from_position, from_sequence)
      then floors.moved_sequence else from_sequence end,
    case when (floors.floor_position, floors.floor_sequence) > (from_position, from_sequence)
      then floors.floor_position else from_position end,
    case when (floors.floor_position, floors.floor_sequence) > (from_position, from_sequence)
      then floors.floor_sequence else from_sequence end
$$;
