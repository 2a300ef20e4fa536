import { useState } from 'react';
import { BatonError } from '@baton/sdk';
import { Moment } from '../../parts/Moment.tsx';
import { serverNow } from '../../server-clock.ts';
import type { Administration } from '../admin-secret.ts';
import styles from '../administration.module.css';
import { PrincipalChoice, PrincipalName, Reach } from '../Choices.tsx';
import { remainsOf } from '../remains.ts';
import { Act, Create, Field, Line, List, pageSize, SecretOnce, type Values } from '../Section.tsx';

const daySeconds = 86_400;
const lifetimes = [1, 30, 90, 365];

/** Personal access tokens: who has which, and their secrets once. */
export function Tokens({ admin }: { admin: Administration }) {
  const { identity, tenantId } = admin;
  const [withRevoked, setWithRevoked] = useState(false);
  const [shown, setShown] = useState<{ name: string; value: string | null }>();

  async function issue(values: Values, idempotencyKey: string) {
    const principalId = values.text('principal');
    const name = values.text('name');
    const body = {
      name,
      audiences: values.all('audiences'),
      scopeCeiling: values.all('scopes'),
      expiresInSeconds: Number(values.text('days')) * daySeconds,
    };
    const ask = () => identity.principals.createToken(tenantId, principalId, body, { idempotencyKey });
    const { token } = await ask().catch(async (error: unknown) => {
      const isForPerson =
        error instanceof BatonError && /^authentication_context_(required|expired)$/.test(error.code);
      if (!isForPerson || values.text('seen') !== 'yes') throw error;
      await identity.principals.recordAuthenticationContext(tenantId, principalId, {
        issuer: admin.issuer,
        amr: ['console'],
      });
      return ask();
    });
    setShown({ name, value: token });
  }

  return (
    <>
      {shown !== undefined && <SecretOnce {...shown} onDone={() => setShown(undefined)} />}
      <Create title="New token" submit="Issue" make={issue}>
        <PrincipalChoice admin={admin} name="principal" label="Whose" kinds={['human', 'agent']} />
        <Field name="name" label="Name" required maxLength={200} placeholder="laptop" />
        <Reach admin={admin} preferred="control-plane" />
        <label className={styles.field}>
          <span>Ends after</span>
          <select name="days" defaultValue="30">
            {lifetimes.map((days) => (
              <option key={days} value={days}>
                {days === 1 ? '1 day' : `${days} days`}
              </option>
            ))}
          </select>
        </label>
        <fieldset className={styles.checks}>
          <legend>For a person</legend>
          <label>
            <input type="checkbox" name="seen" value="yes" />I have made sure that it is this person: record
            it as a sign-in
          </label>
        </fieldset>
      </Create>
      <label className={styles.check}>
        <input
          type="checkbox"
          checked={withRevoked}
          onChange={({ target }) => setWithRevoked(target.checked)}
        />
        Show revoked ones
      </label>
      <List
        name={['tokens', withRevoked]}
        empty="There is no token."
        read={(after, signal) =>
          admin.withNext((asked) =>
            asked.platformAccessTokens.list(
              tenantId,
              { limit: pageSize, includeRevoked: withRevoked, ...(after && { after }) },
              { signal },
            ),
          )
        }
      >
        {(token) => {
          const { id, principalId, name, publicPrefix, audiences, scopeCeiling } = token;
          const isOver = token.revokedAt !== null || Date.parse(token.expiresAt) < serverNow();
          return (
            <Line
              key={id}
              title={name}
              isOff={isOver}
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
                      {isOver ? 'ended' : 'ends'} <Moment at={token.expiresAt} />
                    </>
                  )}
                  {' · '}
                  {token.lastUsedAt === null ? (
                    'never used'
                  ) : (
                    <>
                      used <Moment at={token.lastUsedAt} />
                    </>
                  )}
                </>,
              ]}
              acts={
                !isOver && (
                  <>
                    {token.kind === 'platform_access_token' && (
                      <Act
                        label="Rotate"
                        asks="sure"
                        act={async () =>
                          setShown({
                            name,
                            value: (await identity.platformAccessTokens.rotate(tenantId, id, {})).token,
                          })
                        }
                      />
                    )}
                    <Act
                      label="Revoke"
                      asks="why"
                      note={remainsOf('a revoked token')}
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
