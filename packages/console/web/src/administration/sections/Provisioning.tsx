import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { identity } from '@baton/sdk';
import { Field, SelectField } from '../../parts/Field.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { ErrorNote, Loading } from '../../parts/Notes.tsx';
import styles from '../administration.module.css';
import { PrincipalChoice } from '../Choices.tsx';
import { Act, Create, Line, List, type SectionProps, type Values } from '../Section.tsx';

/** SCIM directories and their tokens. */
export function Provisioning({ admin, onSecret }: SectionProps) {
  const { identity, tenantId } = admin;
  const providers = useQuery({
    queryKey: ['administration', 'providers', 'choice'],
    queryFn: ({ signal }) => identity.identityProviders.list(tenantId, { signal }),
  });
  const managed = providers.data?.filter(({ lifecycle_profile }) => lifecycle_profile === 'managed') ?? [];

  async function create(values: Values, idempotencyKey: string) {
    await identity.provisioningSources.create(
      tenantId,
      {
        key: values.text('key'),
        identityProvider: values.text('provider'),
        servicePrincipalId: values.text('principal'),
      },
      { idempotencyKey },
    );
  }

  return (
    <>
      <Create
        title="New directory"
        submit="Register"
        make={create}
        fields={{ identityProvider: 'provider', servicePrincipalId: 'principal' }}
        codes={{
          provisioning_source_exists: 'key',
          identity_provider_not_found: 'provider',
          population_managed_by_directory: 'provider',
          service_account_required: 'principal',
        }}
      >
        <Field name="key" label="Key" required maxLength={63} placeholder="entra" />
        <SelectField
          name="provider"
          label="Identity provider"
          hint="Only providers whose user provisioning is “at sign-in and by a directory”."
          required
          defaultValue=""
        >
          <option value="" disabled>
            {managed.length === 0 ? 'No provider accepts a directory' : 'Select …'}
          </option>
          {managed.map(({ key }) => (
            <option key={key}>{key}</option>
          ))}
        </SelectField>
        <PrincipalChoice admin={admin} name="principal" label="Service account" kinds={['service_account']} />
      </Create>
      <List
        name={['directories']}
        empty="No directories."
        read={(_after, signal) =>
          identity.provisioningSources.list(tenantId, { signal }).then((items) => ({ items }))
        }
      >
        {(source) => <Source key={source.id} admin={admin} onSecret={onSecret} source={source} />}
      </List>
      <p className="soft">
        SCIM base URL: <code className="mono">{location.origin}/iam/scim/v2</code>
      </p>
    </>
  );
}

function Source({ admin, onSecret, source }: SectionProps & { source: identity.ProvisioningSource }) {
  const { identity, tenantId } = admin;
  const [isOpen, setOpen] = useState(false);
  const { id, key, kind, status, stale, lastSyncAt } = source;
  return (
    <Line
      title={key}
      isOff={status === 'disabled'}
      facts={[
        <>
          {kind} · {status} ·{' '}
          {lastSyncAt === null ? (
            'never synced'
          ) : (
            <>
              {stale ? 'stale, last synced' : 'synced'} <Moment at={lastSyncAt} />
            </>
          )}
        </>,
      ]}
      acts={
        <>
          <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            Tokens
          </button>
          {status === 'active' ? (
            <Act
              label="Disable"
              confirm="sure"
              act={() => identity.provisioningSources.disable(tenantId, id)}
            />
          ) : (
            <Act label="Enable" act={() => identity.provisioningSources.enable(tenantId, id)} />
          )}
        </>
      }
    >
      {isOpen && <SourceTokens admin={admin} onSecret={onSecret} sourceId={id} />}
    </Line>
  );
}

function SourceTokens({ admin, onSecret, sourceId }: SectionProps & { sourceId: string }) {
  const { identity, tenantId } = admin;
  const { data, isError, error, refetch } = useQuery({
    queryKey: ['administration', 'directories', sourceId],
    queryFn: ({ signal }) => identity.provisioningSources.listTokens(tenantId, sourceId, { signal }),
  });
  async function issue(values: Values, idempotencyKey: string) {
    const name = values.text('name');
    const { token } = await identity.provisioningSources.createToken(
      tenantId,
      sourceId,
      { name },
      { idempotencyKey },
    );
    onSecret({ name, value: token });
  }
  return (
    <>
      {isError && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data === undefined && !isError && <Loading lines={1} />}
      {data?.length === 0 && <p className="soft">No tokens.</p>}
      <ul className="stack">
        {data?.map(({ id, name, publicPrefix, expiresAt, revokedAt }) => (
          <li key={id} className="row">
            <span className={revokedAt === null ? '' : styles.off}>{name}</span>
            <span className="soft mono">{publicPrefix}</span>
            <span className="soft">
              {revokedAt === null ? 'expires ' : 'revoked '}
              <Moment at={revokedAt ?? expiresAt} />
            </span>
            {revokedAt === null && (
              <Act
                label="Revoke"
                confirm="sure"
                act={() => identity.provisioningSources.revokeToken(tenantId, sourceId, id)}
              />
            )}
          </li>
        ))}
      </ul>
      <Create title="New directory token" submit="Create" make={issue}>
        <Field name="name" label="Name" required maxLength={200} />
      </Create>
    </>
  );
}
