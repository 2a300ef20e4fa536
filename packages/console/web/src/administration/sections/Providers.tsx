import { baton } from '../../client.ts';
import type { Administration } from '../admin-secret.ts';
import styles from '../administration.module.css';
import { Act, Create, Field, Line, List, type Values } from '../Section.tsx';
import { AdmissionFields, admissionIn, ProviderChange, wordsIn } from './ProviderChange.tsx';
import { ProviderTest } from './ProviderTest.tsx';

/** The identity providers of this tenant. */
export function Providers({ admin }: { admin: Administration }) {
  const { identity, tenantId } = admin;
  async function create(values: Values, idempotencyKey: string) {
    const words = (name: string) => wordsIn(values.text(name));
    const admission = admissionIn(values);
    await allow(values.text('key'), admission.admit);
    await identity.identityProviders.create(
      tenantId,
      {
        key: values.text('key'),
        issuer: values.text('issuer'),
        audience: values.text('audience'),
        requiredAmrValues: words('amr'),
        requiredAcrValues: words('acr'),
        lifecycleProfile: values.text('lifecycle') as 'read_only' | 'managed',
        ...admission,
      },
      { idempotencyKey },
    );
  }
  /** Only coordination grants roles, so coordination needs a rule of its own that allows what the provider admits. */
  async function allow(key: string, admit: { role: string } | null, isAllowed = false) {
    if (admit !== null) await baton.admissionRules.set(key, { accessRole: admit.role });
    else if (isAllowed) await baton.admissionRules.remove(key);
  }
  async function change({ key, admit: before }: { key: string; admit: object | null }, values: Values) {
    const people = values.text('people') as '' | 'move' | 'detach';
    const admission = admissionIn(values);
    await allow(key, admission.admit, before !== null);
    await identity.identityProviders.update(tenantId, key, {
      issuer: values.text('issuer'),
      audience: values.text('audience'),
      ...(people !== '' && { linkedPeople: people }),
      ...admission,
    });
  }
  return (
    <>
      <Create title="New identity provider" submit="Register" make={create}>
        <p className="soft">
          First register a client for Baton at the provider, with the redirect address{' '}
          <code className="mono">{`${location.origin}/console/callback`}</code>, the code flow and PKCE.
        </p>
        <Field
          name="key"
          label="Key"
          required
          maxLength={63}
          placeholder="corporate"
          hint="Names the provider, also on its sign-in button."
        />
        <Field
          name="issuer"
          label="Issuer"
          type="url"
          required
          placeholder="https://login.example.com"
          hint="Must equal the iss claim of its tokens."
        />
        <Field
          name="audience"
          label="Audience"
          required
          hint="The client ID at the provider, which is the aud claim of its tokens."
        />
        <Field name="amr" label="Required authentication methods (amr)" placeholder="mfa" />
        <Field name="acr" label="Accepted authentication levels (acr)" />
        <label className={styles.field}>
          <span>User provisioning</span>
          <select name="lifecycle" defaultValue="read_only">
            <option value="read_only">at sign-in</option>
            <option value="managed">at sign-in and by a directory</option>
          </select>
        </label>
        <AdmissionFields />
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
