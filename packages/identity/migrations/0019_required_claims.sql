-- What tokens of the provider must claim: an issuer that strangers share, as hosted CI services are, signs tokens for any audience.
alter table identity_providers add column required_claims jsonb not null default '{}';
