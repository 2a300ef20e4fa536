import type { Administration } from '../admin-secret.ts';
import styles from '../administration.module.css';
import { Act, Create, Field, Line, List, type Values } from '../Section.tsx';

/** Where people of this tenant sign in. */
export function Providers({ admin }: { admin: Administration }) {
  const { identity, tenantId } = admin;
  async function create(values: Values, idempotencyKey: string) {
    const words = (name: string) =>
      values
        .text(name)
        .split(/[\s,]+/)
        .filter(Boolean);
    await identity.identityProviders.create(
      tenantId,
      {
        key: values.text('key'),
        issuer: values.text('issuer'),
        audience: values.text('audience'),
        requiredAmrValues: words('amr'),
        requiredAcrValues: words('acr'),
        lifecycleProfile: values.text('lifecycle') as 'read_only' | 'managed',
      },
      { idempotencyKey },
    );
  }
  return (
    <>
      <Create title="New identity provider" submit="Register" make={create}>
        <Field name="key" label="Key" required maxLength={63} placeholder="corporate" />
        <Field
          name="issuer"
          label="Issuer"
          type="url"
          required
          placeholder="https://login.example.com"
          hint="As it stands in its tokens."
        />
        <Field
          name="audience"
          label="Audience"
          required
          hint="What its tokens for Baton bear: for the console, the client id that it has there."
        />
        <Field name="amr" label="Methods that a sign-in must have used" placeholder="mfa" />
        <Field name="acr" label="One of these levels (acr)" />
        <label className={styles.field}>
          <span>Its people</span>
          <select name="lifecycle" defaultValue="read_only">
            <option value="read_only">come by signing in</option>
            <option value="managed">are written by a directory, too</option>
          </select>
        </label>
      </Create>
      <List
        name={['providers']}
        empty="No identity provider is registered: people enter by tokens."
        read={(_after, signal) =>
          identity.identityProviders.list(tenantId, { signal }).then((items) => ({ items }))
        }
      >
        {({ id, key, issuer, audience, status, required_amr_values, lifecycle_profile }) => (
          <Line
            key={id}
            title={key}
            isOff={status === 'disabled'}
            facts={[
              <>
                {issuer} · for <span className="mono">{audience}</span>
              </>,
              `${status} · ${lifecycle_profile.replaceAll('_', ' ')}${required_amr_values.length > 0 ? ` · asks for ${required_amr_values.join(', ')}` : ''}`,
            ]}
            acts={
              status === 'active' ? (
                <Act
                  label="Disable"
                  asks="sure"
                  act={() => identity.identityProviders.disable(tenantId, key)}
                />
              ) : (
                <Act label="Enable" act={() => identity.identityProviders.enable(tenantId, key)} />
              )
            }
          />
        )}
      </List>
      <p className="soft">While a provider is disabled nobody signs in through it; tokens that exist stay.</p>
    </>
  );
}
