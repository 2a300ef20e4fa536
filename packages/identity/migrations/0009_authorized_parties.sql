-- Who may have asked for an upstream token: its azp must be one of them; none means anybody (contract, section 22).
alter table identity_providers add column authorized_parties text[] not null default '{}';
