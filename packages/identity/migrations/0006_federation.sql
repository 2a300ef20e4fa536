-- Federation and keys: what came after the first version.

-- Until when a token that the key signed may be live: how long it is published after another one took its place.
alter table signing_keys add column needed_until timestamptz(3);

-- The claim that names a person at the first sign-in; empty: the provider's key and the external id do.
alter table identity_providers add column display_name_claim text not null default '';
