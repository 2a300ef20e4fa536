import { useState } from 'react';
import { baton } from '../../client.ts';
import type { Administration } from '../admin-secret.ts';
import { Act, Create, Line, List, type Values } from '../Section.tsx';
import { ProviderChange } from './ProviderChange.tsx';
import { foldedIn, NewProviderFields, providerCodes, providerPaths } from './ProviderFields.tsx';
import { ProviderTest } from './ProviderTest.tsx';

/** The identity providers of this tenant. */
export function Providers({ admin }: { admin: Administration }) {
  const { identity, tenantId } = admin;
  const [created, setCreated] = useState(0);
  async function create(values: Values, idempotencyKey: string) {
    const folded = foldedIn(values);
    await allow(values.text('key'), folded.admit);
    await identity.identityProviders.create(
      tenantId,
      {
        key: values.text('key'),
        issuer: values.text('issuer'),
        audience: values.text('audience'),
        ...folded,
      },
      { idempotencyKey },
    );
    setCreated((count) => count + 1);
  }
  /** Only coordination grants roles, so coordination needs a rule of its own that allows what the provider admits. */
  async function allow(key: string, admit: { role: string } | null, isAllowed = false) {
    if (admit !== null) await baton.admissionRules.set(key, { accessRole: admit.role });
    else if (isAllowed) await baton.admissionRules.remove(key);
  }
  async function change({ key, admit: before }: { key: string; admit: object | null }, values: Values) {
    const people = values.text('people') as '' | 'move' | 'detach';
    const folded = foldedIn(values);
    await allow(key, folded.admit, before !== null);
    await identity.identityProviders.update(tenantId, key, {
      issuer: values.text('issuer'),
      audience: values.text('audience'),
      ...(people !== '' && { linkedPeople: people }),
      ...folded,
    });
  }
  return (
    <>
      <Create
        title="New identity provider"
        submit="Register"
        make={create}
        fields={providerPaths}
        codes={{ ...providerCodes, identity_provider_exists: 'key' }}
      >
        <NewProviderFields key={created} />
      </Create>
      <List
        name={['providers']}
        empty="No identity providers. People sign in with passkeys."
        read={(_after, signal) =>
          identity.identityProviders.list(tenantId, { signal }).then((items) => ({ items }))
        }
      >
        {(provider) => {
          const { id, key, issuer, audience, status, required_amr_values, lifecycle_profile } = provider;
          return (
            <Line
              key={id}
              title={key}
              isOff={status === 'disabled'}
              facts={[
                <>
                  {issuer} · for <span className="mono">{audience}</span>
                </>,
                `${status} · users provisioned at sign-in${lifecycle_profile === 'managed' ? ' and by a directory' : ''}${required_amr_values.length > 0 ? ` · requires ${required_amr_values.join(', ')}` : ''}`,
              ]}
              acts={
                status === 'active' ? (
                  <Act
                    label="Disable"
                    confirm="sure"
                    act={() => identity.identityProviders.disable(tenantId, key)}
                  />
                ) : (
                  <Act label="Enable" act={() => identity.identityProviders.enable(tenantId, key)} />
                )
              }
            >
              <ProviderTest admin={admin} providerKey={key} />
              <ProviderChange provider={provider} change={(values) => change(provider, values)} />
            </Line>
          );
        }}
      </List>
      <p className="soft">
        Nobody can sign in through a disabled provider, and existing sign-ins through it end.
      </p>
    </>
  );
}
