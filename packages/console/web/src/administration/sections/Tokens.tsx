import { useState } from 'react';
import { BatonError } from '@baton/sdk';
import { Field, SelectField } from '../../parts/Field.tsx';
import { Moment } from '../../parts/Moment.tsx';
import { serverNow } from '../../server-clock.ts';
import styles from '../administration.module.css';
import { PrincipalChoice, PrincipalName, Reach, reachCodes } from '../Choices.tsx';
import { describeRemainingAccess } from '../remaining-access.ts';
import { Act, Create, Line, List, pageSize, type SectionProps, type Values } from '../Section.tsx';

const daySeconds = 86_400;
const lifetimes = [1, 30, 90, 365];

const issueCodes = {
  principal_not_found: 'principal',
  principal_not_active: 'principal',
  principal_kind_not_allowed: 'principal',
  authentication_context_required: 'principal',
  authentication_context_expired: 'principal',
  expiry_too_long: 'days',
  ...reachCodes,
};

/** Personal access tokens. The secret of a new one is shown once. */
export function Tokens({ admin, onSecret }: SectionProps) {
  const { identity, tenantId } = admin;
  const [withRevoked, setWithRevoked] = useState(false);

  async function issue(values: Values, idempotencyKey: string) {
    const principalId = values.text('principal');
    const name = values.text('name');
    const body = {
      name,
      audiences: values.all('audiences'),
      scopeCeiling: values.all('scopes'),
      expiresInSeconds: Number(values.text('days')) * daySeconds,
    };
    const create = () => identity.principals.createToken(tenantId, principalId, body, { idempotencyKey });
    const { token } = await create().catch(async (error: unknown) => {
      const isForPerson =
        error instanceof BatonError && /^authentication_context_(required|expired)$/.test(error.code);
      if (!isForPerson || values.text('seen') !== 'yes') throw error;
      await identity.principals.recordAuthenticationContext(tenantId, principalId, {
        issuer: admin.issuer,
        amr: ['console'],
      });
      return create();
    });
    onSecret({ name, value: token });
  }

  return (
    <>
      <Create
        title="New token"
        submit="Create"
        make={issue}
        fields={{ principalId: 'principal', scopeCeiling: 'scopes', expiresInSeconds: 'days' }}
        codes={issueCodes}
      >
        <PrincipalChoice admin={admin} name="principal" label="Principal" kinds={['human', 'agent']} />
        <Field name="name" label="Name" required maxLength={200} placeholder="laptop" />
        <Reach admin={admin} preferred="control-plane" />
        <SelectField name="days" label="Expires after" defaultValue="30">
          {lifetimes.map((days) => (
            <option key={days} value={days}>
              {days === 1 ? '1 day' : `${days} days`}
            </option>
          ))}
        </SelectField>
        {admin.isOperator && (
          <fieldset className={styles.checks}>
            <legend>Person verification</legend>
            <label>
              <input type="checkbox" name="seen" value="yes" />I verified this person's identity. Record it as
              a sign-in.
            </label>
          </fieldset>
        )}
      </Create>
      <label className={styles.check}>
        <input
          type="checkbox"
          checked={withRevoked}
          onChange={({ target }) => setWithRevoked(target.checked)}
        />
        Show revoked
      </label>
      <List
        name={['tokens', withRevoked]}
        empty="No tokens."
        read={(after, signal) =>
          admin.withNext((identity) =>
            identity.platformAccessTokens.list(
              tenantId,
              { limit: pageSize, includeRevoked: withRevoked, ...(after && { after }) },
              { signal },
            ),
          )
        }
      >
        {(token) => {
          const { id, principalId, name, publicPrefix, audiences, scopeCeiling } = token;
          const isEnded = token.revokedAt !== null || Date.parse(token.expiresAt) < serverNow();
          return (
            <Line
              key={id}
              title={name}
              isOff={isEnded}
              facts={[
                <>
                  <PrincipalName admin={admin} id={principalId} /> ·{' '}
                  <span className="mono">{publicPrefix}</span> · {audiences.join(', ')}
                  {scopeCeiling.length > 0 && ` · ${scopeCeiling.join(' ')}`}
                </>,
                <>
                  {token.revokedAt !== null ? (
                    <>
                      revoked <Moment at={token.revokedAt} /> {token.revokeReason}
                    </>
                  ) : (
                    <>
                      {isEnded ? 'expired' : 'expires'} <Moment at={token.expiresAt} />
                    </>
                  )}
                  {' · '}
                  {token.lastUsedAt === null ? (
                    'never used'
                  ) : (
                    <>
                      last used <Moment at={token.lastUsedAt} />
                    </>
                  )}
                </>,
              ]}
              acts={
                !isEnded && (
                  <>
                    {token.kind === 'platform_access_token' && (
                      <Act
                        label="Rotate"
                        confirm="sure"
                        act={async () =>
                          onSecret({
                            name,
                            value: (await identity.platformAccessTokens.rotate(tenantId, id, {})).token,
                          })
                        }
                      />
                    )}
                    <Act
                      label="Revoke"
                      confirm="why"
                      note={`Tasks that were claimed with it are released. ${describeRemainingAccess('a revoked token')}`}
                      act={(why) =>
                        identity.platformAccessTokens.revoke(tenantId, id, why ? { reason: why } : {})
                      }
                    />
                  </>
                )
              }
            />
          );
        }}
      </List>
    </>
  );
}
