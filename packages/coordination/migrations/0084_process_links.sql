-- How many triggers of processes in a row have led to an input: what follows from itself without end is stopped.
alter table process_inputs add column links smallint not null default 0;
