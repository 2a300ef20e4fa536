-- Which algorithm signs the tokens of an audience (contract, section 22).
alter table audiences add column signing_algorithm text not null default 'RS256'
  check (signing_algorithm in ('RS256', 'ES256', 'EdDSA'));
create index audiences_of_other_algorithms on audiences (signing_algorithm) where signing_algorithm <> 'RS256';

-- When an audience last went over to another algorithm: tokens that were signed before are valid for a while.
create table signing_algorithm_uses (
  algorithm text primary key check (algorithm in ('ES256', 'EdDSA')),
  left_at timestamptz(3) not null
);
