-- What `/.well-known/revocations.json` reads, with disabled identity providers. The statement of an older process uses it, too.
drop index events_of_revocations;
create index events_of_revocations on events (occurred_at)
  where type in ('principal.disabled', 'principal.enabled', 'credential.revoked', 'tenant.updated',
    'identity_provider.disabled', 'identity_provider.enabled');
