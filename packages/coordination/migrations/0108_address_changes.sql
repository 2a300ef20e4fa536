-- Nobody verifies the address that a person enters, so it can't be changed without limit: the e-mails would reach anybody.
alter table notification_preferences
  add column address_changes integer not null default 0,
  -- When the first of these changes was made; a day later they are forgotten.
  add column address_changes_since timestamptz(3) not null default now();
